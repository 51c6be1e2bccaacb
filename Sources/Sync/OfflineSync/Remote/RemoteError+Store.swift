// The code by which a client hears of an error of the authority's store.

package import DocumentStore

extension RemoteError {
  /// Maps a store's error to the code that a server would return.
  package init(_ error: DocumentStoreError) {
    let code: Code =
      switch error {
      case .invalidArgument: .invalidArgument
      case .notFound: .notFound
      case .alreadyExists: .alreadyExists
      case .failedPrecondition: .failedPrecondition
      case .aborted: .aborted
      case .feedTruncated: .outOfRange
      case .full, .memoryExceeded: .resourceExhausted
      case .corrupted, .notAStore, .newerFormat: .dataLoss
      case .unsuitableDirectory, .locked, .failed, .outcomeUnknown, .closed: .unavailable
      }
    self.init(code, error.description)
  }
}
