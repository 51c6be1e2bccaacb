// What an app has said about the remote of its buckets.

import DocumentStore
package import ObjectStore
import ObjectSync
import OfflineSync

/// When a change of an object counts as done, with a remote.
public enum StorageAcknowledgement: Hashable, Sendable {
  /// When the remote has accepted or refused it. Offline, that may be never.
  case server
  /// When it is here and in the queue, from where only the remote's answer takes it.
  case local
}

struct RemoteSettings: Sendable {
  var remote: (any BlobRemote)?
  var attachment = RemoteAttachment.refuse
  var acknowledgement = StorageAcknowledgement.server

  /// Nil without a remote. Throws `failedPrecondition` if that is not what the store was used for.
  func attach(to objects: ObjectStore) throws(DocumentStoreError) -> BlobSync? {
    if let remote { return try BlobSync.attach(remote, to: objects, attachment) }
    try BlobSync.checkAreOwn(objects)
    return nil
  }
}
