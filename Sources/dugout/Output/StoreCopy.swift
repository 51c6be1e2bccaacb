// Copies of stores, as backup and restore make them.

import ByteStore
import DocumentStore
import Foundation

enum StoreCopy {
  /// Copies one committed state to a new or an empty directory outside of the store, or to one where that was cut off,
  /// and verifies all that lives in it. `refusal` says what is wrong with a directory in which something else was found.
  static func make(
    of directory: String, at target: String, refusal: ((String) -> CommandFailure)? = nil
  ) throws -> BackupReport {
    try checkOutside(target, of: directory)
    let outcome: Result<BackupReport, CommandFailure> = try ProgressLine.during { line in
      try StoreAccess.withStore(directory, readOnly: true) { store throws(DocumentStoreError) in
        do throws(DocumentStoreError) {
          return .success(try store.backup(to: target, progress: line.show))
        } catch {
          // A directory that is unsuitable by its file system holds no such file.
          guard case .unsuitableDirectory(let evidence) = error, let found = evidence.found, let refusal,
            FileManager.default.fileExists(atPath: "\(target)/\(found)")
          else { throw error }
          return .failure(refusal(found))
        }
      }
    }
    return try outcome.get()
  }

  static func checkOutside(_ target: String, of directory: String) throws {
    guard BackupTarget.isInside(target, directory) else { return }
    throw CommandFailure(
      code: .usage,
      message:
        "\(target) is \(directory) itself or lies in it, and would be lost with it. Choose another directory."
    )
  }

  static func text(_ headline: String, _ report: BackupReport) -> String {
    """
    \(Terminal.emphasised(headline))
      holds       \(Wording.count(report.keys, "key")), \(Wording.bytes(report.bytes)), all of it verified
      id          \(report.storeID)
      durability  \(report.durability)
    """
  }

  static func object(of report: BackupReport) -> JSON {
    [
      "directory": report.directory, "storeID": report.storeID.description,
      "lastCommit": report.sequence.value, "keys": report.keys, "bytes": report.bytes,
      "durability": report.durability.object,
    ]
  }
}
