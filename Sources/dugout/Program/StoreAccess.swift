// Opening a store for a command, and turning the engine's errors into exit codes.

import DocumentStore

enum StoreAccess {
  /// Opens the store that must be in `directory`, runs `body`, and closes it however that ends. A command that only
  /// reads leaves every file as it is.
  static func withStore<Result>(
    _ directory: String, readOnly: Bool = false, creates: Bool = false,
    _ body: (DocumentStore) throws(DocumentStoreError) -> Result
  ) throws -> Result {
    try translating { () throws(DocumentStoreError) in
      var options = DocumentStore.Options()
      options.createsIfMissing = creates
      options.isReadOnly = readOnly
      let store = try DocumentStore.open(directory, options: options)
      let result: Result
      do throws(DocumentStoreError) {
        result = try body(store)
      } catch {
        try? store.close()
        throw error
      }
      try store.close()
      return result
    }
  }

  /// Runs `body`; its errors become those of a command.
  static func translating<Result>(
    _ body: () throws(DocumentStoreError) -> Result
  ) throws -> Result {
    do throws(DocumentStoreError) {
      return try body()
    } catch {
      throw CommandFailure(code: exitCode(for: error), message: error.description)
    }
  }

  static func exitCode(for error: DocumentStoreError) -> ExitCode {
    switch error {
    case .invalidArgument: .usage
    case .notFound, .alreadyExists, .failedPrecondition, .aborted, .feedTruncated: .checkFailed
    case .notAStore, .unsuitableDirectory, .locked, .closed: .unavailable
    case .newerFormat, .corrupted: .badData
    case .full, .failed, .outcomeUnknown: .inputOutput
    }
  }
}
