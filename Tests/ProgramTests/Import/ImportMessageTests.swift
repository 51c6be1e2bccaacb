// Error messages that an import prints about an invalid file.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct ImportMessageTests {
  private let dugout = Program("dugout")

  private func complaint(_ text: String) throws -> String {
    let folder = try TemporaryFolder()
    let outcome = try dugout.run(["import", folder.path, "-"], input: text)
    #expect(outcome.status == 65)
    #expect(!outcome.complaint.contains(".."), "\(outcome.complaint)")
    return outcome.complaint
  }

  private let good = #"{"path": "users/ada", "fields": {}}"# + "\n"

  @Test func importErrorsReportTheLineAndWhatWasImported() throws {
    let second = try complaint(good + "\n" + #"{"path": "users", "fields": {}}"#)
    #expect(second.contains("standard input, line 3: The path \"users\" is not valid"))
    let again = "Fix it and repeat the command: it starts over, and writes them again."
    #expect(second.contains("All documents before it were imported. \(again)"), "\(second)")
    let first = try complaint(#"{"path": "users/a", "fields": {"a": 1}}"#)
    #expect(first.contains("line 1: in the field a: a value is an object"))
    #expect(first.contains("Nothing was imported. Fix it"))
  }

  /// Regression: fields outside of "fields" were ignored, and the import wrote an empty document.
  @Test func aLineWithFieldsUnderAnotherNameIsAnError() throws {
    let said = try complaint(good + #"{"path": "a/3", "x": 5}"#)
    #expect(said.contains("line 2: there are no \"fields\", and \"x\" says nothing: fields look like"))
    let folder = try TemporaryFolder()
    let empty = #"{"name": "projects/p/databases/d/documents/a/4", "createTime": "x", "updateTime": "y"}"#
    #expect(try dugout.run(["import", folder.path, "-"], input: empty).output == "1 document imported.\n")
  }

  @Test func otherFileFormatsAreRecognised() throws {
    #expect(try complaint("id,name\n1,Ada\n").contains("looks like CSV"))
    #expect(try complaint("{\n  \"path\": \"users/x\"\n}\n").contains("JSON over several lines"))
    #expect(try complaint("[\n" + good + "]").contains("list over several lines"))
    #expect(try complaint(#"[{"path": "users/x"}]"#).contains("The line is a list"))
    #expect(try !complaint(good + "id,name\n").contains("CSV"))
  }

  /// Regression: an archive was reported as CSV, and a truncated copy as multi-line JSON.
  @Test func compressedEncodedAndTruncatedFilesAreRecognised() throws {
    let folder = try TemporaryFolder()
    let (store, path) = (folder.path + "/store", folder.path + "/file")
    func complaint(_ bytes: [UInt8]) throws -> String {
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      let outcome = try dugout.run("import", store, path, "--from-start")
      try #require(outcome.status == 65, "\(outcome)")
      return outcome.complaint
    }
    let packed = try complaint([0x1F, 0x8B, 0x08, 0x00, 0x2C, 0x2C])
    #expect(packed.contains("compressed with gzip: \"gunzip -c FILE |"), "\(packed)")
    var (little, big): ([UInt8], [UInt8]) = ([0xFF, 0xFE], [0xFE, 0xFF])
    for byte in good.utf8 {
      little += [byte, 0]
      big += [0, byte]
    }
    var wrong: [String] = []
    for bytes in [little, big] {
      let said = try complaint(bytes)
      if !said.contains("is in UTF-16") { wrong.append(said) }
    }
    // The texts have no byte order mark. The last one begins with an empty line.
    let unmarked: [(bytes: [UInt8], encoding: String)] = [
      (Array(little.dropFirst(2)), "UTF-16LE"), (Array(big.dropFirst(2)), "UTF-16BE"),
      ([0x0A, 0] + little.dropFirst(2), "UTF-16LE"),
    ]
    for (bytes, encoding) in unmarked {
      let said = try complaint(bytes)
      if !said.contains("looks like UTF-16 without a byte order mark")
        || !said.contains("\"iconv -f \(encoding) -t UTF-8 FILE | dugout import DIR -\"")
      {
        wrong.append("\(encoding): \(said)")
      }
    }
    for binary in [[0, 1, 0, 0, 2], [0x7B, 0, 0, 0x22], [0]] as [[UInt8]] {
      let said = try complaint(binary)
      if said.contains("UTF-16") { wrong.append("\(binary): \(said)") }
    }
    for last in [#"{"path": "users/bob", "fie"#, #"{"path": "users/bob", "fields": {}"#, "{"] {
      for before in ["", good] {
        let said = try complaint(Array((before + last).utf8))
        if !said.contains("The file ends in the middle of this line: write or download it again") {
          wrong.append("\(before)\(last): \(said)")
        }
      }
    }
    #expect(wrong == [])
    #expect(try complaint(Array((good + #"{"path": "a/b"},"#).utf8)).contains("Fix it and repeat"))
  }

  /// Regression: an oversized document was refused only at the commit and reported as wrong usage. Hundreds
  /// of valid lines before the document were refused with it.
  @Test func anOversizedDocumentIsReportedWithItsLineAndEarlierOnesAreImported() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/lines"
    let good = (0..<700).map { #"{"path": "c/\#($0)"}"# }
    let one = #"{"integerValue": "1"}"#
    let array = #"{"arrayValue": {"values": ["# + one + "]}}"
    let deep = (0..<30).reduce(one) { value, _ in #"{"mapValue": {"fields": {"m": "# + value + "}}}" }
    let long = #"{"stringValue": ""# + String(repeating: "x", count: 1 << 20) + #""}"#
    let nested = #"{"arrayValue": {"values": ["# + array + "]}}"
    let values: [(value: String, reason: String)] = [
      (nested, "Nested arrays are not supported"),
      (deep, "Maps and arrays may be nested 20 deep"), (long, "and the limit is"),
    ]
    var wrong: [String] = []
    for (number, (value, reason)) in values.enumerated() {
      let bad = #"{"path": "c/bad", "fields": {"f": "# + value + "}}"
      try Data((good + [bad, #"{"path": "c/end"}"#]).joined(separator: "\n").utf8)
        .write(to: URL(fileURLWithPath: path))
      let store = folder.path + "/store\(number)"
      let refused = try dugout.run("import", store, path, "--from-start")
      if refused.status != 65 || !refused.complaint.contains("\(path), line 701: ")
        || !refused.complaint.contains(reason)
        || !refused.complaint.contains(". All documents before it were imported. Fix it")
      {
        wrong.append("\(reason): \(refused)")
      }
      let count = try dugout.run("query", store, "c", "--count").output
      if count != "count  700\n" { wrong.append("\(reason): \(count)") }
    }
    #expect(wrong == [])
  }

  /// A value that takes a few bytes in the file may take many bytes in a document.
  @Test func importCommitsStayWithinTheLimit() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/lines"
    let vector = #"{"vectorValue": ["# + Array(repeating: "1", count: 2048).joined(separator: ",") + "]}"
    let fields = (0..<50).map { #""v\#($0)": "# + vector }.joined(separator: ",")
    let lines = (0..<18).map { #"{"path": "c/\#($0)", "fields": {"# + fields + "}}" }
    try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: path))
    let outcome = try dugout.run("import", folder.path + "/store", path)
    #expect(outcome.output == "18 documents imported.\n", "\(outcome.complaint)")
  }

  /// Regression: correcting a line changed its length, so the import started over.
  @Test func anImportResumesAtACorrectedLine() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/lines"
    let store = folder.path + "/store"
    let lines = (0..<700).map { #"{"path": "c/\#($0)"}"# }
    func write(_ last: String) throws {
      try Data((lines + [last, #"{"path": "c/end"}"#]).joined(separator: "\n").utf8)
        .write(to: URL(fileURLWithPath: path))
    }
    try write("no")
    let refused = try dugout.run("import", store, path)
    #expect(refused.complaint.contains("\(path), line 701: "), "\(refused.complaint)")
    #expect(refused.complaint.contains("Fix it and repeat the command: it continues from there."))
    // Line numbers count from the start of the file, also in a resumed run.
    #expect(try dugout.run("import", store, path).complaint.contains("\(path), line 701: "))
    try write(#"{"path": "c/mended"}"#)
    #expect(try dugout.run("import", store, path).output == "2 documents imported, 700 by an earlier run.\n")
  }

  /// Regression: the message was "(error 28) 32500 documents before that were imported", without advice.
  @Test func aFullDiskIsReportedWithAdvice() {
    var evidence = StorageEvidence(message: "pwrite of s/log failed: No space left on device (error 28)")
    evidence.code = ENOSPC
    #expect(
      ImportJob.message(.full(evidence), after: 32_500, by: 0, next: .resumes)
        == "pwrite of s/log failed: No space left on device (error 28). Before that, 32500 documents were "
        + "imported, and all of them are safe. Free some space on the disk, and run the same command again: it "
        + "continues from there.")
    #expect(
      ImportJob.message(.failed(StorageEvidence(message: "It failed.")), after: 1, by: 2, next: .restarts)
        == "It failed. Before that, 1 document was imported, 2 by an earlier run, and all of them are safe. "
        + "Once that is fixed, run the same command again: it starts over, and writes them again.")
  }

  /// Regression: in a folder of another user, an import promised to resume, but the next import started over.
  @Test func resumptionIsNotPromisedWithoutAProgressFile() throws {
    let folder = try TemporaryFolder()
    let (store, path) = (folder.path + "/store", folder.path + "/lines")
    let mark = path + ".dugout-import"
    try FileManager.default.createDirectory(atPath: mark + "/inside", withIntermediateDirectories: true)
    let lines = (0..<700).map { #"{"path": "c/\#($0)"}"# }
    try Data((lines + ["no"]).joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: path))
    var wrong: [String] = []
    for _ in 1...2 {
      let refused = try dugout.run("import", store, path)
      if !refused.complaint.contains("\(path), line 701: ")
        || !refused.complaint.contains(
          "Fix it and repeat the command: it starts over, and writes them again.")
      {
        wrong.append("\(refused)")
      }
    }
    #expect(wrong == [])
    try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: path))
    #expect(try dugout.run("import", store, path).output == "700 documents imported.\n")
    // The import does not remove a folder that has the name of a mark.
    #expect(FileManager.default.fileExists(atPath: mark + "/inside"))
  }

  /// Regression: another name of standard input was treated as a file, and a mark was written next to that
  /// name.
  @Test func allNamesOfStandardInputAreRecognised() throws {
    let folder = try TemporaryFolder()
    let store = folder.path + "/store"
    var wrong: [String] = []
    for name in ["-", "/dev/stdin", "/dev/fd/0"] {
      let outcome = try dugout.run(["import", store, name], input: good + "no\n")
      if !outcome.complaint.contains("standard input, line 2: ") { wrong.append("\(name): \(outcome)") }
    }
    #expect(wrong == [])
    let path = folder.path + "/lines"
    try Data((good + "no\n").utf8).write(to: URL(fileURLWithPath: path))
    let script = "'\(dugout.path)' import '\(store)' /dev/stdin < '\(path)'"
    let outcome = try Program(path: "/bin/sh").run("-c", script)
    #expect(outcome.complaint.contains("command: it starts over, and"), "\(outcome.complaint)")
    #expect(!FileManager.default.fileExists(atPath: "/dev/stdin.dugout-import"))
  }

  @Test func aMissingFileCreatesNoStore() throws {
    let folder = try TemporaryFolder()
    #expect(try dugout.run("import", folder.path + "/store", folder.path + "/none").status == 74)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }
}
