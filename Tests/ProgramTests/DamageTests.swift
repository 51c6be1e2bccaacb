// Every kind of damage to a store, and the message that `dugout check` prints about the damage.

import DocumentStore
import Foundation
import Harness
import ObjectStore
import Testing

@testable import ByteStore
@testable import StoreTools
@testable import dugout

@Suite struct DamageTests {
  private let dugout = Program("dugout")

  /// A kind of damage to a file, and the complete expected message as `sentence(_:of:)` formats it.
  struct Kind: CustomTestStringConvertible, Sendable {
    var name: String
    /// The prefix of the file's name. The first file that matches is damaged.
    var file: String
    /// Text that the file must contain.
    var text = ""
    var damage: @Sendable (_ file: URL, _ other: URL) throws -> Void
    var said: String
    /// Whether the file contains contents of objects, which a salvage does not repair.
    var isInContent = false

    var testDescription: String { name }
  }

  private static func flip(_ place: @escaping @Sendable (Int) -> Int) -> @Sendable (URL, URL) throws -> Void {
    { file, _ in
      var bytes = try Data(contentsOf: file)
      bytes[place(bytes.count)] ^= 0x10
      try bytes.write(to: file)
    }
  }

  static let kinds: [Kind] = [
    Kind(
      name: "a bit of the manifest flips", file: "MANIFEST", damage: flip { _ in 70 },
      said: "STORE/MANIFEST at byte N: expected checksum N, found another"),
    Kind(
      name: "the manifest is gone", file: "MANIFEST", damage: remove,
      said: "STORE/MANIFEST at byte N: expected a manifest, as there is checkpoint-N, found no such file, "
        + "or none to read"),
    Kind(
      name: "the manifest is cut short", file: "MANIFEST",
      damage: { file, _ in try Data(contentsOf: file).prefix(100).write(to: file) },
      said: "STORE/MANIFEST at byte N: expected N bytes, as it lists N logs and N segment, found N bytes"),
    Kind(
      name: "a bit of a log's commit flips", file: "log-", text: "later",
      damage: { file, _ in
        var bytes = try Data(contentsOf: file)
        bytes[try #require(bytes.firstRange(of: Data("later".utf8))).lowerBound] ^= 0x10
        try bytes.write(to: file)
      }, said: "STORE/log-N at byte N: expected a frame, as the log continues, found none up to byte N"),
    Kind(
      name: "a bit after a log's frame flips", file: "log-", damage: flip { _ in 4096 + 40 },
      said: "STORE/log-N at byte N: expected zeros up to byte N, found something else"),
    Kind(
      name: "a bit of a segment's document flips", file: "segment-", damage: flip { $0 / 2 },
      said: "STORE/segment-N at byte N: expected a page that matches its checksum, found bytes that do not"),
    Kind(
      name: "a page of a segment is zeros", file: "segment-",
      damage: { file, _ in
        var bytes = try Data(contentsOf: file)
        bytes.resetBytes(in: bytes.count - 8192..<bytes.count - 4096)
        try bytes.write(to: file)
      },
      said: "STORE/segment-N at byte N: expected a page that matches its checksum, found bytes that do not"),
    Kind(
      name: "a segment is cut short", file: "segment-",
      damage: { file, _ in
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: 4096)
        try handle.close()
      }, said: "STORE/segment-N at byte N: expected a header page of N bytes, found N bytes"),
    Kind(
      name: "a segment is gone", file: "segment-", damage: remove,
      said: "STORE/segment-N at byte N: expected a segment that the manifest names, found no such file, "
        + "or none to read"),
    Kind(
      name: "a bit of the checkpoint flips", file: "checkpoint-", damage: flip { $0 / 2 },
      said: "STORE/checkpoint-N at byte N: expected a page with checksum N, found N"),
    Kind(
      name: "a file of another store lies in its place", file: "log-",
      damage: { file, other in
        try FileManager.default.removeItem(at: file)
        try FileManager.default.copyItem(at: other, to: file)
      }, said: "STORE/log-N at byte N: expected store ID, found store ID"),
    Kind(
      name: "a bit of a small content flips", file: "blobs/pack-", damage: flip { $0 - 100 },
      said: "STORE/blobs/pack-N at byte N: expected a content with checksum N, found something else",
      isInContent: true),
    Kind(
      name: "a bit of a large content flips", file: "blobs/blob-", damage: flip { $0 / 2 },
      said: "STORE/blobs/blob-ID at byte N: expected a chunk with checksum N, found something else",
      isInContent: true),
    Kind(
      name: "a large content is gone", file: "blobs/blob-", damage: remove,
      said: "STORE/blobs/blob-ID at byte N: expected a content that a record names, found no such file",
      isInContent: true),
  ]

