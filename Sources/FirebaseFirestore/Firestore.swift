// The database as an app sees it: the way to references, and the owner of the open store.

private import DocumentStore
public import FirebaseCore
public import Foundation

/// A database of documents.
///
/// Instances are cached: the same app gives the same object. The store is opened by the first read or
/// write. If that fails, the call gets the error through its completion or as what it throws, and the next
/// call tries again.
public final class Firestore: NSObject, Sendable {
  /// The id of the database that every app has.
  package static let defaultDatabase = "(default)"

  public let app: FirebaseApp
  package let databaseID: String

  private let state: Guarded<State>

  private struct State {
    var settings = FirestoreSettings()
    var client: FirestoreClient?
    var isTerminated = false
  }

  private init(app: FirebaseApp, databaseID: String) {
    self.app = app
    self.databaseID = databaseID
    state = Guarded(State())
  }

  // MARK: Instances

  private struct InstanceKey: Hashable {
    var app: String
    var database: String
  }

  private static let instances = Guarded<[InstanceKey: Firestore]>([:])

  /// The default database of the default app.
  public class func firestore() -> Firestore {
    guard let app = FirebaseApp.app() else {
      ProgrammerError.trap(
        "Failed to get FirebaseApp instance. Please call FirebaseApp.configure() before using Firestore")
    }
    return firestore(app: app)
  }

  /// The default database of `app`.
  public class func firestore(app: FirebaseApp) -> Firestore {
    let key = InstanceKey(app: app.name, database: defaultDatabase)
    let (instance, isNew) = instances.withLock { instances in
      // An app that was deleted keeps nothing here: a new one of the same name may have come.
      if let instance = instances[key], instance.app === app { return (instance, false) }
      let instance = Firestore(app: app, databaseID: defaultDatabase)
      if FirebaseApp.app(name: app.name) === app { instances[key] = instance }
      return (instance, true)
    }
    if isNew {
      // Outside the lock: an app that is gone already runs it at once.
      app.addTeardown {
        instance.terminate()
        Self.instances.withLock { if $0[key] === instance { $0[key] = nil } }
      }
    }
    return instance
  }

  // MARK: Settings

  /// A copy of the settings; they can be changed until the first read or write.
  public var settings: FirestoreSettings {
    get { state.withLock { $0.settings.detached() } }
    set {
      let copy = newValue.detached()
      let isLate = state.withLock { state in
        if state.client != nil { return state.settings != copy }
        state.settings = copy
        return false
      }
      guard isLate else { return }
      ProgrammerError.trap(
        "Firestore instance has already been started and its settings can no longer be changed. "
          + "You can only set settings before calling any other methods on a Firestore instance.")
    }
  }

  // MARK: References

  /// The collection at a path such as `rooms` or `rooms/eros/messages`.
  public func collection(_ collectionPath: String) -> CollectionReference {
    CollectionReference(self, PathText.collection(collectionPath))
  }

  /// The document at a path such as `rooms/eros`.
  public func document(_ documentPath: String) -> DocumentReference {
    DocumentReference(self, PathText.document(documentPath))
  }

  /// All documents of all collections with this id, wherever they are.
  public func collectionGroup(_ collectionID: String) -> Query {
    Query(self, StructuredQuery(.collectionGroup(PathText.collectionID(collectionID))))
  }

  /// A new batch of writes that happen together.
  public func batch() -> WriteBatch { WriteBatch(self) }

  // MARK: The store

  /// The database at work. From the first call on, the settings are fixed.
  package func client() -> FirestoreClient {
    let client = state.withLock { state in
      if state.client == nil, !state.isTerminated {
        state.client = FirestoreClient(directory: storeDirectory)
      }
      return state.client
    }
    guard let client else { ProgrammerError.trap("The client has already been terminated.") }
    return client
  }

  /// The directory of this database.
  package var storeDirectory: String { StoreLocation.directory(app: app, database: databaseID) }

  /// Where callbacks run.
  package var callbackQueue: DispatchQueue { state.withLock { $0.settings.dispatchQueue } }

  private func terminate() {
    let client = state.withLock { state in
      state.isTerminated = true
      defer { state.client = nil }
      return state.client
    }
    client?.close()
  }
}
