// A write that the remote has rejected.

package import DocumentStore

/// A report of a rejected write, which an earlier run of the process may have issued.
package struct Rejection: Sendable {
  /// The user who issued the write.
  package let user: String?
  package let id: BatchID
  package let paths: [DocumentPath]
  /// The local time of creation.
  package let time: StoredTimestamp
  package let error: RemoteError

  init(_ batch: PendingBatch, of user: String?, error: RemoteError) {
    self.user = user
    id = batch.id
    paths = batch.paths
    time = batch.time
    self.error = error
  }
}
