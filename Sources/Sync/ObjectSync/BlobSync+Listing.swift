// Listings that users request, and the calls to the remote and to the store that these listings cause.
//
// `BlobMachine+Listing` decides which calls are made, and builds the pages from their answers.

import DocumentStore
package import ObjectStore
import OfflineSync

extension BlobSync {
  /// Lists up to `limit` objects and folders directly in a folder, after the entry `last`, which is the
  /// `next` of the previous page. `end` is called once, on the scheduler.
  package func list(
    bucket: String, folder: String, after last: String?, limit: Int,
    _ end: @escaping @Sendable (Result<ObjectPage, BlobSyncError>) -> Void
  ) {
    let folder = ListedFolder(bucket: bucket, prefix: folder.isEmpty ? "" : folder + "/")
    let call = newCall()
    handle(.list(call, folder, after: last, limit: limit), endingWith: end, call: call)
  }

  // MARK: Calls

  func requestPage(
    _ bucket: String, _ prefix: String, after last: String?, count: Int
  ) -> Result<RemoteListing, BlobSyncError> {
    Result { () throws(BlobSyncError) in
      try callRemote { () throws(BlobRemoteError) in
        try remote.list(bucket: bucket, below: prefix, after: last, count: count)
      }
    }
  }

  func readWaiting(
    _ folder: ListedFolder, after last: String?, upTo end: String?
  ) -> Result<[ObjectName: Bool], DocumentStoreError> {
    Result { () throws(DocumentStoreError) in
      try objects.outbox.waiting(inBucket: folder.bucket, below: folder.prefix, after: last, upTo: end)
    }
  }

  func listLocally(
    _ folder: ListedFolder, after last: String?, limit: Int
  ) -> Result<ObjectPage, DocumentStoreError> {
    Result { () throws(DocumentStoreError) in
      try objects.list(bucket: folder.bucket, below: folder.prefix, after: last, limit: limit)
    }
  }
}
