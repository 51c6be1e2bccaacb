// dugout salvage DIR: a store that opens, of all that can be read of a damaged one.

import ByteStore
import DocumentStore
import Foundation

enum SalvageCommand: Command {
  static let name = "salvage"
  static let summary = "Makes a damaged store usable, with all of it that can be read"
  static let usage = "DIR [--json]"
  static let options = [
    (option: "--json", meaning: "One JSON object that says what was done and what is lost")
  ]
  static let positional = 1...1

  static func run(_ arguments: Arguments) async throws {
    let line = ProgressLine()
    defer { line.end() }
    let report = try StoreAccess.translating { () throws(DocumentStoreError) in
      try DocumentStore.salvage(arguments.positional[0], progress: line.show)
    }
    line.end()
    Terminal.print(arguments.has("--json") ? try json(report) : text(report))
  }

  // MARK: For the eye

  private static func text(_ report: SalvageReport) -> String {
    switch report.outcome {
    case .healthy: return "The store is healthy: nothing was done. \(report.keys) keys."
    case .completed:
      return "An earlier salvage was cut off, and is complete now. \(report.keys) keys.\n" + setAside(report)
    case .salvaged: break
    }
    var lines = report.damage.map(RepairText.line(of:))
    lines += report.gaps.map { "\($0.file) from byte \($0.offset), \($0.length) bytes: \($0.reason)" }
    lines += report.commitsMissing.map { "commits \($0.lowerBound) to \($0.upperBound) were not found" }
    if let lost = report.entriesLost, lost > 0 { lines.append("\(lost) values are lost") }
    if report.keysPossiblyStale > 0 {
      lines.append(
        "at most \(report.keysPossiblyStale) keys have a value that was replaced or deleted later")
    }
    for name in report.foreign { lines.append("\(name) belongs to another store, and was not used") }
    lines.append(setAside(report))
    lines.append(Terminal.emphasised("The store opens again. \(report.keys) keys."))
    return lines.joined(separator: "\n")
  }

  private static func setAside(_ report: SalvageReport) -> String {
    "set aside: \(report.setAside.isEmpty ? "nothing" : report.setAside.joined(separator: ", "))"
  }

  // MARK: For programs

  private static func json(_ report: SalvageReport) throws -> String {
    try RepairText.json([
      "outcome": report.outcome.rawValue, "storeID": report.storeID.description,
      "damage": report.damage.map(RepairText.object(of:)), "setAside": report.setAside,
      "foreign": report.foreign, "keys": report.keys, "keysPossiblyStale": report.keysPossiblyStale,
      "entriesLost": report.entriesLost ?? NSNull() as Any, "checkpoint": report.checkpoint.rawValue,
      "commitsApplied": report.commitsApplied,
      "commitsMissing": report.commitsMissing.map { [$0.lowerBound, $0.upperBound] },
      "gaps": report.gaps.map(RepairText.object(of:)),
    ])
  }
}
