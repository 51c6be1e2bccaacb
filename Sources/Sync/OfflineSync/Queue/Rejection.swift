// A write that the remote has refused.

package import DocumentStore

/// What is told of it, whoever made it, and when: perhaps an earlier run of the process.
package struct Rejection: Sendable {
  /// Whose it was.
  package let user: String?
  package let id: BatchID
  package let paths: [DocumentPath]
  /// When it was made.
  package let time: StoredTimestamp
  package let error: RemoteError

  init(_ batch: PendingBatch, of user: String?, _ error: RemoteError) {
    self.user = user
    id = batch.id
    paths = batch.paths
    time = batch.time
    self.error = error
  }
}
