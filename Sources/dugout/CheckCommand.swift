// dugout check DIR: every byte of a store verified, and nothing changed.

import ByteStore
import DocumentStore
import Foundation

enum CheckCommand: Command {
  static let name = "check"
  static let summary = "Verifies every byte of a store, and changes nothing"
  static let usage = "DIR [--json]"
  static let options = [(option: "--json", meaning: "One JSON object with all findings and numbers")]
  static let positional = 1...1

  static func run(_ arguments: Arguments) async throws {
    let directory = arguments.positional[0]
    let line = ProgressLine()
    defer { line.end() }
    let report = try StoreAccess.translating { () throws(DocumentStoreError) in
      try DocumentStore.check(directory, progress: line.show)
    }
    line.end()
    Terminal.print(arguments.has("--json") ? try json(report) : text(report))
    guard !report.isSound else { return }
    let count = report.findings.count + report.findingsOmitted
    throw CommandFailure(
      code: .checkFailed,
      message: "\(directory) is damaged in \(count) \(count == 1 ? "place" : "places"). "
        + "Copy the directory before anything else; \"dugout salvage\" gets out of it what can be read.")
  }

  // MARK: For the eye

  private static func text(_ report: CheckReport) -> String {
    var lines = report.findings.map(RepairText.line(of:))
    if report.findingsOmitted > 0 { lines.append("and \(report.findingsOmitted) more") }
    for loss in report.losses {
      lines.append("\(loss.file): \(loss.reason), \(loss.length) bytes at byte \(loss.offset). No damage.")
    }
    for name in report.leftovers { lines.append("\(name) belongs to nothing; the next open removes it.") }
    if !report.setAside.isEmpty {
      lines.append("set aside by salvage: \(report.setAside.joined(separator: ", "))")
    }
    lines.append(
      "\(report.files) files, \(report.bytesVerified) bytes verified, \(report.keys) keys, "
        + "\(report.entries) entries in segments, \(report.deadBytes) bytes dead, "
        + "last commit \(report.lastCommit.value)")
    if report.isSound { lines.append(Terminal.emphasised("No damage.")) }
    return lines.joined(separator: "\n")
  }

  // MARK: For programs

  private static func json(_ report: CheckReport) throws -> String {
    try RepairText.json([
      "sound": report.isSound, "findings": report.findings.map(RepairText.object(of:)),
      "findingsOmitted": report.findingsOmitted, "losses": report.losses.map(RepairText.object(of:)),
      "leftovers": report.leftovers, "setAside": report.setAside, "files": report.files,
      "bytesVerified": report.bytesVerified, "keys": report.keys, "entries": report.entries,
      "deadBytes": report.deadBytes, "lastCommit": report.lastCommit.value,
    ])
  }
}

/// Damage and losses, as check and salvage tell them.
enum RepairText {
  static func line(of damage: Damage) -> String {
    "\(damage.file) at byte \(damage.offset): expected \(damage.expected), found \(damage.found)"
  }

  static func object(of damage: Damage) -> [String: Any] {
    ["file": damage.file, "offset": damage.offset, "expected": damage.expected, "found": damage.found]
  }

  static func object(of loss: RecoveryReport.Loss) -> [String: Any] {
    ["file": loss.file, "offset": loss.offset, "length": loss.length, "reason": loss.reason]
  }

  static func json(_ object: [String: Any]) throws -> String {
    let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
    return String(
      decoding: try JSONSerialization.data(withJSONObject: object, options: options), as: UTF8.self)
  }
}