  private static let remove: @Sendable (URL, URL) throws -> Void = { file, _ in
    try FileManager.default.removeItem(at: file)
  }

  /// Removes the parts that vary between runs: the store's path, ids, digests and numbers.
  private static func sentence(_ line: some StringProtocol, of store: String) -> String {
    String(line).replacing(store, with: "STORE").replacing(#/\b[0-9a-f]{32,64}\b/#, with: "ID")
      .replacing(#/\d+/#, with: "N")
  }

  @Test(arguments: kinds) func everyKindOfDamageIsReportedWithItsLocation(kind: Kind) throws {
    let folder = try TemporaryFolder()
    let other = try TemporaryFolder()
    try makeStore(folder)
    try makeStore(other)
    let sound = try dugout.run("check", folder.path)
    try #require(
      sound.status == 0 && sound.output.hasSuffix("No damage.\n"), "\(sound.output)\(sound.complaint)")
    let all = try names(in: folder.path)
    let (path, url) = (folder.path, folder.url)
    let first = try all.first { name in
      guard name.hasPrefix(kind.file) else { return false }
      let bytes = try Data(contentsOf: url.appendingPathComponent(name))
      return kind.text.isEmpty || bytes.firstRange(of: Data(kind.text.utf8)) != nil
    }
    let file = try #require(first, "no \(kind.file) in \(all)")
    // The logs of the two stores may have different numbers.
    let others = try names(in: other.path)
    let foreign = try #require(others.first { $0.hasPrefix(kind.file) }, "no \(kind.file) in \(others)")
    try kind.damage(folder.url.appendingPathComponent(file), other.url.appendingPathComponent(foreign))
    let before = try contents(of: folder.path)

    let outcome = try dugout.run("check", folder.path)
    #expect(outcome.status == 1, "\(outcome.output)\(outcome.complaint)")
    let findings = outcome.output.split(separator: "\n").filter { $0.contains(" at byte ") }
    #expect(findings.first?.hasPrefix("\(path)/\(file) at byte ") == true, "\(outcome.output)")
    #expect(findings.map { Self.sentence($0, of: path) } == [kind.said])
    let advice =
      kind.isInContent
      ? ". 1 content is damaged: upload the objects again, or restore a backup; salvage does not repair contents."
      : "; \"dugout salvage\" recovers what can be read."
    #expect(
      outcome.complaint
        == "dugout check: \(path) is damaged in 1 place. Copy the directory before anything else"
        + "\(advice)\n")
    if kind.isInContent {
      let object = file.hasPrefix("blobs/pack-") ? "small" : "large"
      #expect(outcome.output.contains("the content of the object bucket/\(object) is damaged\n"))
      #expect(!outcome.output.contains("No damage."))
    }
    #expect(try contents(of: folder.path) == before)

    let report = try #require(
      try JSONSerialization.jsonObject(with: Data(dugout.run("check", folder.path, "--json").output.utf8))
        as? [String: Any])
    let objects = try #require(report["findings"] as? [[String: Any]])
    #expect(report["sound"] as? Bool == false)
    #expect(objects.map { $0["file"] as? String } == ["\(path)/\(file)"], "\(objects)")
  }

  /// Regression: a check wrote its process id to the lock file. It failed on read-only media, and for a copy
  /// without permissions to write.
  @Test func checkWritesNothingAndNeedsNoPermissionToWrite() throws {
    let folder = try TemporaryFolder()
    try makeStore(folder)
    let (path, lock) = (folder.path, folder.path + "/LOCK")
    // The test compares contents, because some users can write despite read-only permissions.
    try Data("1\n".utf8).write(to: URL(fileURLWithPath: lock))
    let paths = try names(in: path).map { "\(path)/\($0)" } + [path]
    func setModes(ofFiles files: mode_t, ofFolders folders: mode_t) -> [String] {
      paths.filter { path in
        var isFolder: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        return exists && chmod(path, isFolder.boolValue ? folders : files) != 0
      }
    }
    defer { _ = setModes(ofFiles: 0o600, ofFolders: 0o700) }
    let before = try contents(of: path)
    #expect(setModes(ofFiles: 0o400, ofFolders: 0o500) == [])
    let outcome = try dugout.run("check", path)
    #expect(outcome.status == 0 && outcome.output.hasSuffix("No damage.\n"), "\(outcome.complaint)")
    #expect(FileManager.default.contents(atPath: lock) == Data("1\n".utf8))
    // A store that was only restored from a copy has no lock file.
    #expect(chmod(path, 0o700) == 0)
    try FileManager.default.removeItem(atPath: lock)
    #expect(chmod(path, 0o500) == 0)
    let unlocked = try dugout.run("check", path)
    #expect(unlocked.status == 0 && unlocked.output == outcome.output, "\(unlocked.complaint)")
    #expect(!FileManager.default.fileExists(atPath: lock))
    #expect(try contents(of: path) == before)
  }

  /// Regression: the check recommended a salvage because of damaged contents. The salvage found nothing to
  /// do, and the next check recommended a salvage again.
  @Test func damageOfDocumentsAndOfContentsIsDistinguished() throws {
    let folder = try TemporaryFolder()
    try makeStore(folder)
    for name in try names(in: folder.path + "/blobs") {
      try FileManager.default.removeItem(atPath: folder.path + "/blobs/" + name)
    }
    let contents = try dugout.run("check", folder.path)
    #expect(contents.status == 1)
    #expect(contents.complaint.contains("2 contents are damaged: upload the objects again"))
    #expect(!contents.complaint.contains("dugout salvage"), "\(contents.complaint)")
    #expect(
      ["small", "large"].filter { !contents.output.contains("object bucket/\($0) is damaged") } == [],
      "\(contents.output)")
    let healthy = try dugout.run("salvage", folder.path)
    #expect(healthy.status == 0 && healthy.output.contains("The documents are sound: nothing was done."))
    #expect(healthy.output.contains("\"dugout check\" does."))
    let checkpoint = try #require(try names(in: folder.path).first { $0.hasPrefix("checkpoint-") })
    try Self.flip { $0 / 2 }(folder.url.appendingPathComponent(checkpoint), folder.url)
    let both = try dugout.run("check", folder.path)
    #expect(
      both.complaint.contains("\"dugout salvage\" recovers what can be read. 2 contents are damaged"))
  }

  @Test func aStoreInAFolderNamedBlobsIsNotMistakenForContents() {
    #expect(Damage.isInContent("/a/blobs/pack-0000000001"))
    #expect(!Damage.isInContent("/a/blobs/segment-0000000001"))
    #expect(!Damage.isInContent("/a/pack-0000000001"))
  }

  /// Regression: after a salvage that lost most values, a script could detect neither the lost values nor the
  /// lost declared indexes.
  @Test func aSalvageReportsLossesAndDeclaredIndexes() throws {
    let folder = try TemporaryFolder()
    try makeStore(folder)
    // The last page belongs to an index, so the damage loses no data.
    let checkpoint = try #require(try names(in: folder.path).first { $0.hasPrefix("checkpoint-") })
    try Self.flip { $0 - 2000 }(folder.url.appendingPathComponent(checkpoint), folder.url)
    let whole = try dugout.run("salvage", folder.path)
    #expect(whole.status == 0 && whole.complaint.isEmpty, "\(whole.output)\(whole.complaint)")
    let advice =
      "1 declared index is left out. To recreate it:\n  dugout index create \(folder.path) users number\n"
    #expect(whole.output.contains("The store opens again. ") && whole.output.hasSuffix("\n" + advice))
    #expect(try dugout.run("index", "list", folder.path).output == "no indexes except that of the names\n")
    #expect(try dugout.run("index", "create", folder.path, "users", "number").status == 0)
    let segment = try #require(try names(in: folder.path).first { $0.hasPrefix("segment-") })
    try FileManager.default.removeItem(atPath: "\(folder.path)/\(segment)")
    let lossy = try dugout.run("salvage", folder.path, "--json")
    #expect(lossy.status == 1, "\(lossy.output)")
    #expect(lossy.complaint.contains("but not all of it is as it was: "), "\(lossy.complaint)")
    #expect(lossy.complaint.contains(" values are lost") && lossy.complaint.contains("A backup may have"))
    let report = try #require(
      try JSONSerialization.jsonObject(with: Data(lossy.output.utf8)) as? [String: Any])
    #expect(report["complete"] as? Bool == false)
    let indexes = try #require(report["declaredIndexes"] as? [[String: String]])
    #expect(indexes.map { $0["command"] } == ["dugout index create \(folder.path) users number"])
    let healthy = try dugout.run("salvage", folder.path, "--json")
    #expect(healthy.status == 0 && healthy.output.contains("\"complete\":true"), "\(healthy.output)")
  }

  /// Regression: a log of random bytes became an empty store, and the exit code reported success.
  @Test(arguments: [[], ["--json"]] as [[String]])
  func aSalvageThatFindsNothingReportsIt(options: [String]) throws {
    var random = SeededRandom(seed: 1)
    let bytes = Data(random.bytes(100_000))
    let folder = try TemporaryFolder()
    try bytes.write(to: folder.url.appendingPathComponent("log-0000000001"))
    let outcome = try dugout.run(["salvage", folder.path] + options)
    #expect(outcome.status == 1, "\(outcome.output)")
    #expect(outcome.complaint.contains("nothing readable was found: the store opens again, and"))
    let said = options.isEmpty ? "The store opens again. It is empty." : "\"complete\":false"
    #expect(outcome.output.contains(said), "\(outcome.output)")
    #expect(try dugout.run("ls", folder.path).output == "no collections\n")
    let healthy = try dugout.run("salvage", folder.path)
    #expect(healthy.status == 0 && healthy.output.contains("was done. 0 records."), "\(healthy.output)")
  }

  /// Regression: the current log, which contained an acknowledged commit, was missing, and the exit code
  /// reported success.
  @Test func aSalvageReportsAMissingCurrentLog() throws {
    let folder = try TemporaryFolder()
    let copies = try TemporaryFolder()
    try folder.makeStore()
    let store = try DocumentStore.open(folder.path)
    try store.commit([.set(try DocumentPath(["users", "bob"]), StoredMap([("name", .string("Bob"))]))])
    // This copy equals a store after a crash: the copy's log is not closed.
    let copy = copies.path + "/store"
    try FileManager.default.copyItem(atPath: folder.path, toPath: copy)
    try store.close()
    let log = try #require(try names(in: copy).last { $0.hasPrefix("log-") })
    try FileManager.default.removeItem(atPath: "\(copy)/\(log)")
    let outcome = try dugout.run("salvage", copy)
    #expect(outcome.status == 1, "\(outcome.output)\(outcome.complaint)")
    #expect(
      outcome.output.contains("\(copy)/\(log): the log that was in use is not there"), "\(outcome.output)")
    #expect(outcome.complaint.contains("not all of it is as it was: a log is incomplete. A backup may have"))
    #expect(try dugout.run("query", copy, "users", "--count").output == "count  1\n")
  }

  /// Regression: "nothing was found" was printed for a store whose checkpoint recorded the number of lost
  /// values. The same message was printed for an empty store that was read completely.
  @Test func theSalvageReportOfAnEmptyStoreIsTrue() throws {
    func said(_ change: (inout SalvageReport) -> Void) -> String? {
      var report = SalvageReport(outcome: .salvaged)
      report.filesRead = 2
      report.checkpoint = .whole
      change(&report)
      return SalvageCommand.loss(report, in: "/there/is/nothing")
    }
    #expect(said { $0.filesRead = 0 }?.hasPrefix("nothing readable was found: ") == true)
    #expect(said { _ in } == nil)
    #expect(said { $0.entriesLost = 0 } == nil)
    #expect(
      said { $0.entriesLost = 5 }
        == "the store opens again, but it is empty: 5 values are lost. A backup may have the data.")
    #expect(
      said { $0.checkpoint = .none }
        == "the store opens again, but it is empty: how many values are lost is unknown. A backup may "
        + "have the data.")
    #expect(said { $0.commitsMissing = [1...3] }?.contains("empty: 3 commits were not found. A") == true)
    let folder = try TemporaryFolder()
    try folder.changeStore { _ in }
    let reserve = folder.path + "/RESERVE"
    try? FileManager.default.removeItem(atPath: reserve)
    try FileManager.default.createDirectory(atPath: reserve, withIntermediateDirectories: false)
    let outcome = try dugout.run("salvage", folder.path)
    #expect(outcome.status == 0 && outcome.complaint.isEmpty, "\(outcome.output)\(outcome.complaint)")
    #expect(outcome.output.contains("The documents are sound, and stay where they are."), "\(outcome.output)")
    #expect(outcome.output.contains("set aside: set-aside-0001-RESERVE"), "\(outcome.output)")
  }

  /// Regression: a store lost the records of its files, and the next app that opened the store deleted the
  /// contents of these files.
  @Test func aSalvageWarnsOfContentsWithoutRecords() throws {
    let folder = try TemporaryFolder()
    try makeStore(folder)
    for name in try names(in: folder.path) where name.hasPrefix("segment-") {
      try FileManager.default.removeItem(atPath: "\(folder.path)/\(name)")
    }
    let outcome = try dugout.run("salvage", folder.path)
    #expect(outcome.status == 1)
    let warning = "Contents of files are still in \(folder.path)/blobs. An app"
    #expect(outcome.complaint.contains(warning), "\(outcome.complaint)")
    // An interrupted salvage does not know whether records are lost.
    let completed = SalvageCommand.loss(SalvageReport(outcome: .completed), in: folder.path)
    #expect(completed?.contains("Compare it with a backup. \(warning)") == true, "\(completed ?? "")")
  }

  /// The printed command creates the same index.
  @Test(arguments: [
    ["city"], ["city:desc"], ["city", "age:desc"], ["city:desc", "age"], ["city:desc", "age:desc"],
    ["tags[]", "age:desc"], ["`a:b`:desc", "`it's`.`x y`[]"], ["city", "age:desc", "__name__"],
    ["city:desc", "age", "__name__:desc"],
  ])
  func anIndexIsPrintedAsItsCreateCommand(words: [String]) throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    #expect(try dugout.run(["index", "create", folder.path, "my users"] + words + ["--group"]).status == 0)
    let path = folder.path
    func index() throws -> IndexDefinition {
      let store = try DocumentStore.open(path)
      let index = try #require(store.indexList.first { !$0.isAutomatic }).definition
      try store.close()
      return index
    }
    let created = try index()
    let command = try #require(IndexCommand.command(created, in: path))
    let list = try dugout.run("index", "list", folder.path)
    try FileManager.default.removeItem(atPath: folder.path)
    try folder.makeStore()
    let again = try Program(path: "/bin/sh").run(
      "-c", command.replacing("dugout", with: ShellWord.alwaysQuoted(dugout.path), maxReplacements: 1))
    #expect(again.status == 0, "\(command): \(again.complaint)")
    #expect(try index() == created, "\(command)")
    #expect(try dugout.run("index", "list", folder.path).output == list.output)
  }

  /// If a command finds damage, the command prints advice and changes nothing.
  @Test func everyCommandThatMeetsDamageGivesAdvice() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    try makeStore(folder)
    let file = try #require(try names(in: folder.path).first { $0.hasPrefix("MANIFEST") })
    try Self.flip { _ in 70 }(folder.url.appendingPathComponent(file), folder.url)
    let before = try contents(of: folder.path)
    // An unknown number is not printed as zero.
    let check = try dugout.run("check", folder.path)
    #expect(check.status == 1 && check.output.contains("the number of records is unknown"))
    #expect(
      !check.output.contains(" 0 records") && !check.output.contains("last commit 0"), "\(check.output)")
    var wrong: [String] = []
    for arguments in [
      ["get", folder.path, "users/1"], ["ls", folder.path], ["query", folder.path, "users"],
      ["set", folder.path, "a/b", "{}"], ["update", folder.path, "users/1", "a=1"],
      ["delete", folder.path, "users/1"], ["explain", folder.path, "users"],
      ["index", "list", folder.path], ["export", folder.path, "-"], ["stat", folder.path],
      ["watch", folder.path],
      ["backup", folder.path, files.path + "/backup"], ["restore", folder.path, files.path + "/restored"],
      ["compact", folder.path], ["shell", folder.path],
    ] {
      let outcome = try dugout.run(arguments, input: "")
      if outcome.status != 65 || !outcome.complaint.contains("\(file) is damaged at byte")
        || !outcome.complaint.contains("\"dugout salvage\" recovers what can be read")
      {
        wrong.append("\(arguments): \(outcome)")
      }
    }
    #expect(wrong == [])
    #expect(try contents(of: folder.path) == before)
  }

  // MARK: A store with everything

  /// Creates a store with documents in segments, in a log and in an index. One content is in a pack, and
  /// another content is in its own file.
  private func makeStore(_ folder: borrowing TemporaryFolder) throws {
    var random = SeededRandom(seed: UInt64(bitPattern: Int64(folder.path.hashValue)))
    try folder.changeStore { store in
      for number in 0..<200 {
        let text = Data(random.bytes(225)).base64EncodedString()
        let fields = StoredMap([("number", .integer(Int64(number))), ("text", .string(text))])
        try store.commit([.set(try DocumentPath(["users", "\(number)"]), fields)])
      }
      for (name, count) in [("small", 5000), ("large", 2 << 20)] {
        let source = UploadSource(file: nil, byteCount: UInt64(count), modified: 0)
        let path = ObjectPath(bucket: "bucket", name: try ObjectName(name))
        let upload = store.objects.upload(to: path, from: source, attributes: ObjectAttributes())
        try upload.append(random.bytes(count))
        _ = try upload.finish(token: "token")
      }
      try store.createIndex(
        IndexDefinition("users", .collection, [IndexDefinition.Field(StoredFieldPath(dotted: "number"))]))
      try store.compact()
    }
    try folder.changeStore { store in
      for number in 0..<3 {
        let fields = StoredMap([("text", .string(String(repeating: "later", count: 50)))])
        try store.commit([.set(try DocumentPath(["later", "\(number)"]), fields)])
      }
    }
  }

  private func names(in directory: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: directory).sorted()
  }

  private func contents(of directory: String) throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for name in try names(in: directory) where name != "LOCK" {
      contents[name] = FileManager.default.contents(atPath: directory + "/" + name)
    }
    return contents
  }
}
