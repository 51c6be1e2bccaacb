// Copies stores for backup and restore.

import ByteStore
import DocumentStore
import Foundation
import StoreTools

enum StoreCopy {
  struct Outcome {
    var report: BackupReport
    /// Whether an interrupted copy in the target directory was replaced.
    var replacesCutOff: Bool
  }

  /// Copies one committed state to a directory outside the store, and verifies all live data in the copy.
  /// The directory must be new, empty, or contain an interrupted copy. `refusal` returns a better error
  /// for a directory that contains something else, or nil.
  static func make(
    of directory: String, at target: String, refusal: (String) -> CommandFailure?
  ) throws -> Outcome {
    try checkOutside(target, of: directory)
    let notice = CreationNotice(above: target)
    defer { notice.printUnlessPrinted() }
    let isCutOff = StoreFinder.isCutOffCopy(target)
    let outcome: Result<BackupReport, CommandFailure> = try ProgressLine.during { line in
      try StoreAccess.withStore(directory, readOnly: true) { store throws(DocumentStoreError) in
        do throws(DocumentStoreError) {
          return .success(try store.backup(to: target, progress: line.show))
        } catch {
          // If only the file system is unsuitable, the directory does not contain a file named `found`, and
          // the error is passed on.
          guard case .unsuitableDirectory(let evidence) = error, let found = evidence.found,
            FileManager.default.fileExists(atPath: "\(target)/\(found)"), let refusal = refusal(found)
          else { throw error }
          return .failure(refusal)
        }
      }
    }
    return Outcome(report: try outcome.get(), replacesCutOff: isCutOff)
  }

  static func checkOutside(_ target: String, of directory: String) throws {
    guard StorePath.isInside(target, directory) else { return }
    throw CommandFailure(
      code: .usage,
      message:
        "\(target) is \(directory) itself or lies in it, and would be lost with it. Choose another directory."
    )
  }

  static func text(_ headline: String, _ outcome: Outcome) -> String {
    let report = outcome.report
    let replaced =
      outcome.replacesCutOff
      ? "\nThe remains of a backup or a restore that was cut off were removed." : ""
    return """
      \(Terminal.emphasised(headline))
        holds       \(Wording.count(report.keys, "record")), \(Wording.bytes(report.bytes)), \(verified(report))
        id          \(report.storeID)
        durability  \(report.durability)\(replaced)
      """
  }

  private static func verified(_ report: BackupReport) -> String {
    report.undecodable.isEmpty
      ? "all of it verified"
      : "all bytes verified; \(report.undecodable.count) of the records cannot be decoded"
  }

  /// Returns a failure if documents are undecodable. The copy is exact, so they are undecodable in the copy,
  /// too.
  static func failure(_ outcome: Outcome) -> CommandFailure? {
    let undecodable = outcome.report.undecodable
    guard !undecodable.isEmpty else { return nil }
    return CommandFailure(
      code: .checkFailed,
      message: Undecodable.sentence(undecodable.count, undecodable.names)
        + " The copy has them as they are. " + Undecodable.advice(undecodable.names))
  }

  static func object(of outcome: Outcome) -> JSON {
    let report = outcome.report
    return [
      "directory": report.directory, "storeID": report.storeID.description,
      "lastCommit": report.sequence.value, "keys": report.keys, "bytes": report.bytes,
      "durability": report.durability.object, "replacedCutOff": outcome.replacesCutOff,
      "undecodable": report.undecodable.object,
    ]
  }
}
