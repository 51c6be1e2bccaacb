// dugout diff DIR OTHER [PATH]: compares two stores document by document.

import ByteStore
import DocumentStore
import Foundation
import StoreTools

enum DiffCommand: Command {
  static let name = "diff"
  static let summary = "Compares two stores, document by document and field by field"
  static let usage = "DIR OTHER [PATH] [--summary] [--times] [--json]"
  static let options = [
    (option: "--summary", meaning: "Only the numbers"),
    (option: "--times", meaning: "Compare the create and update times of documents and files, too"),
    (option: Arguments.json, meaning: "A line of JSON for each difference, and one with the numbers"),
  ]
  static let positional = 2...3
  static let notes = [
    "It prints what turns DIR into OTHER: + is only in OTHER, - is only in DIR, and ~ differs, with a line for each",
    "field. Values have the form that \"dugout set\" reads. Numbers of different types differ, such as 1 and 1.0.",
    "The code is 0 if the stores are equal, and 1 if they differ.",
    "",
    "PATH restricts the comparison to a document or a collection, and everything below it. Without it, files of the",
    "storage are compared, too: their names, the digests of their contents, and their metadata. Indexes, the change",
    "feed, times to live and writes that wait for a remote are not compared.",
    "",
    "Both stores are only read, and other processes may write them meanwhile. The documents are read in the order of",
    "their paths, so memory does not grow with the stores. If OTHER is a copy of the files of DIR, made with cp or as",
    "a snapshot of the disk, and neither was opened for writing since, no document is read; \"dugout check\" finds bytes",
    "that have changed in one of them. A document that cannot be decoded is named, all others are compared, and the",
    "code is 65.",
    "",
    "  dugout diff data backups/monday",
    "  dugout diff data other users/ada --json",
  ]

  static func run(_ arguments: Arguments) async throws {
    let (directory, other) = (arguments.positional[0], arguments.positional[1])
    let segments = try PathArgument.segments(arguments.positional.count > 2 ? arguments.positional[2] : "")
    try check(segments)
    if segments.isEmpty, let reason = try StoreTwins.reason(directory, other) {
      return arguments.answer(
        "The stores are equal: \(reason). No document was read.",
        ["summary": ["equal": true, "reason": reason] as JSON])
    }
    let isMixed = isatty(STDOUT_FILENO) == 1 && !arguments.has("--summary")
    let outcome = try ProgressLine.during(isWanted: !isMixed) { line in
      try compare(directory, other, below: segments, arguments: arguments, line: line)
    }
    try answer(outcome, arguments, path: segments)
  }

  private static func check(_ segments: [String]) throws {
    guard !segments.isEmpty else { return }
    do throws(PathError) {
      if segments.count % 2 == 0 { _ = try DocumentPath(segments) } else { _ = try CollectionPath(segments) }
    } catch {
      throw CommandFailure(code: .usage, message: error.description)
    }
  }

  private static func compare(
    _ directory: String, _ other: String, below segments: [String], arguments: Arguments, line: ProgressLine
  ) throws -> StoreDiff.Outcome {
    let result = try StoreAccess.withStore(directory, readOnly: true) { before throws(DocumentStoreError) in
      // The other store has its own errors and advice.
      Result {
        try StoreAccess.withOtherStore(other) { after throws(DocumentStoreError) in
          try compare(before, after, below: segments, arguments: arguments, line: line)
        }
      }
    }
    return try result.get()
  }

  private static func compare(
    _ before: DocumentStore, _ after: DocumentStore, below segments: [String], arguments: Arguments,
    line: ProgressLine
  ) throws(DocumentStoreError) -> StoreDiff.Outcome {
    let (total, start) = (before.count + after.count, ContinuousClock.now)
    let diff = StoreDiff(before: before, after: after, comparesTimes: arguments.has("--times")) { done in
      guard segments.isEmpty else { return line.show(Wording.count(done, "document")) }
      let (all, seconds) = (UInt64(max(total, done)), (ContinuousClock.now - start) / .seconds(1))
      line.show(
        UInt64(done), of: all,
        what: ProgressLine.pace(documents: done, seconds: seconds, done: UInt64(done), of: all))
    }
    let (isSummary, isJSON) = (arguments.has("--summary"), arguments.has(Arguments.json))
    let width = Terminal.width(of: STDOUT_FILENO)
    var printer = LinePrinter()
    defer { printer.flush() }
    var outcome = try diff.run(below: segments) { difference in
      guard !isSummary else { return }
      printer.print(isJSON ? difference.object.description : difference.text(width: width))
    }
    for store in [before, after] {
      if let snapshot = ShownSnapshot(of: store) { outcome.snapshots.append((store.path, snapshot)) }
    }
    return outcome
  }

  private static func answer(_ outcome: StoreDiff.Outcome, _ arguments: Arguments, path: [String]) throws {
    let isJSON = arguments.has(Arguments.json)
    Terminal.print(isJSON ? (["summary": outcome.object] as JSON).description : outcome.text)
    if !isJSON {
      for (directory, snapshot) in outcome.snapshots {
        Terminal.printToStandardError("\(directory): \(snapshot.text)")
      }
    }
    let failures = outcome.undecodable.compactMap { directory, documents in
      documents.failure("All others were compared.").map { "in \(directory), \($0.message)" }
    }
    guard failures.isEmpty else {
      throw CommandFailure(code: .badData, message: failures.joined(separator: "\n"))
    }
    guard path.isEmpty || outcome.documents != StoreDiff.Counts() else {
      throw CommandFailure(
        code: .checkFailed, message: "neither store has a document at or below \(PathText.printed(path)).")
    }
    // The output says that the stores differ.
    if !outcome.isEqual { throw CommandFailure(code: .checkFailed, message: "") }
  }
}
