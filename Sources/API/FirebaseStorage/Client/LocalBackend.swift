// Buckets without a remote: the store executes every operation.

import DocumentStore
import ObjectStore
import ObjectSync

struct LocalBackend: StorageBackend {
  var asksRemote: Bool { false }
  var waitsForRemote: Bool { false }
  var pageTokens: PageTokens { .firstEntry }

  func checkMaySetTokens() {}

  // MARK: The store

  func attach(to objects: ObjectStore) throws(DocumentStoreError) { try BlobSync.checkAreNotCache(objects) }

  func stop() {}

  func detach() {}

  // MARK: Objects

  func find(
    _ path: ObjectPath, in objects: ObjectStore, timeout: Int64,
    _ done: @escaping BackendAnswer<BlobSync.Found>
  ) {
    let object = Result { () throws(DocumentStoreError) in try objects.object(at: path) }
    done(object.map { $0.map { BlobSync.Found.here($0) } ?? .absent }.mapError { BlobSyncError.store($0) })
  }

  func update(
    _ update: MetadataUpdate, in objects: ObjectStore,
    performing perform: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    _ done: @escaping BackendAnswer<StorageMetadata?>
  ) {
    let object = Result { () throws(DocumentStoreError) in
      try objects.update(update.path) { update.changes.apply(to: &$0) }
    }
    done(object.map { $0.map { StorageMetadata($0) } }.mapError { BlobSyncError.store($0) })
  }

  func delete(
    _ path: ObjectPath, in objects: ObjectStore, timeout: Int64, _ done: @escaping BackendAnswer<Bool>
  ) {
    let wasThere = Result { () throws(DocumentStoreError) in try objects.delete(path) }
    done(wasThere.mapError { BlobSyncError.store($0) })
  }

  func list(
    _ folder: StoragePath, from start: String?, limit: Int, in objects: ObjectStore
  ) throws(BlobSyncError) -> ObjectPage {
    do throws(DocumentStoreError) {
      return try objects.list(bucket: folder.bucket, folder: folder.object, from: start, limit: limit)
    } catch {
      throw .store(error)
    }
  }

  // MARK: Queued changes

  func queuedChanges() -> [QueuedChange] { [] }

  func waitForChanges(_ done: @escaping @Sendable (BlobSyncError?) -> Void) { done(nil) }

  func cancelChange(_ number: Int64, _ done: @escaping @Sendable (Bool) -> Void) { done(false) }

  // MARK: Transfers

  func withSync<Value, Failure: Error>(
    _ body: (BlobSync) throws(Failure) -> Value
  ) throws(Failure) -> Value? { nil }
}
