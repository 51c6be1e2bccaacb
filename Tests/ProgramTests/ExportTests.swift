// The contents of an export, its destination, and the round trip through an import.

import DocumentStore
import Foundation
import ObjectStore
import Testing

@testable import ByteStore
@testable import dugout

@Suite struct ExportTests {
  private let dugout = Program("dugout")

  private func upload(_ name: String, to store: DocumentStore) throws {
    let source = UploadSource(file: nil, byteCount: 5000, modified: 0)
    let path = ObjectPath(bucket: "bucket", name: try ObjectName(name))
    let upload = store.objects.upload(to: path, from: source, attributes: ObjectAttributes())
    try upload.append([UInt8](repeating: 7, count: 5000))
    _ = try upload.finish(token: "token")
  }

  /// Regression: an export of a store with files contained the records of the files, and no import accepted
  /// these records.
  @Test func aStoreWithFilesIsExportedAndImported() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    try folder.makeStore()
    try folder.changeStore { store in try upload("a/b.png", to: store) }
    let lines = files.path + "/all.jsonl"
    let exported = try dugout.run("export", folder.path, lines)
    #expect(
      exported.output
        == "1 document in \(lines)\n1 file of the storage is not in it; \"dugout backup\" has everything.\n")
    #expect(try dugout.run("import", files.path + "/other", lines).output == "1 document imported.\n")
    let piped = try dugout.run("export", folder.path, "-")
    #expect(piped.output.split(separator: "\n").count == 1)
    #expect(piped.complaint.contains("1 file of the storage is not in it"))
    #expect(
      try dugout.run("export", folder.path, "-", "--csv").output.hasPrefix("path,name,tags\nusers/ada,"))
    try folder.changeStore { store in try upload("c", to: store) }
    #expect(try dugout.run("export", folder.path, lines).output.contains("2 files of the storage are not"))
  }

  @Test func storageRecordsInEarlierExportsAreSkipped() throws {
    let folder = try TemporaryFolder()
    let lines = """
      {"path":"__blobs__/d4f8","fields":{"bytes":{"integerValue":"300"}}}
      {"path":"__buckets__/=dugout/__objects__/=a","fields":{}}
      {"path":"users/ada","fields":{}}

      """
    let outcome = try dugout.run(["import", folder.path, "-"], input: lines)
    #expect(
      outcome.output
        == "1 document imported.\n2 records of a storage left out: an export has none of its files.\n",
      "\(outcome.complaint)")
    #expect(try dugout.run("check", folder.path).status == 0)
    // Other reserved names are an error.
    let wrong = try dugout.run(
      ["import", folder.path, "-"], input: #"{"path":"users/__a__","fields":{}}"# + "\n")
    #expect(wrong.status == 65 && wrong.complaint.contains("are reserved"), "\(wrong.complaint)")
  }

  @Test func storageRecordsAreNotQueryable() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    try folder.changeStore { store in try upload("a", to: store) }
    var wrong: [String] = []
    for words in [
      ["query", folder.path, "group __objects__"], ["delete", folder.path, "group __blobs__", "--query"],
      ["update", folder.path, "group __objects__", "a=1"], ["update", folder.path, "__blobs__/a", "a=1"],
      ["explain", folder.path, "group __blobs__"], ["export", folder.path, "-", "group __objects__"],
      ["query", folder.path, "__blobs__"], ["ls", folder.path, "__blobs__"],
      ["get", folder.path, "__blobs__/a"], ["set", folder.path, "__blobs__/a", "{}"],
      ["delete", folder.path, "__blobs__/a"], ["index", "create", folder.path, "__objects__", "blob"],
    ] {
      let outcome = try dugout.run(words)
      if outcome.status != 2 || !outcome.complaint.contains("are reserved") {
        wrong.append("\(words): \(outcome)")
      }
    }
    #expect(wrong == [])
    #expect(try dugout.run("check", folder.path).status == 0)
  }

  // MARK: Destination

  /// Regression: an export replaced its destination with a regular file, even if the destination was of
  /// another type.
  @Test func exportThroughASymlinkReplacesTheTargetFile() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    try folder.makeStore()
    let manager = FileManager.default
    let (link, file, mine) = (files.path + "/link", files.path + "/file", files.path + "/file.part")
    try Data("old".utf8).write(to: URL(fileURLWithPath: file))
    try Data("mine".utf8).write(to: URL(fileURLWithPath: mine))
    try manager.createSymbolicLink(atPath: link, withDestinationPath: "file")
    try manager.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    #expect(try dugout.run("export", folder.path, link).status == 0)
    #expect(try manager.destinationOfSymbolicLink(atPath: link) == "file")
    #expect(try String(contentsOfFile: file, encoding: .utf8).contains("\"path\":\"users/ada\""))
    #expect(try manager.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
    #expect(try String(contentsOfFile: mine, encoding: .utf8) == "mine")
    #expect(try Set(manager.contentsOfDirectory(atPath: files.path)) == ["link", "file", "file.part"])
    // The destination of the link does not exist yet.
    try manager.removeItem(atPath: file)
    #expect(try dugout.run("export", folder.path, link).status == 0)
    #expect(try manager.destinationOfSymbolicLink(atPath: link) == "file")
    #expect(manager.fileExists(atPath: file))
  }

  /// Regression: each interrupted export left a file next to its destination, and this file was never
  /// removed.
  @Test(arguments: [SIGINT, SIGTERM, SIGKILL]) func anInterruptedExportLeavesNoPermanentFiles(
    signal: Int32
  ) throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    let count = 12_000
    try folder.changeStore { store in
      for start in stride(from: 0, to: count, by: 500) {
        try store.commit(
          (start..<start + 500).map { number in
            .set(try DocumentPath(["c", "\(number)"]), StoredMap([("n", .integer(Int64(number)))]))
          })
      }
    }
    let manager = FileManager.default
    let file = files.path + "/all.jsonl"
    let deadline = ContinuousClock.now + .seconds(60)
    var process = Process()
    // If an export finishes before the signal, the round proves nothing.
    repeat {
      try #require(ContinuousClock.now < deadline, "it is always at its end")
      try Data("old".utf8).write(to: URL(fileURLWithPath: file))
      let terminal = try PseudoTerminal()
      process = try terminal.start(dugout.path, ["export", folder.path, file], ["TERM": "xterm"])
      // The export shows its progress after it has created its file.
      try terminal.wait(for: " left")
      if process.isRunning { kill(process.processIdentifier, signal) }
      _ = try terminal.rest(of: process)
    } while process.terminationReason == .exit && process.terminationStatus == 0
    let left = try manager.contentsOfDirectory(atPath: files.path).filter { $0 != "all.jsonl" }
    if signal == SIGKILL {
      #expect(left.count == 1 && left.allSatisfy { $0.hasPrefix("all.jsonl" + ExportFile.partMark) })
    } else {
      #expect(process.terminationReason == .exit && process.terminationStatus == 1 && left.isEmpty)
    }
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "old")
    #expect(try dugout.run("export", folder.path, file).output == "\(count) documents in \(file)\n")
    #expect(try manager.contentsOfDirectory(atPath: files.path) == ["all.jsonl"])
  }

  @Test func onlyAbandonedPartFilesAreRemoved() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    try folder.makeStore()
    let mark = "all" + ExportFile.partMark
    let (left, held) = (mark + "0123456789abcdef", mark + "fedcba9876543210")
    let others = [
      "all.part-1", mark + "0123456789abcde", mark + "0123456789abcdeg",
      "ball" + mark.dropFirst(3) + "0123456789abcdef",
      // Hexadecimal digits in forms that an export never writes.
      mark + "ABCDEFABCDEFABCD", mark + String(repeating: "\u{FF11}", count: 16),
    ]
    for name in [left, held] + others {
      try Data("mine".utf8).write(to: files.url.appendingPathComponent(name))
    }
    try FileManager.default.createSymbolicLink(
      atPath: files.path + "/" + mark + "00000000000000aa", withDestinationPath: others[0])
    // This name is a second link to a file that must be kept.
    try FileManager.default.linkItem(
      atPath: files.path + "/" + others[0], toPath: files.path + "/" + mark + "00000000000000bb")
    // Lock the file as another export would.
    let holder = open(files.path + "/" + held, O_RDWR)
    #expect(flock(holder, LOCK_EX | LOCK_NB) == 0)
    defer { close(holder) }
    #expect(try dugout.run("export", folder.path, files.path + "/all").status == 0)
    let names = try Set(FileManager.default.contentsOfDirectory(atPath: files.path))
    #expect(names == Set(others + [held, "all", mark + "00000000000000aa", mark + "00000000000000bb"]))
  }

  /// Regression: if the destination was a link to a missing file in the store, the export created that file.
  @Test func aSymlinkIntoTheStoreIsRefused() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    try folder.makeStore()
    let before = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    var wrong: [String] = []
    for name in ["MANIFEST", "new"] {
      let link = files.path + "/to-" + name
      try FileManager.default.createSymbolicLink(
        atPath: link, withDestinationPath: folder.path + "/" + name)
      let outcome = try dugout.run("export", folder.path, link)
      if outcome.status != 2 || !outcome.complaint.contains("lies in it") {
        wrong.append("\(name): \(outcome)")
      }
    }
    #expect(wrong == [])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == before)
    #expect(try dugout.run("check", folder.path).status == 0)
  }

  /// A store on a read-only medium can be exported, and the export creates no file next to the store.
  @Test func aReadOnlyStoreIsExported() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    try folder.makeStore()
    let manager = FileManager.default
    let names = try manager.contentsOfDirectory(atPath: folder.path)
    let paths = names.map { folder.path + "/" + $0 } + [folder.path]
    // The test compares contents and times, because some users can write despite read-only permissions.
    func state() throws -> [String: [String]] {
      try Dictionary(
        uniqueKeysWithValues: paths.map { path in
          let bytes = path == folder.path ? nil : manager.contents(atPath: path)
          let time = try manager.attributesOfItem(atPath: path)[.modificationDate] as? Date
          let text = try #require(time).timeIntervalSince1970.description
          return (path, [text, bytes.map { $0.base64EncodedString() } ?? ""])
        })
    }
    defer { for path in paths.reversed() { _ = chmod(path, 0o700) } }
    #expect(paths.filter { chmod($0, 0o500) != 0 } == [])
    let before = try state()
    let file = files.path + "/all"
    #expect(try dugout.run("export", folder.path, file).output == "1 document in \(file)\n")
    #expect(try dugout.run("export", folder.path, "-", "users order by name limit 1").status == 0)
    #expect(try state() == before, "something was written")
    #expect(try Set(manager.contentsOfDirectory(atPath: folder.path)) == Set(names))
  }

  @Test func aFailedExportLeavesNoFiles() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    try folder.changeStore { store in
      let text = StoredValue.string(String(repeating: "x", count: 100_000))
      try store.commit([.set(try DocumentPath(["c", "d"]), StoredMap([("text", text)]))])
    }
    // Limits the file size to some kilobytes, so that longer writes fail.
    let script =
      "trap '' XFSZ; ulimit -f 8; exec '\(dugout.path)' export '\(folder.path)' '\(files.path)/all'"
    let outcome = try Program(path: "/bin/bash").run("--norc", "-c", script)
    #expect(outcome.status == 74)
    #expect(outcome.complaint.contains("all could not be written: "), "\(outcome.complaint)")
    #expect(outcome.complaint.contains("Its output was removed, and the target is unchanged."))
    #expect(try FileManager.default.contentsOfDirectory(atPath: files.path).isEmpty)
  }

  @Test func exportToAPipeWritesLinesAndKeepsThePipe() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    try folder.makeStore()
    let script = """
      cd '\(files.path)' && mkfifo pipe && (cat pipe > read & '\(dugout.path)' export '\(folder.path)' pipe && wait) \
      && test -p pipe
      """
    let outcome = try Program(path: "/bin/sh").run("-c", script)
    #expect(outcome.status == 0, "\(outcome.output)\(outcome.complaint)")
    #expect(
      try String(contentsOfFile: files.path + "/read", encoding: .utf8).contains("\"path\":\"users/ada\""))
    #expect(try Set(FileManager.default.contentsOfDirectory(atPath: files.path)) == ["pipe", "read"])
  }

  @Test func anUncreatableFileIsReportedUnderTheUsersName() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let outcome = try dugout.run("export", folder.path, folder.path + "-no/file")
    #expect(outcome.status == 74)
    #expect(outcome.complaint.contains("\(folder.path)-no/file cannot be written: No such file"))
  }

  @Test func anEmptyExportReportsTheReason() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let outcome = try dugout.run("export", folder.path, "-", "user")
    #expect(outcome.status == 0 && outcome.output.isEmpty)
    #expect(outcome.complaint.contains("there is no collection user. Did you mean users?"))
  }

  // MARK: Pages

  private func changePagedStore(
    _ folder: borrowing TemporaryFolder, _ body: (DocumentStore) throws -> Void
  ) throws {
    let count = 2 * DocumentPages.pageDocuments + 345
    try folder.changeStore { store in
      for start in stride(from: 0, to: count, by: 469) {
        try store.commit(
          (start..<min(count, start + 469)).map { number -> Mutation in
            let time = try #require(StoredTimestamp(microseconds: Int64(number / 2)))
            return .set(
              try DocumentPath(["c", "\(number)"]),
              StoredMap([
                ("n", .integer(Int64(number))), ("few", .integer(Int64(number % 3))),
                ("pending", .pendingTimestamp(time, previous: nil)),
              ]))
          })
      }
      try body(store)
    }
  }

  @Test func pagesEqualTheQueryResult() throws {
    let folder = try TemporaryFolder()
    try changePagedStore(folder) { store in
      var wrong: [String] = []
      for text in [
        "c", "c/5", "group c", "c limit 1", "c limit 1000", "c limit 2000", "c limit 2100", "c limit 99999",
        "c order by n desc limit 1500", "c order by n limit last 1", "c order by n limit last 1000",
        "c order by n limit last 2100", "c order by n limit last 99999",
        "c where n >= 5 order by n start at 7 limit last 1500", "c order by few start after 0",
        "c order by few desc, n start at 1 end before 0 limit 1100", "c order by few limit last 1300",
        "c where few in [1, 2] limit 1200", "c order by pending", "c order by pending limit 1500",
        "c order by pending desc limit last 1200", "c order by pending desc, n limit 2300",
      ] {
        let query = try QueryText.query(text)
        var found: [DocumentPath] = []
        var skipped: [DocumentPath] = []
        var questions = 0
        try DocumentPages(store: store, query: query).forEach(
          checkNotInterrupted: { () throws(DocumentStoreError) in questions += 1 },
          skipped: { skipped += $0 }
        ) { found += $0.map(\.path) }
        let expected = try store.documents(query).map(\.path)
        if found != expected { wrong.append("\(text): \(found.count) of \(expected.count) documents") }
        if !skipped.isEmpty { wrong.append("\(text): \(skipped) skipped") }
        if questions < 1 { wrong.append("\(text): no check for an interruption") }
      }
      #expect(wrong == [])
    }
  }

  /// Regression: with a limit above the number of documents, the progress stayed near zero until the end.
  @Test func progressTotalIsAtMostTheDocumentCount() throws {
    let folder = try TemporaryFolder()
    try changePagedStore(folder) { store in
      var wrong: [String] = []
      for (text, count) in [
        ("c", store.count), ("c where n < 7", 7), ("c limit 5", 5), ("c limit 99999", store.count),
        ("c order by n limit last 99999", store.count),
      ] {
        let pages = DocumentPages(store: store, query: try QueryText.query(text))
        let documents = try pages.documentsMax()
        if documents != count { wrong.append("\(text): \(documents)") }
      }
      #expect(wrong == [])
    }
  }

  /// Regression: with a limit, an export noticed the first Ctrl-C only after it had read everything.
  @Test(arguments: ["c", "c limit 2300", "c order by n limit last 2300", "c order by n start at 10"])
  func anInterruptionWaitsForAtMostOnePage(text: String) throws {
    let folder = try TemporaryFolder()
    try changePagedStore(folder) { store in
      var questions = 0
      var documents = 0
      #expect(throws: DocumentStoreError.aborted("ended")) {
        try DocumentPages(store: store, query: QueryText.query(text)).forEach(
          checkNotInterrupted: { () throws(DocumentStoreError) in
            questions += 1
            if questions == 2 { throw .aborted("ended") }
          }, skipped: { #expect($0.isEmpty) }
        ) { documents += $0.count }
      }
      #expect(questions == 2 && documents <= DocumentPages.pageDocuments)
    }
  }

  // MARK: CSV

  /// Regression: bytes were exported as their count, and nested values as a number of fields.
  @Test func cellsContainCompleteValues() throws {
    let path = try DocumentPath(["users", "ada"])
    let map = StoredMap([
      ("a", .map(StoredMap([("b", .array([.integer(1), .double(0.5), .null]))]))), ("c", .string("d")),
    ])
    let point = try #require(StoredGeoPoint(latitude: 48.1, longitude: 11.6))
    let cells: [(StoredValue, String)] = [
      (.bytes([1, 2, 3]), "AQID"), (.vector([1, 2.5]), "[1,2.5]"), (.geoPoint(point), "48.1,11.6"),
      (.reference(StoredReference(projectID: "p", databaseID: "d", path: path)), "users/ada"),
      (.map(map), #"{"a":{"b":[1,0.5,null]},"c":"d"}"#), (.array([.bytes([1, 2, 3])]), #"["AQID"]"#),
      (.string("a, b"), "a, b"), (.integer(.max), "9223372036854775807"), (.boolean(true), "true"),
    ]
    #expect(cells.map { CSV.cell($0.0) } == cells.map { $0.1 })
    #expect(CSV.row(["a,b", "c\"d", "e\r\n", "f"]) == "\"a,b\",\"c\"\"d\",\"e\r\n\",f")
    // Swift treats the quote and the combining mark as one character, but CSV readers recognize the quote.
    #expect(CSV.row(["\"\u{301}"]).unicodeScalars.elementsEqual("\"\"\"\u{301}\"".unicodeScalars))
  }
}
