// dugout salvage DIR: a store that opens, of all that can be read of a damaged one.

import ByteStore
import DocumentStore
import Foundation

enum SalvageCommand: Command {
  static let name = "salvage"
  static let summary = "Makes a damaged store usable, with all of it that can be read"
  static let usage = "DIR [--json]"
  static let options = [
    (option: Arguments.json, meaning: "One JSON object that says what was done and what is lost")
  ]
  static let positional = 1...1
  static let shellForm = ShellForm.none
  static let notes = [
    "It works in place: the store keeps its directory. The original files are set aside in it, under names that begin",
    "with set-aside-0001, and nothing ever deletes them. It needs as much free space as the store has, can be interrupted,",
    "and leaves a store alone whose documents are sound. Contents of files are not looked at: \"dugout check\" does. Copy the",
    "directory before; docs/guides/when-a-store-is-damaged.md goes through it step by step.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let report = try ProgressLine.during { line in
      try StoreAccess.translating(arguments.positional[0]) { () throws(DocumentStoreError) in
        try DocumentStore.salvage(arguments.positional[0], progress: line.show)
      }
    }
    arguments.answer(text(report), object(of: report))
  }

  // MARK: For the eye

  private static func text(_ report: SalvageReport) -> String {
    let keys = Wording.count(report.keys, "key")
    switch report.outcome {
    case .healthy:
      return "The documents are sound: nothing was done. \(keys). Contents of files were not looked at: "
        + "\"dugout check\" does."
    case .completed:
      return "An earlier salvage was cut off, and is complete now. \(keys).\n" + setAside(report)
    case .salvaged: break
    }
    var lines = report.damage.map(\.line)
    lines += report.gaps.map(\.line)
    lines += report.commitsMissing.map { missing in
      missing.count == 1
        ? "commit \(missing.lowerBound) was not found"
        : "commits \(missing.lowerBound) to \(missing.upperBound) were not found"
    }
    if let lost = report.entriesLost, lost > 0 {
      lines.append("\(Wording.count(lost, "value is", "values are")) lost")
    }
    if report.keysPossiblyStale > 0 {
      let stale = Wording.count(report.keysPossiblyStale, "key has", "keys have")
      lines.append("at most \(stale) a value that was replaced or deleted later")
    }
    for name in report.foreign { lines.append("\(name) belongs to another store, and was not used") }
    lines.append(setAside(report))
    let isLossy = report.entriesLost ?? 0 > 0 || !report.commitsMissing.isEmpty || !report.gaps.isEmpty
    let advice = isLossy ? " What is lost, a backup may have." : ""
    lines.append(Terminal.emphasised("The store opens again. \(keys).") + advice)
    return lines.joined(separator: "\n")
  }

  private static func setAside(_ report: SalvageReport) -> String {
    "set aside: \(report.setAside.isEmpty ? "nothing" : report.setAside.joined(separator: ", "))"
  }

  // MARK: For programs

  private static func object(of report: SalvageReport) -> JSON {
    [
      "outcome": report.outcome.rawValue, "storeID": report.storeID.description,
      "damage": report.damage.map(\.object), "setAside": report.setAside,
      "foreign": report.foreign, "keys": report.keys, "keysPossiblyStale": report.keysPossiblyStale,
      "entriesLost": report.entriesLost, "checkpoint": report.checkpoint.rawValue,
      "commitsApplied": report.commitsApplied,
      "commitsMissing": report.commitsMissing.map { [$0.lowerBound, $0.upperBound] },
      "gaps": report.gaps.map(\.object),
    ]
  }
}
