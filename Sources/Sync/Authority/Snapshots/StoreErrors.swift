// How the errors and documents of a store appear to clients.

package import DocumentStore
package import OfflineSync

extension RemoteError {
  /// Maps the error of a commit. After an unknown outcome, a retry could apply the writes twice.
  package init(ofCommit error: DocumentStoreError) {
    if case .outcomeUnknown = error { self = .unanswered } else { self.init(error) }
  }
}

extension DocumentStoreError {
  /// Maps the error of a backend with which an authority cannot be opened.
  init(_ error: RemoteError) {
    switch error.code {
    case .dataLoss: self = .corrupted(StorageEvidence(message: error.message))
    case .resourceExhausted: self = .memoryExceeded(error.message)
    case .invalidArgument: self = .invalidArgument(error.message)
    case .failedPrecondition: self = .failedPrecondition(error.message)
    case .aborted: self = .aborted(error.message)
    case .notFound, .alreadyExists, .outOfRange, .cancelled, .unknown, .deadlineExceeded, .permissionDenied,
      .unimplemented, .internal, .unavailable, .unauthenticated:
      self = .failed(StorageEvidence(message: error.message))
    }
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
