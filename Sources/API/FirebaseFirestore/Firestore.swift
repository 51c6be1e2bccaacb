// The database as an app sees it: the way to references, and the owner of the open store.

private import DocumentStore
public import FirebaseCore
public import Foundation

/// A database of documents.
///
/// Instances are cached: the same app and the same database id give the same object, until it is terminated.
/// The store is opened by the first read or write. If that fails, the call gets the error through its
/// completion or as what it throws, and the next call tries again.
///
/// Any thread may use it.
public final class Firestore: NSObject, Sendable {
  /// The id of the database that every app has.
  package static let defaultDatabase = "(default)"

  /// Whose database it is.
  public let app: FirebaseApp
  package let databaseID: String

  /// Given for an instance that was opened by its place.
  private let place: StoreAddress?
  private let state: Guarded<State>
  /// Waited for by those who need the store closed; nobody is in it before the end.
  let ending = DispatchGroup()
  /// Where the end comes, and where it is told. Of its own: what it waits for may have all threads of the global one.
  let endQueue = DispatchQueue(label: "dugout.firestore.end")
  /// Signalled when the end has to wait for nothing that takes its time.
  private let mayClose = DispatchSemaphore(value: 0)

  private struct State {
    var settings = FirestoreSettings.Values() {
      didSet { callbackQueue = Self.serial(settings.dispatchQueue) }
    }
    private(set) var callbackQueue = DispatchQueue.main
    var client: FirestoreClient?
    var isTerminated = false
    /// Of the app, until this has ended.
    var teardown: FirebaseApp.Teardown?

    /// The main queue is left as it is: it is serial, and code of the main actor asks whether it runs there.
    private static func serial(_ queue: DispatchQueue) -> DispatchQueue {
      guard queue.label != DispatchQueue.main.label else { return queue }
      return DispatchQueue(label: "dugout.firestore.callbacks", target: queue)
    }
  }

  init(app: FirebaseApp, databaseID: String, place: StoreAddress? = nil) {
    self.app = app
    self.databaseID = databaseID
    self.place = place
    state = Guarded(State())
  }

  // MARK: Settings

  /// A copy of the settings; they can be changed until the first read or write.
  public var settings: FirestoreSettings {
    get { FirestoreSettings(state.withLock { $0.settings }) }
    set {
      let values = newValue.values
      let isLate = state.withLock { state in
        if state.client != nil || state.isTerminated { return state.settings != values }
        state.settings = values
        return false
      }
      guard isLate else { return }
      ProgrammerError.trap(
        "Firestore instance has already been started and its settings can no longer be changed. "
          + "You can only set settings before calling any other methods on a Firestore instance.")
    }
  }

  /// Names another remote, without encryption. Kept, and without effect as long as there is none.
  public func useEmulator(withHost host: String, port: Int) {
    let changed = settings
    changed.host = "\(host):\(port)"
    changed.isSSLEnabled = false
    settings = changed
  }

  // MARK: References

  /// The collection at a path such as `rooms` or `rooms/eros/messages`.
  public func collection(_ collectionPath: String) -> CollectionReference {
    checkAlive()
    return CollectionReference(self, PathText.collection(collectionPath))
  }

  /// The document at a path such as `rooms/eros`.
  public func document(_ documentPath: String) -> DocumentReference {
    checkAlive()
    return DocumentReference(self, PathText.document(documentPath))
  }

  /// All documents of all collections with this id, wherever they are.
  public func collectionGroup(_ collectionID: String) -> Query {
    checkAlive()
    return Query(self, StructuredQuery(.collectionGroup(PathText.collectionID(collectionID))))
  }

  /// A new batch of writes that happen together.
  public func batch() -> WriteBatch {
    checkAlive()
    return WriteBatch(self)
  }

  private func checkAlive() {
    if state.withLock({ $0.isTerminated }) { Self.trapTerminated() }
  }

  private static func trapTerminated() -> Never {
    ProgrammerError.trap("The client has already been terminated.")
  }

  // MARK: The store

  /// The database at work. From the first call on, the settings are fixed.
  package func client() -> FirestoreClient {
    guard let client = try? livingClient() else { Self.trapTerminated() }
    return client
  }

  /// For layers that read once more by themselves: the user may have ended it meanwhile, and made no mistake.
  package func checkLiving() throws { _ = try livingClient() }

  /// The same, for calls that fail after the end rather than trap.
  func livingClient() throws -> FirestoreClient {
    while true {
      let (existing, isTerminated, settings) = state.withLock { ($0.client, $0.isTerminated, $0.settings) }
      if let existing { return existing }
      guard !isTerminated else { throw FirestoreErrors.terminated }
      // Made outside the lock, since settings that cannot be trap.
      let client = makeClient(settings)
      let isFirst = state.withLock { state in
        guard state.client == nil, !state.isTerminated, state.settings == settings else { return false }
        state.client = client
        return true
      }
      if isFirst { return client }
    }
  }

  private func makeClient(_ settings: FirestoreSettings.Values) -> FirestoreClient {
    guard settings.isSSLEnabled || settings.host != FirestoreSettings.hostDefault else {
      ProgrammerError.trap(
        "You can't set the 'sslEnabled' setting to false unless you also set a non-default 'host'.")
    }
    return FirestoreClient(
      place: place(settings), durability: settings.durability == .synced ? .synced : .buffered,
      remote: settings.clientRemote(of: self))
  }

  private func place(_ settings: FirestoreSettings.Values) -> StoreAddress {
    if let place { return place }
    return settings.cache.isPersistent ? .directory(storeDirectory) : .memory(UUID())
  }

  /// Where it is, as long as nobody works there; nil if somebody does.
  var idlePlace: StoreAddress? {
    state.withLock { $0.client == nil ? $0.settings : nil }.map { place($0) }
  }

  /// The directory of this database.
  package var storeDirectory: String {
    if case .directory(let path) = place { return path }
    return StoreLocation.directory(app: app, database: databaseID)
  }

  var isInMemory: Bool {
    if let place { return place.isMemory }
    return state.withLock { !$0.settings.cache.isPersistent }
  }

  /// Where callbacks run, one after the other, also if the queue of the settings would let several run at once.
  package var callbackQueue: DispatchQueue { state.withLock { $0.callbackQueue } }

  // MARK: The end

  /// Ends the instance before it returns; the store is closed behind it. Whoever needs it closed asks `ending`.
  func end() {
    let client = state.withLock { state in
      state.isTerminated = true
      if state.client != nil { ending.enter() }
      defer { state.client = nil }
      return state.client
    }
    removeTeardownAtEnd()
    guard let client else { return }
    client.silence()
    endQueue.async { [ending, mayClose] in
      client.close(mayClose)
      ending.leave()
    }
  }

  /// The same, and returns when the store is closed. The block of a transaction may need the calling thread, or be on
  /// it: none is waited for.
  func endNow() {
    mayClose.signal()
    end()
    ending.wait()
  }

  /// What ends this with its app. It holds this, and goes when this has ended before.
  func keep(_ teardown: FirebaseApp.Teardown) {
    let isTerminated = state.withLock { state in
      state.teardown = teardown
      return state.isTerminated
    }
    if isTerminated { removeTeardownAtEnd() }
  }

  /// Not before: an app that is deleted meanwhile waits for the end.
  private func removeTeardownAtEnd() {
    guard let teardown = state.withLock({ $0.teardown }) else { return }
    ending.notify(queue: endQueue) { [app] in app.removeTeardown(teardown) }
  }
}

extension StoreAddress {
  fileprivate var isMemory: Bool { if case .memory = self { true } else { false } }
}
