// Maintenance commands: statistics, backups, and compaction.

import DocumentStore
import Foundation
import Harness
import ObjectStore
import Testing

@testable import ByteStore
@testable import dugout

@Suite struct UpkeepTests {
  private let dugout = Program("dugout")

  private func object(_ outcome: Program.Outcome) throws -> [String: Any] {
    #expect(outcome.status == 0, "\(outcome.complaint)")
    let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
    return try #require(object as? [String: Any])
  }

  private func names(in path: String) throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: path)).subtracting(["LOCK"])
  }

  /// Creates incompressible documents in segments.
  private func makeLargeStore(_ folder: borrowing TemporaryFolder) throws {
    try folder.changeStore { store in
      var random = SeededRandom(seed: 1)
      for number in 0..<20 {
        let bytes = StoredValue.bytes(random.bytes(50_000))
        try store.commit([.set(try DocumentPath(["files", "\(number)"]), StoredMap([("bytes", bytes)]))])
      }
    }
    #expect(try dugout.run("compact", folder.path).status == 0)
  }

  private func delete(_ numbers: Range<Int>, _ folder: borrowing TemporaryFolder) throws {
    try folder.changeStore { store in
      for number in numbers { try store.commit([.delete(try DocumentPath(["files", "\(number)"]))]) }
    }
  }

  // MARK: Stat

  @Test func statPrintsNumbersDurabilityAndTheRecoveryReport() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let outcome = try dugout.run("stat", folder.path)
    #expect(outcome.status == 0)
    #expect(outcome.output.contains("1 document; 1 record in all, as of commit 1"))
    #expect(outcome.output.contains("none yet, 1 commit in logs"))
    #expect(
      outcome.output.contains("was closed cleanly before; 1 log read, 1 commit replayed, nothing dropped"))
    #expect(outcome.output.contains("snapshots   none open"))
    let check = try dugout.run("check", folder.path).output
    #expect(check.contains(" verified, 1 record, 0 entries in segments"), "\(check)")
    #expect(check.contains("\n1 document compared with ") && !check.contains("key"), "\(check)")
    #expect(outcome.output.contains("contents    none\n"))

    let object = try object(dugout.run("stat", folder.path, "--json"))
    #expect(object["keys"] as? Int == 1 && object["lastCommit"] as? Int == 1)
    #expect(object["documents"] as? Int == 1)
    let durability = try #require(object["durability"] as? [String: String])
    #expect(outcome.output.contains("durability  \(durability["fileSystem"] ?? "none")"))
    #expect(["durable", "not durable", "unknown"].contains(durability["verdict"]))
  }

  /// Regression: for a directory with megabytes of file contents, stat printed only the size of the
  /// documents.
  @Test func statPrintsTheSizeOfContents() throws {
    let folder = try TemporaryFolder()
    try folder.changeStore { store in
      let source = UploadSource(file: nil, byteCount: 2 << 20, modified: 0)
      let path = ObjectPath(bucket: "bucket", name: try ObjectName("large"))
      let upload = store.objects.upload(to: path, from: source, attributes: ObjectAttributes())
      var random = SeededRandom(seed: 1)
      try upload.append(random.bytes(2 << 20))
      _ = try upload.finish(token: "token")
    }
    let outcome = try dugout.run("stat", folder.path)
    #expect(outcome.output.contains("contents    1 of files of a storage, in "), "\(outcome.output)")
    let check = try dugout.run("check", folder.path).output
    #expect(check.contains("\n0 documents and ") && check.contains(" compared with "), "\(check)")
    #expect(check.contains("; 1 object of the storage compared with 1 content\nNo damage.\n"), "\(check)")
    let numbers = try object(dugout.run("stat", folder.path, "--json"))
    let contents = try #require(numbers["contents"] as? [String: Int])
    #expect(contents["contents"] == 1 && contents["bytes", default: 0] >= 2 << 20, "\(contents)")
  }

  /// Regression: a write that bypassed the app and went directly to the cache of a remote was never sent, and
  /// hid the remote's document.
  @Test func commandsRefuseToWriteARemotesCache() throws {
    let folder = try TemporaryFolder()
    let lines = folder.path + "-lines"
    try Data(#"{"path": "a/b"}"#.utf8).write(to: URL(fileURLWithPath: lines))
    defer { try? FileManager.default.removeItem(atPath: lines) }
    try folder.changeStore { store in
      let time = try #require(StoredTimestamp(microseconds: 0))
      // The document that marks a store as a cache.
      let mark = DocumentPath(unchecked: ["__sync__", "globals"])
      try store.commit([
        .place(StoredDocument(path: mark, createTime: time, updateTime: time, fields: StoredMap()))
      ])
    }
    var wrong: [String] = []
    for arguments in [
      ["set", folder.path, "a/b", "{}"], ["delete", folder.path, "a/b"],
      ["delete", folder.path, "items", "--query", "--yes"], ["update", folder.path, "a/b", "n=1"],
      ["update", folder.path, "items", "n=1", "--yes"], ["import", folder.path, lines],
    ] {
      let outcome = try dugout.run(arguments)
      if outcome.status != 1
        || !outcome.complaint.contains("is the cache of a remote, which would not receive this.")
      {
        wrong.append("\(arguments): \(outcome)")
      }
    }
    #expect(wrong == [])
    #expect(try dugout.run("stat", folder.path).output.contains("This is the cache of a remote"))
    #expect(try object(dugout.run("stat", folder.path, "--json"))["cacheOfRemote"] as? Bool == true)
    #expect(try dugout.run("ls", folder.path).status == 0)
    let shell = try dugout.run(["shell", folder.path], input: "set a/b {}\n")
    #expect(shell.status == 1 && shell.complaint.contains("is the cache of a remote"), "\(shell.complaint)")
  }

  @Test func statReportsBytesDroppedAtOpen() throws {
    let folder = try TemporaryFolder()
    let store = try DocumentStore.open(folder.path + "/live")
    for name in ["ada", "bob"] {
      let text = StoredValue.string(String(repeating: name, count: 200))
      try store.commit([.set(try DocumentPath(["users", name]), StoredMap([("text", text)]))])
    }
    // The log is truncated in the way in which a power loss would remove the second commit.
    let crashed = folder.path + "/crashed"
    try FileManager.default.copyItem(atPath: folder.path + "/live", toPath: crashed)
    try store.close()
    let log = URL(fileURLWithPath: crashed + "/log-0000000001")
    var bytes = try Data(contentsOf: log)
    bytes.resetBytes(in: 8192 + 100..<bytes.count)
    try bytes.write(to: log)

    let outcome = try dugout.run("stat", crashed)
    #expect(outcome.status == 0, "\(outcome.complaint)")
    #expect(outcome.output.contains("was not closed cleanly before"))
    #expect(outcome.output.contains("Dropped by this open: \(log.path): "))
    let object = try object(dugout.run("stat", crashed, "--json"))
    let recovery = try #require(object["recovery"] as? [String: Any])
    let losses = try #require(recovery["losses"] as? [[String: Any]])
    #expect(losses.map { $0["file"] as? String } == [log.path])
    // The loss begins after the first commit, which is in the previous page.
    #expect((4097..<8192).contains(losses.first?["offset"] as? Int ?? 0))
  }

  /// Regression: a snapshot that was never closed kept gigabytes on the disk, and no command warned about it.
  @Test func statReportsALongOpenSnapshot() throws {
    let folder = try TemporaryFolder()
    let store = try DocumentStore.open(folder.path)
    var status = StoreStatus(of: store)
    try store.close()
    status.statistics.snapshots = Statistics.Snapshots(
      open: [.init(ageSeconds: 7300, sequence: SequenceNumber(17))], deletedBytesHeld: 3 << 30)
    #expect(status.text.contains("1 open, of commit 17 for 2 hours; 3.0 GiB of deleted segments held"))
    #expect(status.text.contains("The snapshot of commit 17 has been open for 2 hours."))
    #expect(status.object["snapshots"]?["open"]?.elements?.first?["sequence"]?.description == "17")
    status.statistics.snapshots.open[0].ageSeconds = 59
    #expect(!status.text.contains("has been open"))
  }

  @Test func statReportsConditionsThatNeedAttention() throws {
    let folder = try TemporaryFolder()
    let store = try DocumentStore.open(folder.path)
    var status = StoreStatus(of: store)
    try store.close()
    let failure = SystemFailure(operation: "fdatasync", path: "/s/log-0000000001", code: 5)
    status.statistics.writing = .poisoned(failure)
    status.statistics.flushFailure = .system(failure)
    status.statistics.durability = .linux(type: 0x0102_1994)
    #expect(
      status.text.contains("writing     ended by a failure, until the store is opened again: fdatasync"))
    status.statistics.writing = .diskFull(failure)
    #expect(
      status.text.contains("writing     refused, except for deletes, because the disk is full: fdatasync"))
    status.statistics.writing = .flushImpossible(.system(failure))
    #expect(status.text.contains("writing     refused until a flush succeeds: fdatasync"))
    status.statistics.writing = .readOnly
    #expect(status.text.contains("writing     possible\n"))
    #expect(status.text.contains("The last flush failed, and will be tried again: fdatasync"))
    #expect(status.text.contains("does not survive a power loss"))
  }

  @Test func commandsThatWriteRefuseAStoreInUse() throws {
    let folder = try TemporaryFolder()
    let store = try DocumentStore.open(folder.path)
    var wrong: [String] = []
    for arguments in [["compact", folder.path], ["delete", folder.path, "users/ada"]] {
      let outcome = try dugout.run(arguments)
      if outcome.status != 69 || !outcome.complaint.contains("in use by process \(getpid())") {
        wrong.append("\(arguments): \(outcome)")
      }
    }
    #expect(wrong == [])
    try store.close()
  }

  // MARK: Backup

  @Test func aBackupIsAHealthyStoreWithItsOwnID() throws {
    let folder = try TemporaryFolder()
    let copies = try TemporaryFolder()
    try folder.makeStore()
    let target = copies.path + "/new/today"
    let report = try object(dugout.run("backup", folder.path, target, "--json"))
    #expect(report["keys"] as? Int == 1 && report["lastCommit"] as? Int == 1)
    let source = try object(dugout.run("stat", folder.path, "--json"))
    let copy = try object(dugout.run("stat", target, "--json"))
    #expect(report["storeID"] as? String == copy["storeID"] as? String)
    #expect(source["storeID"] as? String != copy["storeID"] as? String)
    #expect(report["bytes"] as? Int == copy["directoryBytes"] as? Int)
    #expect(try dugout.run("check", target).output.contains("No damage."))

    // The backup is restored as docs/guides/backup.md describes. A restore never replaces an existing store.
    #expect(try dugout.run("restore", target, folder.path).status == 69)
    try FileManager.default.removeItem(atPath: folder.path)
    let restored = try object(dugout.run("restore", target, folder.path, "--json"))
    #expect(restored["storeID"] as? String != report["storeID"] as? String)
    #expect(try dugout.run("get", folder.path, "users/ada").output.contains("name: \"Ada\""))
  }

  /// Regression: the files of a killed restore prevented another restore.
  @Test func anInterruptedRestoreCanBeRepeated() throws {
    let folder = try TemporaryFolder()
    let targets = try TemporaryFolder()
    try folder.makeStore()
    func write(_ names: [String], to target: String) throws {
      try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
      for name in names { try Data("what is left".utf8).write(to: URL(fileURLWithPath: "\(target)/\(name)")) }
    }
    var wrong: [String] = []
    for left in [["LOCK"], ["LOCK", "BACKUP"], ["LOCK", "BACKUP", "segment-0000000001", "MANIFEST.new"]] {
      let target = "\(targets.path)/left-\(left.count)"
      try write(left, to: target)
      let outcome = try dugout.run("restore", folder.path, target)
      if outcome.status != 0 { wrong.append("\(left): \(outcome)") }
      let document = try dugout.run("get", target, "users/ada")
      if document.status != 0 { wrong.append("\(left): \(document)") }
      if try names(in: target).contains("BACKUP") { wrong.append("\(left): BACKUP is left") }
      let again = try dugout.run("restore", folder.path, target)
      if again.status != 69 || !again.complaint.contains("holds MANIFEST, and a restore never replaces") {
        wrong.append("\(left): \(again)")
      }
    }
    #expect(wrong == [])
    let foreign = "\(targets.path)/my letters"
    let letters = ["LOCK", "letter.txt", "segment-0000000001"]
    try write(letters, to: foreign)
    let outcome = try dugout.run("restore", folder.path, foreign)
    #expect(outcome.status == 69, "\(outcome.output)")
    #expect(outcome.complaint.contains("holds letter.txt, and a restore never replaces anything"))
    #expect(outcome.complaint.contains("(mv '\(foreign)' '\(foreign)-before')"), "\(outcome.complaint)")
    var changed: [String] = []
    let kept = try FileManager.default.contentsOfDirectory(atPath: foreign)
    #expect(kept.contains("letter.txt"))
    for name in kept {
      let contents = FileManager.default.contents(atPath: "\(foreign)/\(name)")
      if !letters.contains(name) || contents != Data("what is left".utf8) { changed.append(name) }
    }
    #expect(changed == [])
  }

  /// Regression: the message explained neither the files that a killed backup had left nor whether the
  /// backup's folder could be reused.
  @Test func anInterruptedBackupIsRepeatedAndReported() throws {
    let folder = try TemporaryFolder()
    let targets = try TemporaryFolder()
    try folder.makeStore()
    func write(_ names: [String], to target: String) throws {
      for name in names {
        let file = URL(fileURLWithPath: "\(target)/\(name)")
        try FileManager.default.createDirectory(
          at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data("what is left".utf8).write(to: file)
      }
    }
    let remark = "\nThe remains of a backup or a restore that was cut off were removed.\n"
    var wrong: [String] = []
    for (place, left) in [["LOCK"], ["LOCK", "BACKUP", "segment-0000000001", "blobs/pack-0000000001"]]
      .enumerated()
    {
      let target = "\(targets.path)/\(place)"
      try write(left, to: target)
      let outcome = try dugout.run("backup", folder.path, target)
      if outcome.status != 0 || outcome.output.hasSuffix(remark) != left.contains("BACKUP") {
        wrong.append("\(left): \(outcome)")
      }
      let document = try dugout.run("get", target, "users/ada")
      if document.status != 0 { wrong.append("\(left): \(document)") }
      let again = try dugout.run("backup", folder.path, target)
      if again.status != 69
        || !again.complaint.contains("holds a store, such as an earlier backup, and a backup never")
      {
        wrong.append("\(left): \(again)")
      }
    }
    #expect(wrong == [])
    let foreign = "\(targets.path)/foreign"
    try write(["LOCK", "BACKUP", "letter.txt"], to: foreign)
    let outcome = try dugout.run("backup", folder.path, foreign)
    #expect(outcome.status == 69)
    #expect(
      outcome.complaint.contains("that was cut off, and also letter.txt, which is not one of its files."),
      "\(outcome.complaint)")
    #expect(FileManager.default.fileExists(atPath: foreign + "/letter.txt"))
    #expect(try dugout.run("stat", foreign).complaint.contains("was cut off before it was complete"))
  }

  @Test func backupToANonEmptyDirectoryIsRefused() throws {
    let folder = try TemporaryFolder()
    let other = try TemporaryFolder()
    try folder.makeStore()
    try Data("mine".utf8).write(to: other.url.appendingPathComponent("letter.txt"))
    let outcome = try dugout.run("backup", folder.path, other.path)
    #expect(outcome.status == 69)
    #expect(outcome.complaint.contains("needs an empty or a new directory"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: other.path) == ["letter.txt"])
  }

  @Test(arguments: ["", "/", "/inside", "/inside/deep", "/../"])
  func backupIntoTheStoreItselfIsAUsageError(suffix: String) throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let before = try names(in: folder.path)
    let target =
      suffix == "/../" ? "\(folder.path)/../\(folder.url.lastPathComponent)/x" : folder.path + suffix
    let outcome = try dugout.run("backup", folder.path, target)
    #expect(outcome.status == 2)
    #expect(outcome.complaint.contains("Choose another directory"))
    #expect(try names(in: folder.path) == before)
  }

  // MARK: Compact

  @Test func compactReclaimsTheSpaceOfDeletedDocuments() throws {
    let folder = try TemporaryFolder()
    try makeLargeStore(folder)
    // This is too little garbage to make a flush start a compaction.
    try delete(0..<5, folder)
    let report = try object(dugout.run("compact", folder.path, "--json"))
    let returned = try #require(report["bytesReturned"] as? Int)
    let dead = try ["deadBytesBefore", "deadBytesAfter"].map { try #require(report[$0] as? Int) }
    #expect(dead[0] > 5 * 50_000 && dead[1] < dead[0] - 5 * 50_000)
    // The log that contains the deletions has been removed, too.
    #expect(returned > dead[0] - dead[1])
    #expect(report["bytesBefore"] as? Int == (report["bytesAfter"] as? Int ?? 0) + returned)
    // The keys are the keys of fifteen documents and the key of their shape.
    #expect(report["keys"] as? Int == 16)
    let again = try dugout.run("compact", folder.path)
    #expect(again.output.contains("as before: there was nothing to reclaim"))
    #expect(try dugout.run("check", folder.path).status == 0)
    #expect(try dugout.run("get", folder.path, "files/19").output.contains("50000 bytes"))
  }

  /// After some crashes, the last object that references a content is deleted, but the content is not.
  @Test func checkFindsAnUnreferencedContentAndCompactRemovesIt() throws {
    let folder = try TemporaryFolder()
    try folder.changeStore { store in
      var random = SeededRandom(seed: 1)
      for name in ["kept", "gone"] {
        let source = UploadSource(file: nil, byteCount: 2 << 20, modified: 0)
        let path = ObjectPath(bucket: "bucket", name: try ObjectName(name))
        let upload = store.objects.upload(to: path, from: source, attributes: ObjectAttributes())
        try upload.append(random.bytes(2 << 20))
        _ = try upload.finish(token: "token")
      }
      let objects = try store.documents(StructuredQuery(.collectionGroup("__objects__")))
      let gone = try #require(objects.first { $0.path.id.hasSuffix("gone") })
      try store.commit([.delete(gone.path)])
    }
    let before = try dugout.run("check", folder.path)
    #expect(before.status == 0, "\(before.complaint)")
    #expect(
      before.output.contains(
        "\n1 content is without an object, as after a crash: \"dugout compact\" removes it. No damage.\n"
      ),
      "\(before.output)")
    #expect(before.output.contains("; 1 object of the storage compared with 2 contents\nNo damage.\n"))
    #expect(try object(dugout.run("check", folder.path, "--json"))["contentsOfNoObject"] as? Int == 1)

    let compact = try object(dugout.run("compact", folder.path, "--json"))
    #expect(compact["contentsBefore"] as? Int == 2 && compact["contentsAfter"] as? Int == 1, "\(compact)")
    #expect(try #require(compact["bytesReturned"] as? Int) > 1 << 20)
    let after = try dugout.run("check", folder.path)
    #expect(!after.output.contains("without an object"), "\(after.output)")
    #expect(after.output.contains("1 object of the storage compared with 1 content\n"), "\(after.output)")
    #expect(after.status == 0)
  }

  /// The contents are small, so many contents share a file.
  @Test func compactRewritesAHalfGarbagePack() throws {
    let folder = try TemporaryFolder()
    try folder.changeStore { store in
      var random = SeededRandom(seed: 2)
      for number in 0..<10 {
        let source = UploadSource(file: nil, byteCount: 100_000, modified: 0)
        let path = ObjectPath(bucket: "bucket", name: try ObjectName("\(number)"))
        let upload = store.objects.upload(to: path, from: source, attributes: ObjectAttributes())
        try upload.append(random.bytes(100_000))
        _ = try upload.finish(token: "token")
      }
      for number in 0..<6 {
        _ = try store.objects.delete(ObjectPath(bucket: "bucket", name: try ObjectName("\(number)")))
      }
    }
    let report = try object(dugout.run("compact", folder.path, "--json"))
    #expect(report["contentsBefore"] as? Int == 4 && report["contentsAfter"] as? Int == 4, "\(report)")
    #expect(try #require(report["bytesReturned"] as? Int) > 500_000, "\(report)")
    let check = try dugout.run("check", folder.path).output
    #expect(check.contains("; 4 objects of the storage compared with 4 contents\nNo damage.\n"), "\(check)")
  }

  /// Unreadable contents must not prevent the compaction of documents.
  @Test func compactContinuesWithoutUnreadableContentsAndReportsThem() throws {
    let folder = try TemporaryFolder()
    try makeLargeStore(folder)
    try delete(0..<5, folder)
    let blobs = folder.path + "/blobs"
    try? FileManager.default.removeItem(atPath: blobs)
    try Data("no folder".utf8).write(to: URL(fileURLWithPath: blobs))
    let outcome = try dugout.run("compact", folder.path, "--json")
    #expect(outcome.status == 69, "\(outcome.complaint)")
    #expect(
      outcome.complaint.contains("contents of files of the storage were not examined to the end: "))
    #expect(outcome.complaint.contains("Documents were compacted."))
    let report = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
    #expect(try #require(report?["bytesReturned"] as? Int) > 5 * 50_000)
  }

  @Test func compactKeepsAnUnreadableSegmentAndReportsIt() throws {
    let folder = try TemporaryFolder()
    try makeLargeStore(folder)
    try delete(0..<5, folder)
    let segment = try #require(try names(in: folder.path).first { $0.hasPrefix("segment-") })
    let file = folder.url.appendingPathComponent(segment)
    var bytes = try Data(contentsOf: file)
    bytes[bytes.count / 2] ^= 1
    try bytes.write(to: file)
    let outcome = try dugout.run("compact", folder.path)
    #expect(outcome.status == 65)
    #expect(outcome.complaint.contains("1 segment could not be read and stayed as it was: \(file.path)"))
    #expect(try names(in: folder.path).contains(segment))
  }
}
