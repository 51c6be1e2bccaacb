// The database API: it creates references and owns the open store.

private import ByteStore
import DocumentStore
public import FirebaseCore
internal import FirestoreRemote
public import Foundation
import OfflineSync

/// A database of documents.
///
/// Instances are cached: the same app and database ID give the same object until it is terminated. The
/// first read or write opens the store. If that fails, the call reports the error through its completion or
/// by throwing, and the next call tries again.
///
/// Any thread may use an instance.
public final class Firestore: NSObject, Sendable {
  /// The ID of an app's default database.
  package static let defaultDatabase = "(default)"

  /// The app that the database belongs to.
  public let app: FirebaseApp
  package let databaseID: String

  /// The store's address, for an instance opened without an app.
  private let place: StoreAddress?
  private let state: Locked<State>
  /// The shapes of the store. An instance opens only one store.
  private let shapes = PublishedShapes()
  /// A group that termination enters, and leaves when the store is closed. Callers that need a closed store
  /// wait for the group.
  let ending = DispatchGroup()
  /// The queue on which termination and its completions run. It is a separate queue, because the operations
  /// that termination waits for may occupy all threads of the global queue.
  let endQueue = DispatchQueue(label: "dugout.firestore.end")
  /// Signalled when termination no longer has to wait for operations that may take long.
  private let mayClose = DispatchSemaphore(value: 0)

  private struct State {
    var settings = FirestoreSettings.Values() {
      didSet { callbackQueue = Self.serial(settings.dispatchQueue, in: settings.environment?.simulation) }
    }
    private(set) var callbackQueue = DispatchQueue.main
    var client: (any FirestoreClient)?
    var isTerminated = false
    /// The client for calls that come after the termination. It fails all of them. Nil until the first of
    /// them.
    var terminatedClient: (any FirestoreClient)?
    /// The teardown by which the app ends this instance; nil once the instance has ended.
    var teardown: FirebaseApp.Teardown?

    /// Returns a serial queue that runs its blocks on `queue`. Returns the main queue unchanged: it is
    /// already serial, and code of the main actor checks that it runs on exactly this queue.
    private static func serial(
      _ queue: DispatchQueue, in simulation: (any Simulation)?
    ) -> DispatchQueue {
      guard queue.label != DispatchQueue.main.label else { return queue }
      return .serial("dugout.firestore.callbacks", target: queue, in: simulation)
    }
  }

  init(app: FirebaseApp, databaseID: String, place: StoreAddress? = nil) {
    self.app = app
    self.databaseID = databaseID
    self.place = place
    state = Locked(State())
  }

  // MARK: Settings

  /// A copy of the settings. Settings can be changed until the first read or write. Later changes trap,
  /// except after the termination: a terminated instance ignores them.
  public var settings: FirestoreSettings {
    get { FirestoreSettings(state.withLock { $0.settings }) }
    set {
      let values = newValue.values
      let isLate = state.withLock { state in
        guard !state.isTerminated else { return false }
        guard state.client == nil else { return state.settings != values }
        state.settings = values
        return false
      }
      guard isLate else { return }
      ProgrammerError.trap(
        "Firestore instance has already been started and its settings can no longer be changed. "
          + "You can only set settings before calling any other methods on a Firestore instance.")
    }
  }

  /// Sets the host of an emulator, without encryption. The database becomes a cache of the emulator's. See
  /// `FirestoreSettings.host`. An address of IPv6 may be with or without brackets.
  public func useEmulator(withHost host: String, port: Int) {
    let changed = settings
    // Without brackets, the port would look like a part of the address.
    let isBareAddress = host.contains(":") && !host.hasPrefix("[")
    changed.host = isBareAddress ? "[\(host)]:\(port)" : "\(host):\(port)"
    changed.isSSLEnabled = false
    settings = changed
  }

  // MARK: The store

  /// Returns the client that executes the calls. The first call fixes the settings. After the termination,
  /// returns a client that fails every call with `failedPrecondition`. A caller cannot know whether another
  /// thread has terminated the instance, so this never traps.
  package func client() -> any FirestoreClient {
    if let client = try? livingClient() { return client }
    return state.withLock { state in
      if let client = state.terminatedClient { return client }
      let client = LocalClient.terminated()
      state.terminatedClient = client
      return client
    }
  }

  /// Throws `failedPrecondition` if the instance was terminated.
  package func checkLiving() throws { _ = try livingClient() }

  /// Returns the client of the open database. Throws `failedPrecondition` if the instance was terminated.
  func livingClient() throws -> any FirestoreClient {
    // Nearly every call finds the client, and does not need the settings.
    if let existing = state.withLock({ $0.client }) { return existing }
    while true {
      let (existing, isTerminated, settings) = state.withLock { ($0.client, $0.isTerminated, $0.settings) }
      if let existing { return existing }
      guard !isTerminated else { throw FirestoreErrors.terminated }
      // Created outside the lock, because invalid settings trap.
      let client = makeClient(settings)
      let isFirst = state.withLock { state in
        guard state.client == nil, !state.isTerminated, state.settings == settings else { return false }
        state.client = client
        return true
      }
      if isFirst { return client }
    }
  }

  /// The client, if this instance has been used; nil before the first use and after the termination.
  var existingClient: (client: (any FirestoreClient)?, isTerminated: Bool) {
    state.withLock { ($0.client, $0.isTerminated) }
  }

