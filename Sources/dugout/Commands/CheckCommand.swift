// dugout check DIR: every byte of a store verified, and nothing changed.

import ByteStore
import DocumentStore

enum CheckCommand: Command {
  static let name = "check"
  static let summary = "Verifies every byte of a store, and changes nothing"
  static let usage = "DIR [--json]"
  static let options = [(option: Arguments.json, meaning: "One JSON object with all findings and numbers")]
  static let positional = 1...1

  static func run(_ arguments: Arguments) async throws {
    let directory = arguments.positional[0]
    let report = try ProgressLine.during { line in
      try StoreAccess.translating { () throws(DocumentStoreError) in
        try DocumentStore.check(directory, progress: line.show)
      }
    }
    try arguments.answer(text(report), object(of: report))
    guard !report.isSound else { return }
    let count = report.findings.count + report.findingsOmitted
    throw CommandFailure(
      code: .checkFailed,
      message: "\(directory) is damaged in \(Wording.count(count, "place")). "
        + "Copy the directory before anything else; \"dugout salvage\" gets out of it what can be read.")
  }

  // MARK: For the eye

  private static func text(_ report: CheckReport) -> String {
    var lines = report.findings.map(\.line)
    if report.findingsOmitted > 0 { lines.append("and \(report.findingsOmitted) more") }
    lines += report.losses.map { "\($0.line). No damage." }
    for name in report.leftovers { lines.append("\(name) belongs to nothing; the next open removes it.") }
    if !report.setAside.isEmpty {
      lines.append("set aside by salvage: \(report.setAside.joined(separator: ", "))")
    }
    lines.append(
      "\(Wording.count(report.files, "file")), \(Wording.bytes(report.bytesVerified)) verified, "
        + "\(Wording.count(report.keys, "key")), "
        + "\(Wording.count(report.entries, "entry", "entries")) in segments, "
        + "\(Wording.bytes(report.deadBytes)) dead, last commit \(report.lastCommit.value)")
    if report.isSound { lines.append(Terminal.emphasised("No damage.")) }
    return lines.joined(separator: "\n")
  }

  // MARK: For programs

  private static func object(of report: CheckReport) -> [String: Any] {
    [
      "sound": report.isSound, "findings": report.findings.map(\.object),
      "findingsOmitted": report.findingsOmitted, "losses": report.losses.map(\.object),
      "leftovers": report.leftovers, "setAside": report.setAside, "files": report.files,
      "bytesVerified": report.bytesVerified, "keys": report.keys, "entries": report.entries,
      "deadBytes": report.deadBytes, "lastCommit": report.lastCommit.value,
    ]
  }
}
