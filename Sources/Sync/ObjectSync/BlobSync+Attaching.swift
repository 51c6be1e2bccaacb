// Attaches a remote to the buckets of a store, and records in the store that they now belong to the remote.

internal import ByteStore
package import DocumentStore
package import ObjectStore
package import OfflineSync

extension BlobSync {
  /// Creates the sync client for the buckets of a store. Throws `failedPrecondition` if the buckets
  /// contain objects that the remote does not know and `attachment` is `.refuse`.
  package static func attach(
    _ remote: any BlobRemote, to objects: ObjectStore, attachment: RemoteAttachment,
    scheduler: any SyncScheduler = QueueScheduler(label: "dugout.objects.sync")
  ) throws(DocumentStoreError) -> BlobSync {
    let outbox = objects.outbox
    if try !outbox.isRemoteMirror() {
      let own = try outbox.localObjects()
      if !own.isEmpty { try handleOwnObjects(own, attachment, objects: objects) }
      try outbox.becomeRemoteMirror()
    }
    return try BlobSync(objects, remote, scheduler: scheduler)
  }

  private static func handleOwnObjects(
    _ own: [StoredObject], _ attachment: RemoteAttachment, objects: ObjectStore
  ) throws(DocumentStoreError) {
    switch attachment {
    case .refuse:
      throw .failedPrecondition(
        "The buckets in \(objects.blobs.path) have \(own.count) objects that the remote does not have. Choose what to "
          + "do with them: Storage.remoteAttachment is .refuse, and can be .upload or .discard.")
    case .discard: for object in own { _ = try objects.delete(object.path) }
    case .upload:
      // An earlier attach may have queued some of these uploads before a crash. Those uploads stay as they
      // are.
      for object in own { try objects.outbox.upload(object, session: objects.blobs.newNumber().description) }
    }
  }

  /// Throws if the buckets are a cache of a remote, because a cache may be incomplete and stale. Buckets
  /// count as a cache as soon as a change is queued, even if a crash interrupted the attach.
  package static func checkAreNotCache(_ objects: ObjectStore) throws(DocumentStoreError) {
    let areRemotes = try objects.outbox.isRemoteMirror()
    let hasChanges = try objects.outbox.hasChanges()
    guard areRemotes || hasChanges else { return }
    throw .failedPrecondition(
      "The buckets in \(objects.blobs.path) are a cache of a remote. Name the remote in Storage.remote.")
  }
}
