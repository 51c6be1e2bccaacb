// dugout salvage DIR: builds a working store from all data that is readable in a damaged store.

import ByteStore
import DocumentStore
import Foundation
import StoreTools

enum SalvageCommand: Command {
  static let name = "salvage"
  static let summary = "Makes a damaged store usable, with all data that can be read"
  static let usage = "DIR [--report FILE] [--json]"
  static let options = [
    (option: "--report FILE", meaning: "The file that names what is lost; default DIR.lost.jsonl"),
    (option: Arguments.json, meaning: "One JSON object that says what was done and what is lost"),
  ]
  static let positional = 1...1
  static let shellForm = ShellForm.none
  static let notes = [
    "It works in place: the store keeps its directory. The original files are set aside in it, under names that begin",
    "with set-aside-0001, and are never deleted. It needs as much free space as the store has, can be interrupted,",
    "and does not touch a store whose documents are sound. File contents are not examined: \"dugout check\" does. Copy the",
    "directory first; docs/guides/when-a-store-is-damaged.md goes through it step by step.",
    "",
    "If anything is lost, or may be, it is written to DIR.lost.jsonl before the store is changed: a line of JSON for",
    "each document by its path, for other losses their collection and number, as far as any file tells, and for the",
    "rest that they are unknown. An existing file is kept, and DIR.lost-2.jsonl is written.",
    "",
    "Documents that cannot be decoded are set aside with the originals, and named, even if all bytes are sound.",
    "It ends with code 1 if anything is lost, or may be, or if nothing was found. Indexes are left out: it prints the",
    "commands that recreate the declared ones, and queries create theirs.",
    "",
    StoreStatus.records,
  ]

  static func run(_ arguments: Arguments) async throws {
    let directory = arguments.positional[0]
    let losses = LossReport(of: directory, at: try reportFile(arguments))
    let report: DocumentSalvageReport
    do {
      report = try ProgressLine.during { line in
        try StoreAccess.translating(directory) { () throws(DocumentStoreError) in
          try DocumentStore.salvage(directory, progress: line.show, observer: losses.observer)
        }
      }
    } catch {
      // A store that was changed keeps its report: the salvage can be resumed.
      if StoreFinder.isStore(directory) { losses.discard() }
      throw error
    }
    let loss = loss(report.bytes, in: directory)
    let indexAdvice = indexAdvice(report, in: directory)
    arguments.answer(
      ([text(report.bytes, losses)] + indexAdvice).joined(separator: "\n"),
      object(of: report, losses, isComplete: loss == nil, in: directory))
    let pointer = losses.path.map { " \(ShownText.escaped($0)) has the details." } ?? ""
    if let loss { throw CommandFailure(code: .checkFailed, message: loss + pointer) }
  }

  /// The file that the user named. It is refused before the salvage reads anything.
  private static func reportFile(_ arguments: Arguments) throws -> String? {
    guard let name = arguments.value(of: "--report") else { return nil }
    let path = try PathArgument.file(name)
    try StoreCopy.checkOutside(path, of: arguments.positional[0])
    guard !FileManager.default.fileExists(atPath: path) else {
      throw CommandFailure(
        code: .usage, message: "\(path) exists, and a report replaces no file. Name a new file.")
    }
    return path
  }

  // MARK: What is lost

  /// Returns nil if nothing is lost.
  static func loss(_ report: SalvageReport, in directory: String) -> String? {
    switch report.outcome {
    case .healthy, .cleared: return nil
    case .completed:
      return "the store opens again, but what the interrupted salvage has lost is no longer "
        + "known. Compare it with a backup.\(contents(in: directory))"
    case .salvaged: break
    }
    guard report.filesRead > 0 else {
      return
        "nothing readable was found: the store opens again, and is empty. A backup may have "
        + "the data; the files that were set aside are unchanged.\(contents(in: directory))"
    }
    var parts: [String] = []
    if let lost = report.entriesLost, lost > 0 {
      parts.append(Wording.count(lost, "value is lost", plural: "values are lost"))
    } else if report.entriesLost == nil, mayLackValues(report) {
      parts.append("how many values are lost is unknown")
    }
    if !report.undecodable.isEmpty {
      let count = report.undecodable.count
      parts.append(
        "\(Wording.count(count, "record that cannot", plural: "records that cannot")) be decoded "
          + "\(count == 1 ? "is" : "are") only in the files that were set aside")
    }
    let missing = report.commitsMissing.reduce(UInt64(0)) { $0 &+ ($1.upperBound &- $1.lowerBound &+ 1) }
    if missing > 0 {
      parts.append(Wording.count(missing, "commit was not found", plural: "commits were not found"))
    }
    if !report.gaps.isEmpty { parts.append("a log is incomplete") }
    if report.keysPossiblyStale > 0 {
      let stale = Wording.count(report.keysPossiblyStale, "value", plural: "values")
      parts.append("at most \(stale) may be older than the last one")
    }
    guard !parts.isEmpty else { return nil }
    let left = report.keys == 0 ? "it is empty" : "not all of it is as it was"
    return "the store opens again, but \(left): \(parts.joined(separator: ", ")). "
      + "A backup may have \(report.keys == 0 ? "the data" : "the rest").\(contents(in: directory))"
  }

  /// Whether anything is lost, or may be, or may be older.
  static func hasLoss(_ report: SalvageReport) -> Bool {
    (report.entriesLost ?? 0) > 0 || report.entriesLost == nil && mayLackValues(report)
      || !report.undecodable.isEmpty || !report.commitsMissing.isEmpty || !report.gaps.isEmpty
      || report.keysPossiblyStale > 0
  }

