// Opening a store for a command, and turning the engine's errors into exit codes.

import ByteStore
import DocumentStore
import Foundation

enum StoreAccess {
  /// The store of the shell that a command runs in: it is open already, and stays so.
  @TaskLocal static var session: DocumentStore?

  /// Opens the store that must be in `directory`, runs `body`, and closes it however that ends. A command that only
  /// reads leaves every file as it is.
  static func withStore<Result>(
    _ directory: String, readOnly: Bool = false, creates: Bool = false,
    _ body: (DocumentStore) throws(DocumentStoreError) -> Result
  ) throws -> Result {
    try translating(directory, creates: creates) { () throws(DocumentStoreError) in
      if let session { return try body(session) }
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

  /// Verifies the store in `directory`, also while the shell has it open.
  static func check(
    _ directory: String, progress: @escaping (CheckProgress) -> Void
  ) throws -> CheckReport {
    try translating(directory) { () throws(DocumentStoreError) in
      if let session { return try session.check(progress: progress) }
      return try DocumentStore.check(directory, progress: progress)
    }
  }

  /// Runs `body`; its errors become those of a command, which makes a store where there is none or needs one.
  static func translating<Result>(
    _ directory: String? = nil, creates: Bool = false, _ body: () throws(DocumentStoreError) -> Result
  ) throws -> Result {
    do throws(DocumentStoreError) {
      return try body()
    } catch {
      throw CommandFailure(code: exitCode(for: error), message: message(for: error, directory, creates))
    }
  }

  /// What happened, and what to do next where the error itself does not say so.
  private static func message(
    for error: DocumentStoreError, _ directory: String?, _ creates: Bool
  ) -> String {
    switch error {
    case .corrupted(let evidence) where Damage.isOfContent(evidence.file ?? ""):
      return "\(error) \"dugout check\" names the objects; salvage does not mend contents."
    case .corrupted:
      return
        "\(error) \"dugout check\" lists all damage, and \"dugout salvage\" gets out of it what can be read."
    case .notAStore(let evidence):
      guard let advice = StoreFinder.advice(evidence.file ?? "", creates: creates) else {
        return error.description
      }
      return error.description.replacing(" Choose an empty or a new directory.", with: "") + " " + advice
    case .failed(let evidence):
      if let directory, let advice = StoreFinder.advice(file: directory) { return advice }
      guard let file = evidence.file, StoreFinder.isFolderInPlaceOfFile(file) else {
        return error.description
      }
      return
        "\(file) is a directory, and a store has a file there. Copy \(directory ?? "the store") before anything "
        + "else; \"dugout check\" lists all damage, and \"dugout salvage\" gets out of it what can be read."
    default: return error.description
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
