// A client of a world: a database with its own cache and its own connection.

internal import ByteStore
internal import Dispatch
internal import FirebaseCore
public import FirebaseFirestore
internal import OfflineSync

/// A client of a world. Its cache is in memory, and survives `relaunch()`.
public final class TestClient: Sendable, CustomStringConvertible {
  /// The name of the client in the history.
  public let name: String
  let remote: LoopbackRemote
  let lane: NetworkLane
  private let world: WorldScheduler
  private let user: String?
  private let platform: Platform
  private let configure: @Sendable (FirestoreSettings) -> Void
  private let state: Locked<State>

  private struct State {
    var firestore: Firestore?
    var driver: SyncDriver?
  }

  init(
    _ name: String, user: String?, remote: LoopbackRemote, lane: NetworkLane, in world: WorldScheduler,
    configure: @escaping @Sendable (FirestoreSettings) -> Void
  ) {
    self.name = name
    self.user = user
    self.remote = remote
    self.lane = lane
    self.world = world
    self.configure = configure
    platform = .simulated(in: world)
    state = Locked(State())
    launch()
  }

  /// The database of the client. After `relaunch()`, it is another instance.
  public var firestore: Firestore {
    guard let firestore = state.withLock({ $0.firestore }) else {
      preconditionFailure("the client was created without a database")
    }
    return firestore
  }

  public var description: String { name }

  /// The driver of the open database; nil before the first use.
  var driver: SyncDriver? { state.withLock { $0.driver } }

  private func launch() {
    let settings = FirestoreSettings()
    settings.remote = remote
    settings.dispatchQueue = DispatchQueue(label: "dugout.testing.callbacks")
    configure(settings)
    settings.environment = ClientEnvironment(
      name: name, user: user, simulation: world, platform: platform,
      attached: { [weak self] driver in self?.state.withLock { $0.driver = driver } })
    let firestore = Firestore.simulated(settings)
    state.withLock { $0 = State(firestore: firestore, driver: nil) }
  }

  /// Quits the app and starts it again: the database is terminated, and a new one opens the same cache.
  /// Pending writes are in the outbox of the new one. Listeners and references of the old one are dead.
  public func relaunch() async throws {
    try await firestore.terminate()
    launch()
  }

  func terminate() async { try? await firestore.terminate() }
}