  /// Whether values may be missing: a segment is damaged, or nothing was found and no checkpoint confirms
  /// an empty store.
  private static func mayLackValues(_ report: SalvageReport) -> Bool {
    report.damage.contains(where: isOfSegment) || report.keys == 0 && report.checkpoint != .whole
  }

  /// Explains what an app does with contents whose records are lost.
  private static func contents(in directory: String) -> String {
    let folder = "\(directory)/blobs"
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder), !names.isEmpty else {
      return ""
    }
    return
      " Contents of files are still in \(folder). An app that uses the storage removes those that no record "
      + "names any more, once you have removed the files that were set aside: copy them first."
  }

  private static func isOfSegment(_ damage: Damage) -> Bool {
    damage.file.split(separator: "/").last?.hasPrefix("segment-") == true
  }

  /// Returns advice about declared indexes.
  private static func indexAdvice(_ report: DocumentSalvageReport, in directory: String) -> [String] {
    guard report.bytes.outcome != .healthy, report.bytes.outcome != .cleared else { return [] }
    guard let declared = report.declaredIndexes else {
      return ["Indexes that were declared, if there were any, are left out: declare them again."]
    }
    guard !declared.isEmpty else { return [] }
    let commands = declared.map { index in
      "  " + (IndexCommand.command(index, in: directory) ?? IndexCommand.text(index))
    }
    let count = Wording.count(declared.count, "declared index is", plural: "declared indexes are")
    return ["\(count) left out. To recreate \(declared.count == 1 ? "it" : "them"):"] + commands
  }

  // MARK: For the eye

  private static func text(_ report: SalvageReport, _ losses: LossReport) -> String {
    let records = Wording.count(report.keys, "record")
    switch report.outcome {
    case .healthy:
      return "The documents are sound: nothing was done. \(records). File contents were not examined: "
        + "\"dugout check\" does."
    case .cleared:
      return report.damage.map(\.line).joined(separator: "\n")
        + "\nThe documents are sound, and stay where they are. "
        + "\(records). Entries with the names of store files were set aside: \(report.quarantined.joined(separator: ", "))"
    case .completed:
      return
        "An earlier salvage was interrupted, and is complete now. \(records). If it lost anything, its report "
        + "is next to the store.\n" + quarantined(report)
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
      lines.append("\(Wording.count(lost, "value is", plural: "values are")) lost")
    }
    lines += named(losses, unnamed: report.entriesUnnamed ?? 0)
    if !report.undecodable.isEmpty {
      lines.append(Undecodable.sentence(report.undecodable.count, report.undecodable.names) + " Set aside.")
    }
    if report.keysPossiblyStale > 0 {
      let stale = Wording.count(report.keysPossiblyStale, "record has", plural: "records have")
      lines.append("at most \(stale) a value that was replaced or deleted later")
    }
    for name in report.foreign { lines.append("\(name) belongs to another store, and was not used") }
    lines.append(quarantined(report))
    if let path = losses.path { lines.append("what is lost is in \(ShownText.escaped(path))") }
    lines.append(
      Terminal.emphasised("The store opens again. \(report.keys == 0 ? "It is empty" : records)."))
    return lines.joined(separator: "\n")
  }

  /// Names the first losses, and counts all by their collection.
  private static func named(_ losses: LossReport, unnamed: Int) -> [String] {
    var lines: [String] = []
    if !losses.collections.isEmpty {
      let counts = losses.collections.sorted { $0.key < $1.key }.map {
        "\($0.value) of \(ShownText.escaped($0.key))"
      }
      lines.append("lost documents: \(counts.joined(separator: ", "))")
    }
    for name in losses.names { lines.append("  \(name)") }
    if losses.documents > losses.names.count, losses.names.count == LossReport.namesMax {
      lines.append("  and \(losses.documents - losses.names.count) more")
    }
    if unnamed > 0 {
      lines.append(
        "\(Wording.count(unnamed, "value is", plural: "values are")) lost of which the names are unknown, or which "
          + "belong to no document")
    }
    return lines
  }

  private static func quarantined(_ report: SalvageReport) -> String {
    "set aside: \(report.quarantined.isEmpty ? "nothing" : report.quarantined.joined(separator: ", "))"
  }

  // MARK: For programs

  private static func object(
    of report: DocumentSalvageReport, _ losses: LossReport, isComplete: Bool, in directory: String
  ) -> JSON {
    let bytes = report.bytes
    return [
      "outcome": bytes.outcome.rawValue, "complete": isComplete, "storeID": bytes.storeID.description,
      "damage": bytes.damage.map(\.object), "setAside": bytes.quarantined,
      "foreign": bytes.foreign, "undecodable": bytes.undecodable.object, "keys": bytes.keys,
      "keysPossiblyStale": bytes.keysPossiblyStale,
      "entriesLost": bytes.entriesLost, "entriesUnnamed": bytes.entriesUnnamed,
      "documentsLost": losses.documents, "collectionsLost": losses.collections, "report": losses.path,
      "checkpoint": bytes.checkpoint.rawValue,
      "commitsApplied": bytes.commitsApplied,
      "commitsMissing": bytes.commitsMissing.map { [$0.lowerBound, $0.upperBound] },
      "gaps": bytes.gaps.map(\.object),
      "declaredIndexes": report.declaredIndexes.map { indexes in
        indexes.map {
          ["index": $0.description, "command": IndexCommand.command($0, in: directory)] as JSON
        }
      },
    ]
  }
}
