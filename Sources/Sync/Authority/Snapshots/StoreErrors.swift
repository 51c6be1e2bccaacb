// How the errors and documents of a store appear to clients.

package import DocumentStore
package import OfflineSync

extension RemoteError {
  /// Maps the error of a commit. After an unknown outcome, a retry could apply the writes twice.
  package init(ofCommit error: DocumentStoreError) {
    if case .outcomeUnknown = error { self = .unanswered } else { self.init(error) }
  }
}

/// Runs a step of a store, and maps its errors.
func translating<Result>(
  _ step: () throws(DocumentStoreError) -> Result
) throws(RemoteError) -> Result {
  do throws(DocumentStoreError) { return try step() } catch { throw RemoteError(error) }
}

extension RemoteDocument {
  package init(_ document: StoredDocument) {
    self.init(
      document.path, document.fields, version: SnapshotVersion(document.updateTime),
      createTime: SnapshotVersion(document.createTime))
  }
}
