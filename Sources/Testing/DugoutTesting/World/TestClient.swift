// A client of a world: a database with its own cache and its own connection.

internal import Authority
internal import ByteStore
internal import Dispatch
internal import FirebaseCore
public import FirebaseFirestore
internal import OfflineSync

/// The way of one client to the authority.
struct TestConnection: Sendable {
  let remote: LoopbackRemote
  /// The scheduler of the remote, which knows how many messages are in transit.
  let lane: NetworkLane

  init(
    to authority: Authority, seed: UInt64, in world: WorldScheduler,
    log: @escaping @Sendable (String) -> Void
  ) {
    lane = NetworkLane(world)
    remote = LoopbackRemote(authority: authority, seed: seed, on: lane, log: log)
  }
}

/// A client of a world. Its cache is in memory, and survives `relaunch()`.
public final class TestClient: Sendable, CustomStringConvertible {
  /// The name of the client in the history.
  public let name: String
  let connection: TestConnection
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
    _ name: String, user: String?, connection: TestConnection, in world: WorldScheduler,
    configure: @escaping @Sendable (FirestoreSettings) -> Void
  ) {
    self.name = name
    self.user = user
    self.connection = connection
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
    settings.remote = connection.remote
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
