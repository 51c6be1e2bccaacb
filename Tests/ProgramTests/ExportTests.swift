// What an export has and has not, where it goes, and whether it comes back.

import DocumentStore
import Foundation
import Testing

@testable import ByteStore
@testable import dugout

@Suite struct ExportTests {
  private let dugout = Program("dugout")

  private func upload(_ name: String, to store: DocumentStore) throws {
    let source = UploadSource(file: nil, byteCount: 5000, modified: 0)
    let path = ObjectPath(bucket: "bucket", name: try ObjectName(name))
    let upload = store.objects.upload(to: path, from: source, ObjectAttributes())
    try upload.append([UInt8](repeating: 7, count: 5000))
    _ = try upload.finish(token: "token")
  }

  /// The story: an export of a store with files had the records of the files, and no import took it.
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

  @Test func whatEarlierExportsHadOfFilesIsLeftOut() throws {
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
    // Names that are reserved elsewhere are a mistake.
    let wrong = try dugout.run(
      ["import", folder.path, "-"], input: #"{"path":"users/__a__","fields":{}}"# + "\n")
    #expect(wrong.status == 65 && wrong.complaint.contains("are reserved"), "\(wrong.complaint)")
  }

  @Test func recordsOfFilesAreNoDocumentsOfQueries() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    try folder.changeStore { store in try upload("a", to: store) }
    for words in [
      ["query", folder.path, "group __objects__"], ["delete", folder.path, "group __blobs__", "--query"],
      ["explain", folder.path, "group __blobs__"], ["export", folder.path, "-", "group __objects__"],
      ["query", folder.path, "__blobs__"], ["ls", folder.path, "__blobs__"],
      ["get", folder.path, "__blobs__/a"], ["set", folder.path, "__blobs__/a", "{}"],
      ["delete", folder.path, "__blobs__/a"], ["index", "create", folder.path, "__objects__", "blob"],
    ] {
      let outcome = try dugout.run(words)
      #expect(outcome.status == 2 && outcome.complaint.contains("are reserved"), "\(words): \(outcome)")
    }
    #expect(try dugout.run("check", folder.path).status == 0)
  }

  // MARK: Where it goes

  /// The story: whatever was at the place became a file.
  @Test func aLinkStaysAndItsFileIsReplaced() throws {
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
    // A link to what is not there yet.
    try manager.removeItem(atPath: file)
    #expect(try dugout.run("export", folder.path, link).status == 0)
    #expect(try manager.destinationOfSymbolicLink(atPath: link) == "file")
    #expect(manager.fileExists(atPath: file))
  }

  /// The story: each export that was ended left a file beside its own, which nobody ever removed.
  @Test(arguments: [SIGINT, SIGTERM, SIGKILL]) func anExportThatIsEndedLeavesNothingForGood(
    signal: Int32
  ) throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    let count = 6_000
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
    // One that was at its end before the signal came proves nothing.
    repeat {
      try #require(ContinuousClock.now < deadline, "it is always at its end")
      try Data("old".utf8).write(to: URL(fileURLWithPath: file))
      process = Process()
      process.executableURL = URL(fileURLWithPath: dugout.path)
      process.arguments = ["export", folder.path, file]
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
      while try manager.contentsOfDirectory(atPath: files.path).count < 2, process.isRunning {
        try #require(ContinuousClock.now < deadline, "it makes no file")
        usleep(200)
      }
      if process.isRunning { kill(process.processIdentifier, signal) }
      process.waitUntilExit()
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

  @Test func onlyWhatNobodyWritesAnyMoreIsRemoved() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    try folder.makeStore()
    let mark = "all" + ExportFile.partMark
    let (left, held) = (mark + "0123456789abcdef", mark + "fedcba9876543210")
    let others = [
      "all.part-1", mark + "0123456789abcde", mark + "0123456789abcdeg",
      "ball" + mark.dropFirst(3) + "0123456789abcdef",
    ]
    for name in [left, held] + others {
      try Data("mine".utf8).write(to: files.url.appendingPathComponent(name))
    }
    try FileManager.default.createSymbolicLink(
      atPath: files.path + "/" + mark + "00000000000000aa", withDestinationPath: others[0])
    // As another export would hold it.
    let holder = open(files.path + "/" + held, O_RDWR)
    #expect(flock(holder, LOCK_EX | LOCK_NB) == 0)
    defer { close(holder) }
    #expect(try dugout.run("export", folder.path, files.path + "/all").status == 0)
    let names = try Set(FileManager.default.contentsOfDirectory(atPath: files.path))
    #expect(names == Set(others + [held, "all", mark + "00000000000000aa"]))
  }

  @Test func anExportThatCannotBeWrittenLeavesNothing() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    try folder.changeStore { store in
      let text = StoredValue.string(String(repeating: "x", count: 100_000))
      try store.commit([.set(try DocumentPath(["c", "d"]), StoredMap([("text", text)]))])
    }
    // No file may be longer than some kilobytes, and who writes more is told so.
    let script =
      "trap '' XFSZ; ulimit -f 8; exec '\(dugout.path)' export '\(folder.path)' '\(files.path)/all'"
    let outcome = try Program(path: "/bin/bash").run("--norc", "-c", script)
    #expect(outcome.status == 74)
    #expect(outcome.complaint.contains("all could not be written: "), "\(outcome.complaint)")
    #expect(outcome.complaint.contains("Nothing is left of it, and what was there before stays."))
    #expect(try FileManager.default.contentsOfDirectory(atPath: files.path).isEmpty)
  }

  @Test func aPipeGetsTheLinesAndStaysAPipe() throws {
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

  @Test func aFileThatCannotBeMadeIsCalledAsTheUserCallsIt() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let outcome = try dugout.run("export", folder.path, folder.path + "-no/file")
    #expect(outcome.status == 74)
    #expect(outcome.complaint.contains("\(folder.path)-no/file cannot be written: No such file"))
  }

  @Test func anExportOfNothingSaysWhy() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let outcome = try dugout.run("export", folder.path, "-", "user")
    #expect(outcome.status == 0 && outcome.output.isEmpty)
    #expect(outcome.complaint.contains("there is no collection user. Did you mean users?"))
  }

  // MARK: CSV

  /// The story: bytes were a number of bytes, and what lay deeper a number of fields.
  @Test func cellsHaveAllOfAValue() throws {
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
    for (value, text) in cells { #expect(CSV.cell(value) == text) }
    #expect(CSV.row(["a,b", "c\"d", "e\r\n", "f"]) == "\"a,b\",\"c\"\"d\",\"e\r\n\",f")
    // One character, and a quote for a reader.
    #expect(CSV.row(["\"\u{301}"]).unicodeScalars.elementsEqual("\"\"\"\u{301}\"".unicodeScalars))
  }
}
