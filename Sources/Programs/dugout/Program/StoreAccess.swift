// Opening a store for a command, and turning the engine's errors into exit codes.

import ByteStore
import DocumentStore
import Foundation
import OfflineSync
import StoreTools

enum StoreAccess {
  /// The store of the shell that a command runs in: it is open already, and stays so.
  @TaskLocal static var session: DocumentStore?

  /// Opens the store that must be in `directory`, runs `body`, and closes it however that ends. A command that only
  /// reads leaves every file as it is, and one that writes documents leaves caches of remotes alone.
  static func withStore<Result>(
    _ directory: String, readOnly: Bool = false, creates: Bool = false, writesDocuments: Bool = false,
    _ body: (DocumentStore) throws(DocumentStoreError) -> Result
  ) throws -> Result {
    try translating(directory, creates: creates) { () throws(DocumentStoreError) in
      if let session {
        if writesDocuments { try refuseCache(session) }
        return try body(session)
      }
      var options = DocumentStore.Options()
      options.createsIfMissing = creates
      options.isReadOnly = readOnly
      let store = try DocumentStore.open(directory, options: options)
      let result: Result
      do throws(DocumentStoreError) {
        if writesDocuments { try refuseCache(store) }
        result = try body(store)
      } catch {
        try? store.close()
        throw error
      }
      try store.close()
      return result
    }
  }

  /// Whether a store is the cache of a remote, with a queue of what waits for it.
  static func isCache(_ store: DocumentStore) throws(DocumentStoreError) -> Bool {
    try LocalView(over: store).isOfClient()
  }

  /// Behind the back of the queue, the remote would never hear of a write, and the cache would keep it for what the
  /// remote has.
  private static func refuseCache(_ store: DocumentStore) throws(DocumentStoreError) {
    guard try isCache(store) else { return }
    throw .failedPrecondition(
      "The store in \(store.path) is the cache of a remote, which would not hear of this. Write with the app, or where the "
        + "documents come from. Nothing was written.")
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
      let isDenied = evidence.code == EACCES || evidence.code == EPERM
      let advice = isDenied ? evidence.file.flatMap { FileOwner.advice($0) } : nil
      return ended(error.description) + (advice.map { " " + $0 } ?? "")
    // The name belongs to something else.
    case .unsuitableDirectory(let evidence) where evidence.expected != nil:
      return "\(error) \"dugout check\" lists all that is in the way, and \"dugout salvage\" sets it aside."
    // Of the store's own limits it says itself what to do.
    case .full(let evidence) where evidence.code != nil:
      return "\(ended(error.description)) \(room), and run the same command again."
    default: return ended(error.description)
    }
  }

  /// What to do on a full disk.
  static let room = "Free some space on the disk"

  /// A sentence, also of a call to the system that failed.
  static func ended(_ text: String) -> String {
    [".", "?", "!"].contains { text.hasSuffix($0) } ? text : text + "."
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
