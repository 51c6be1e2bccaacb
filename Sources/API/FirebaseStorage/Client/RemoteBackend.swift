// Buckets with a remote: reads ask the remote, and changes are applied locally and queued for the remote.
//
// If a change does not wait for the remote, it completes when it is stored and queued.

import ByteStore
import DocumentStore
import ObjectStore
import ObjectSync
import OfflineSync

final class RemoteBackend: StorageBackend {
  private let remote: any BlobRemote
  private let attachment: RemoteAttachment
  private let acknowledgement: StorageAcknowledgement
  /// The sync of the open store; nil before the store is opened and after it is closed.
  private let attached = Locked<BlobSync?>(nil)

  init(
    _ remote: any BlobRemote, attachment: RemoteAttachment, acknowledgement: StorageAcknowledgement
  ) {
    self.remote = remote
    self.attachment = attachment
    self.acknowledgement = acknowledgement
  }

  var asksRemote: Bool { true }
  var waitsForRemote: Bool { sync != nil && acknowledgement == .server }
  var pageTokens: PageTokens { .entryBefore }

  func checkMaySetTokens() throws(StorageError) {
    throw .unknown(message: "Tokens of a remote's objects can only be revoked there.", serverError: [:])
  }

  // MARK: The store

  /// The sync of the open store. An operation whose store has been closed meanwhile fails with `stopped`.
  var sync: BlobSync? { attached.withLock { $0 } }

  func attach(to objects: ObjectStore) throws(DocumentStoreError) {
    let sync = try BlobSync.attach(remote, to: objects, attachment: attachment)
    attached.withLock { $0 = sync }
  }

  func stop() {
    guard let sync else { return }
    waitForValue { done in sync.stop { done(()) } }
  }

  func detach() {
    // The sync is released outside the lock, together with everything that it retains.
    let released = attached.withLock { attached in
      defer { attached = nil }
      return attached
    }
    withExtendedLifetime(released) {}
  }

  // MARK: Objects

  func find(
    _ path: ObjectPath, in objects: ObjectStore, timeout: Int64,
    _ done: @escaping BackendAnswer<BlobSync.Found>
  ) {
    guard let sync else { return done(.failure(.stopped)) }
    sync.find(path, BlobSync.FetchRequest(fetchesContent: false, timeout: timeout), done)
  }

  func update(
    _ update: MetadataUpdate, in objects: ObjectStore,
    performing perform: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    _ done: @escaping BackendAnswer<StorageMetadata?>
  ) {
    guard let sync else { return done(.failure(.stopped)) }
    find(update.path, in: objects, timeout: update.timeout) { [self] found in
      switch found {
      case .success(.here): perform { [self] in updateHere(update, done) }
      case .success(.remoteOnly):
        // Only the remote has the object, so the change is sent to the remote directly and is not queued.
        sync.updateAtRemote(update.path, update.changes, timeout: update.timeout) { result in
          done(result.map { $0.map { StorageMetadata($0) } })
        }
      case .success(.absent): done(.success(nil))
      case .failure(let error): done(.failure(error))
      }
    }
  }

  /// Changes the local object, and queues the change for the remote.
  private func updateHere(_ update: MetadataUpdate, _ done: @escaping BackendAnswer<StorageMetadata?>) {
    guard let sync else { return done(.failure(.stopped)) }
    let isWaiting = waitsForRemote
    let watcher = BlobSync.Watcher(timeout: isWaiting ? update.timeout : nil) { result in
      if isWaiting { done(result.map { $0.map { StorageMetadata($0) } }) }
    }
    do throws(DocumentStoreError) {
      let object = try sync.update(update.path, update.changes, watcher: watcher)
      if object == nil || !isWaiting { done(.success(object.map { StorageMetadata($0) })) }
    } catch {
      done(.failure(.store(error)))
    }
  }

  func delete(
    _ path: ObjectPath, in objects: ObjectStore, timeout: Int64, _ done: @escaping BackendAnswer<Bool>
  ) {
    guard let sync else { return done(.failure(.stopped)) }
    let isWaiting = waitsForRemote
    let watcher = BlobSync.Watcher(timeout: isWaiting ? timeout : nil) { result in
      if isWaiting { done(result.map { _ in true }) }
    }
    do throws(DocumentStoreError) {
      let wasThere = try sync.delete(path, watcher)
      if !wasThere || !isWaiting { done(.success(wasThere)) }
    } catch {
      done(.failure(.store(error)))
    }
  }

  func list(
    _ folder: StoragePath, from start: String?, limit: Int, in objects: ObjectStore
  ) throws(BlobSyncError) -> ObjectPage {
    guard let sync else { throw .stopped }
    let page: Result<ObjectPage, BlobSyncError> = waitForValue { done in
      sync.list(bucket: folder.bucket, folder: folder.object, after: start, limit: limit, done)
    }
    return try page.get()
  }

  // MARK: Queued changes

  func queuedChanges() throws(DocumentStoreError) -> [QueuedChange] { try sync?.changes() ?? [] }

  func waitForChanges(_ done: @escaping @Sendable (BlobSyncError?) -> Void) {
    guard let sync else { return done(.stopped) }
    sync.wait(done)
  }

  func cancelChange(_ number: Int64, _ done: @escaping @Sendable (Bool) -> Void) {
    guard let sync else { return done(false) }
    sync.cancel(number, done)
  }

  // MARK: Transfers

  func withSync<Value, Failure: Error>(
    _ body: (BlobSync) throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    guard let sync else { return nil }
    return try body(sync)
  }
}