  /// Encodes fields for the open database. Nil until a call after its opening, and if the instance is
  /// read-only: its encoder would assign ids to shapes, which only the writer may do. The encoder is kept
  /// after the termination, when all writes fail.
  var fieldsEncoder: FieldsEncoder? {
    if let shapes = shapes.load() { return FieldsEncoder(shapes) }
    guard access == .readAndWrite, let store = state.withLock({ $0.client })?.store.openView?.store else {
      return nil
    }
    return FieldsEncoder(shapes.storeIfNil(store.fieldsEncoder.shapes))
  }

  private func makeClient(_ settings: FirestoreSettings.Values) -> any FirestoreClient {
    guard settings.isSSLEnabled || settings.host != FirestoreSettings.hostDefault else {
      ProgrammerError.trap(
        "You can't set the 'sslEnabled' setting to false unless you also set a non-default 'host'.")
    }
    if place == nil, let remote = settings.remote?.remote as? FirestoreRemote,
      remote.databaseID != databaseID
    {
      ProgrammerError.trap(
        "The remote of this Firestore instance syncs with the database '\(remote.databaseID)', and the "
          + "instance is of the database '\(databaseID)'. Set FirestoreRemoteOptions.database to the latter.")
    }
    let durability: StoreDurability = settings.durability == .synced ? .synced : .buffered
    let opening = StoreOpening(
      place: place(settings), durability: durability, instruments: settings.instruments?.instruments,
      memoryBudget: settings.memoryBudget, refreshInterval: settings.refreshInterval,
      environment: settings.environment)
    guard let remote = settings.clientRemote(of: self) else { return LocalClient(opening) }
    return RemoteClient(opening, remote: remote, of: app.user)
  }

  private func place(_ settings: FirestoreSettings.Values) -> StoreAddress {
    if let place { return place }
    return settings.cache.isPersistent ? .directory(storeDirectory) : .memory(UUID())
  }

  /// The store's address; nil while a client is open.
  var closedStoreAddress: StoreAddress? {
    state.withLock { $0.client == nil ? $0.settings : nil }.map { place($0) }
  }

  /// The directory of this database.
  package var storeDirectory: String {
    switch place {
    case .directory(let path), .readOnly(let path): return path
    case .memory, nil: break
    }
    return StoreLocation.directory(app: app, database: databaseID)
  }

  /// Whether the instance can write, or reads the database beside its writer.
  public var access: FirestoreAccess {
    if case .readOnly = place { .readOnly } else { .readAndWrite }
  }

  var isInMemory: Bool {
    if let place { return place.isMemory }
    return state.withLock { !$0.settings.cache.isPersistent }
  }

  /// The serial queue for callbacks. It stays serial even if the queue in the settings is concurrent.
  package var callbackQueue: DispatchQueue { state.withLock { $0.callbackQueue } }

  /// The simulation that runs the database; nil outside a simulation.
  var simulation: (any Simulation)? {
    guard SimulatedQueues.exist else { return nil }
    return state.withLock { $0.settings.environment?.simulation }
  }

  /// Returns a closure that passes a result to `completion` on the callback queue.
  func delivering<Value: Sendable>(
    to completion: @escaping (Value?, (any Error)?) -> Void
  ) -> @Sendable (Result<Value, any Error>) -> Void {
    callbackQueue.passing(to: completion)
  }

  // MARK: Termination

  /// Terminates the instance. The store is closed in the background, and `ending` is left when it is closed.
  func end() {
    let client = state.withLock { state in
      state.isTerminated = true
      if state.client != nil { ending.enter() }
      defer { state.client = nil }
      return state.client
    }
    removeTeardownAtEnd()
    guard let client else { return }
    client.stopListeners()
    let close: @Sendable () -> Void = { [ending, mayClose] in
      client.close(mayClose)
      ending.leave()
    }
    if let simulation { simulation.run(close) } else { endQueue.async(execute: close) }
  }

  /// Runs `body` when no termination is in progress.
  func afterEnding(_ body: @escaping @Sendable () -> Void) {
    guard let simulation else { return ending.notify(queue: endQueue, execute: body) }
    let resume = simulation.hold()
    ending.notify(queue: endQueue) { resume(body) }
  }

  /// Terminates the instance and returns when the store is closed. Does not wait for transactions, because
  /// a transaction's block may need the calling thread or run on it.
  func terminateAndWait() {
    mayClose.signal()
    end()
    ending.wait()
  }

  /// Stores the teardown by which the app ends this instance when the app is deleted. The teardown retains
  /// the instance, so it is removed if the instance ends first.
  func keep(_ teardown: FirebaseApp.Teardown) {
    let isTerminated = state.withLock { state in
      state.teardown = teardown
      return state.isTerminated
    }
    if isTerminated { removeTeardownAtEnd() }
  }

  /// Removes the teardown once the instance has ended. It must not be removed earlier, because an app that is
  /// deleted during the termination must wait for its end.
  private func removeTeardownAtEnd() {
    guard let teardown = state.withLock({ $0.teardown }) else { return }
    ending.notify(queue: endQueue) { [app] in app.removeTeardown(teardown) }
  }
}

extension StoreAddress {
  fileprivate var isMemory: Bool { if case .memory = self { true } else { false } }
}
