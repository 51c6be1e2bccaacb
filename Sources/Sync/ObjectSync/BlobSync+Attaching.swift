// The buckets of a store become those of a remote, and the store remembers it.

internal import ByteStore
package import DocumentStore
package import ObjectStore
package import OfflineSync

extension BlobSync {
  /// The client of a remote over the buckets of a store. Throws `failedPrecondition` if there are objects that the
  /// remote does not know, and nothing was said of them.
  package static func attach(
    _ remote: any BlobRemote, to objects: ObjectStore, _ attachment: RemoteAttachment,
    _ scheduler: any SyncScheduler = QueueScheduler(label: "dugout.objects.sync")
  ) throws(DocumentStoreError) -> BlobSync {
    let outbox = objects.outbox
    if try !outbox.isRemoteMirror() {
      let own = try outbox.localObjects()
      if !own.isEmpty { try settle(own, attachment, objects) }
      try outbox.becomeRemoteMirror()
    }
    return try BlobSync(objects, remote, scheduler)
  }

  private static func settle(
    _ own: [StoredObject], _ attachment: RemoteAttachment, _ objects: ObjectStore
  ) throws(DocumentStoreError) {
    switch attachment {
    case .refuse:
      throw .failedPrecondition(
        "The buckets in \(objects.blobs.path) have \(own.count) objects that the remote does not know. Say what is to "
          + "become of them: Storage.remoteAttachment is .refuse, and can be .upload or .discard.")
    case .discard: for object in own { _ = try objects.delete(object.path) }
    case .upload:
      // Whoever was cut off here goes on: what waits already is left alone.
      for object in own { try objects.outbox.upload(object, session: objects.blobs.newNumber().description) }
    }
  }

  /// Throws if the buckets are those of a remote: what is here is not all, and not the newest. They are from the first
  /// change on that waits for it, also if attaching was cut off.
  package static func checkAreOwn(_ objects: ObjectStore) throws(DocumentStoreError) {
    let areRemotes = try objects.outbox.isRemoteMirror()
    let hasChanges = try objects.outbox.hasChanges()
    guard areRemotes || hasChanges else { return }
    throw .failedPrecondition(
      "The buckets in \(objects.blobs.path) are a cache of a remote. Name the remote in Storage.remote.")
  }
}
