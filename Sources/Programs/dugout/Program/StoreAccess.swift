// Opens a store for a command, and maps the engine's errors to exit codes.

import ByteStore
import DocumentStore
import Foundation
import OfflineSync
import StoreTools

enum StoreAccess {
  /// The store that `dugout shell` has open, if the shell runs the command; otherwise nil. Commands leave
  /// this store open.
  @TaskLocal static var session: DocumentStore?

  /// Opens the store in `directory`, runs `body`, and closes the store even if `body` throws. In the shell,
  /// uses the store that is already open. With `readOnly`, no file changes, and the store may have a writer.
  /// With `creates`, a missing store is created and announced. With `writesDocuments`, a cache of a remote is
  /// refused.
  static func withStore<Result>(
    _ directory: String, readOnly: Bool = false, creates: Bool = false, writesDocuments: Bool = false,
    _ body: (DocumentStore) throws(DocumentStoreError) -> Result
  ) throws -> Result {
    let session = session
    let notice = creates && session == nil ? CreationNotice(ofStore: directory) : nil
    defer { notice?.printUnlessPrinted() }
    return try translating(directory, creates: creates) { () throws(DocumentStoreError) in
      if let session {
        if writesDocuments { try refuseCache(session) }
        return try body(session)
      }
      var options = DocumentStore.Options()
      options.createsIfMissing = creates
      options.isReadOnly = readOnly
      let store = try DocumentStore.open(directory, options: options)
      notice?.printUnlessPrinted()
      let result: Result
      do throws(DocumentStoreError) {
        if writesDocuments { try refuseCache(store) }
        result = try body(store)
        ShownSnapshot.note(store)
      } catch {
        try? store.close()
        throw error
      }
      try store.close()
      return result
    }
  }

  /// Opens a second store for reading, also in the shell.
  static func withOtherStore<Result>(
    _ directory: String, _ body: (DocumentStore) throws(DocumentStoreError) -> Result
  ) throws -> Result {
    try $session.withValue(nil) { try withStore(directory, readOnly: true, body) }
  }

  /// Whether a store is the cache of a remote, with a queue of pending writes.
  static func isCache(_ store: DocumentStore) throws(DocumentStoreError) -> Bool {
    try store.isClientCache()
  }

  /// Refuses direct writes to a cache. They bypass the queue, so the remote would never receive them, and the
  /// cache would treat the written documents as the remote's state.
  private static func refuseCache(_ store: DocumentStore) throws(DocumentStoreError) {
    guard try isCache(store) else { return }
    throw .failedPrecondition(
      "The store in \(store.path) is the cache of a remote, which would not receive this. Write with the app, or where the "
        + "documents come from. Nothing was written.")
  }

  /// Whether another process, or another store object of this one, has the store in `directory` open for
  /// writing.
  static func hasWriter(_ directory: String) -> Bool {
    if session == nil, case .held = ByteStore.use(of: directory) { true } else { false }
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

  /// Runs `body` and converts its errors. `creates` says whether the command creates a store if there is
  /// none.
  static func translating<Result>(
    _ directory: String? = nil, creates: Bool = false, _ body: () throws(DocumentStoreError) -> Result
  ) throws -> Result {
    do throws(DocumentStoreError) {
      return try body()
    } catch {
      throw CommandFailure(
        code: exitCode(for: error), message: message(for: error, directory, creates: creates))
    }
  }

  /// Composes the message, with advice where the error has none.
  private static func message(
    for error: DocumentStoreError, _ directory: String?, creates: Bool
  ) -> String {
    switch error {
    case .corrupted(let evidence) where Damage.isInContent(evidence.file ?? ""):
      return "\(error) \"dugout check\" names the objects; salvage does not repair contents."
    case .corrupted:
      return
        "\(error) \"dugout check\" lists all damage, and \"dugout salvage\" recovers what can be read."
    case .notAStore(let evidence):
      guard let advice = StoreFinder.advice(evidence.file ?? "", creates: creates) else {
        return error.description
      }
      return error.description.replacing(" Choose an empty or a new directory.", with: "") + " " + advice
    case .failed(let evidence):
      if let directory, let advice = StoreFinder.advice(file: directory) { return advice }
      let isDenied = evidence.code == EACCES || evidence.code == EPERM
      let advice = isDenied ? evidence.file.flatMap { FileOwner.advice($0, store: directory) } : nil
      return ended(error.description) + (advice.map { " " + $0 } ?? "")
    // Another file has the name that the store needs.
    case .unsuitableDirectory(let evidence) where evidence.expected != nil:
      return "\(error) \"dugout check\" lists all that is in the way, and \"dugout salvage\" sets it aside."
    // An error about the store's own limits contains its advice.
    case .full(let evidence) where evidence.code != nil:
      return "\(ended(error.description)) \(room), and run the same command again."
    default: return ended(error.description)
    }
  }

  /// The advice for a full disk.
  static let room = "Free some space on the disk"

  /// Ends the text with a full stop unless it has one, as for errors of system calls.
  static func ended(_ text: String) -> String {
    [".", "?", "!"].contains { text.hasSuffix($0) } ? text : text + "."
  }

  static func exitCode(for error: DocumentStoreError) -> ExitCode {
    switch error {
    case .invalidArgument: .usage
    case .notFound, .alreadyExists, .failedPrecondition, .aborted, .feedTruncated: .checkFailed
    case .notAStore, .unsuitableDirectory, .locked, .closed, .memoryExceeded: .unavailable
    case .newerFormat, .corrupted: .badData
    case .full, .failed, .outcomeUnknown: .inputOutput
    }
  }
}
