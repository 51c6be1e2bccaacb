// Executes the operations on an app's objects.
//
// `LocalBackend` works on the store alone. `RemoteBackend` uses the store as the cache and outbox of a
// remote. `RemoteSettings.makeBackend` creates one of them, and no other code looks at the remote of the
// settings.
//
// The settings determine the backend before the store is open. An operation opens the store first
// (`StorageClient.objects`) and passes it to the backend.

import DocumentStore
import ObjectStore
import ObjectSync

/// Receives the result of one operation, on any thread.
typealias BackendAnswer<Value> = @Sendable (Result<Value, BlobSyncError>) -> Void

protocol StorageBackend: Sendable {
  /// Whether operations may wait for a remote. Such operations run on a queue of their own.
  var asksRemote: Bool { get }
  /// Whether a change completes only after a remote has acknowledged it.
  var waitsForRemote: Bool { get }
  /// The form of the tokens of listings.
  var pageTokens: PageTokens { get }

  /// Throws if only a remote can change the download tokens of objects.
  func checkMaySetTokens() throws(StorageError)

  // MARK: The store

  /// Prepares the backend for operations on an open store. Throws `failedPrecondition` if there is no remote
  /// although the store is a cache of one. Throws the same error if there is a remote, the store has local
  /// objects, and the attachment is `.refuse`.
  func attach(to objects: ObjectStore) throws(DocumentStoreError)

  /// Ends all requests to the remote, so that their callers get an error. Blocks until they have ended.
  func stop()

  /// Releases the store.
  func detach()

  // MARK: Objects

  /// Looks up an object, at the remote if there is one, and calls `done` once. Does not block while the
  /// remote answers. Without a remote, calls `done` before returning.
  func find(
    _ path: ObjectPath, in objects: ObjectStore, timeout: Int64,
    _ done: @escaping BackendAnswer<BlobSync.Found>)

  /// Changes the metadata of an object, and calls `done` with the new metadata; nil if there is no such
  /// object. If a remote has to be asked for the object first, the local change runs inside `perform`.
  func update(
    _ update: MetadataUpdate, in objects: ObjectStore,
    performing perform: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    _ done: @escaping BackendAnswer<StorageMetadata?>)

  /// Deletes an object, and calls `done` with false if there is no such object.
  func delete(
    _ path: ObjectPath, in objects: ObjectStore, timeout: Int64, _ done: @escaping BackendAnswer<Bool>)

  /// Lists the objects and folders directly in a folder. Blocks.
  func list(
    _ folder: StoragePath, from start: String?, limit: Int, in objects: ObjectStore
  ) throws(BlobSyncError) -> ObjectPage

  // MARK: Queued changes

  /// The changes that the remote has not acknowledged or rejected yet, in order.
  func queuedChanges() throws(DocumentStoreError) -> [QueuedChange]

  /// Calls `done` when all changes that are queued now have an outcome or cannot be sent.
  func waitForChanges(_ done: @escaping @Sendable (BlobSyncError?) -> Void)

  /// Cancels a queued change and reverts its local effect. Calls `done` with false if the change is no longer
  /// queued.
  func cancelChange(_ number: Int64, _ done: @escaping @Sendable (Bool) -> Void)

  // MARK: Transfers

  /// Runs `body` with the sync that fetches contents and sends uploads, and returns the value of `body`.
  /// Without a remote, returns nil: the transfer then uses the store alone.
  @discardableResult
  func withSync<Value, Failure: Error>(
    _ body: (BlobSync) throws(Failure) -> Value
  ) throws(Failure) -> Value?
}

/// A change of the metadata of one object.
struct MetadataUpdate: Sendable {
  let path: ObjectPath
  let changes: AttributeChanges
  /// How long the change waits for a remote, in microseconds.
  let timeout: Int64
}
