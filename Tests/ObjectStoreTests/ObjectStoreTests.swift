// Objects and their contents: stored once, listed in order, and swept.

import ByteStore
import DocumentStore
import Harness
import StoreTools
import Testing

@testable import ObjectStore

struct ObjectStoreTests {
  private let disk = SimulatedDisk()

  private func open(_ disk: SimulatedDisk? = nil) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.blobs.packedBytesMax = 2000
    options.blobs.packBytesMax = 20_000
    let disk = disk ?? self.disk
    return try DocumentStore.open(
      "/store", options: options, platform: disk.platform(seed: UInt64(disk.counters.operations) + 1))
  }

  private func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return random.bytes(count)
  }

  private func path(_ name: String) throws -> ObjectPath {
    ObjectPath(bucket: "bucket", name: try ObjectName(name))
  }

  @discardableResult
  private func put(
    _ bytes: [UInt8], _ name: String, in store: DocumentStore,
    _ attributes: ObjectAttributes = ObjectAttributes()
  ) throws -> StoredObject {
    let source = UploadSource(file: nil, byteCount: UInt64(bytes.count), modified: 0)
    let upload = store.objects.upload(to: try path(name), from: source, attributes: attributes)
    try upload.append(bytes)
    return try upload.finish(token: "token")
  }

  private func content(_ name: String, in store: DocumentStore) throws -> [UInt8]? {
    try store.objects.content(at: try path(name))?.reader.readAll()
  }

  /// Guards against discarding uploaded bytes in favor of a damaged copy.
  @Test(arguments: [500, 50_000]) func anUploadReplacesADamagedCopy(count: Int) throws {
    let store = try open()
    try put(bytes(count), "a", in: store)
    let folder = try disk.openDirectory("/store/blobs")
    for name in try folder.names() {
      let file = try folder.openFile(name, .readAndWrite)
      let size = try file.size()
      let junk = [UInt8](repeating: 0xAA, count: 64)
      _ = try file.write(junk.rawSpan, at: count < 2000 ? size - 200 : size / 2)
      file.close()
    }
    #expect(throws: (any Error).self) { _ = try content("a", in: store) }
    try put(bytes(count), "b", in: store)
    #expect(try content("a", in: store) == bytes(count) && content("b", in: store) == bytes(count))
    try store.objects.sweep(.everything)
    #expect(try content("a", in: store) == bytes(count))
    try store.close()
    #expect(try content("b", in: open()) == bytes(count))
  }

  @Test func damageFoundByAReadIsRecordedUntilAnIntactCopyIsStored() throws {
    let store = try open()
    let object = try put(bytes(3 << 20), "a", in: store)
    #expect(!store.objects.isKnownDamaged(object.blob))
    let folder = try disk.openDirectory("/store/blobs")
    for name in try folder.names() {
      let file = try folder.openFile(name, .readAndWrite)
      let junk = [UInt8](repeating: 0xAA, count: 64)
      _ = try file.write(junk.rawSpan, at: 2 << 20)
      file.close()
    }
    #expect(throws: (any Error).self) { _ = try content("a", in: store) }
    #expect(store.objects.isKnownDamaged(object.blob))
    try put(bytes(3 << 20), "b", in: store)
    #expect(!store.objects.isKnownDamaged(object.blob))
    #expect(try content("a", in: store) == bytes(3 << 20))
  }

  /// Overwrites bytes in the middle of each content that begins on the first page of its file.
  private func damage(_ count: Int) throws {
    let folder = try disk.openDirectory("/store/blobs")
    for name in try folder.names() {
      let file = try folder.openFile(name, .readAndWrite)
      let junk = [UInt8](repeating: 0xAA, count: 64)
      _ = try file.write(junk.rawSpan, at: UInt64(4096 + count / 2))
      file.close()
    }
  }

  /// Guards against trusting a copy whose damage another process has found. After a check reports the damage,
  /// a new upload must replace the content.
  @Test(arguments: [1500, 50_000, 3 << 20])
  func anUploadReplacesACopyWithUndetectedDamage(count: Int) throws {
    let store = try open()
    try put(bytes(count), "a", in: store)
    try store.close()
    try damage(count)
    let again = try open()
    try put(bytes(count), "b", in: again)
    #expect(try content("a", in: again) == bytes(count) && content("b", in: again) == bytes(count))
    #expect(try again.damagedObjects().isEmpty)
    try again.close()
    #expect(try content("a", in: open()) == bytes(count))
  }

  @Test func aContentUploadedRepeatedlyIsVerifiedOnce() throws {
    let store = try open()
    try put(bytes(500_000), "a", in: store)
    func bytesRead(_ name: String) throws -> Int {
      let before = disk.counters.bytesRead
      try put(bytes(500_000), name, in: store)
      return disk.counters.bytesRead - before
    }
    #expect(try bytesRead("b") > 500_000)
    #expect(try bytesRead("c") < 100_000)
    #expect(try bytesRead("d") < 100_000)
  }

  /// Guards against verifying a backup against a damaged original.
  @Test(arguments: [1500, 50_000]) func aStoreWithADamagedContentIsNotBackedUp(count: Int) throws {
    let store = try open()
    try put(bytes(count), "a", in: store)
    try damage(count)
    try put(bytes(100), "b", in: store)
    do throws(DocumentStoreError) {
      try store.backup(to: "/copy")
      Issue.record("it was made")
    } catch {
      guard case .corrupted(let evidence) = error else {
        Issue.record("\(error)")
        return
      }
      // The reported file belongs to the store, not to the removed backup.
      #expect(evidence.file?.hasPrefix("/store/blobs/") == true)
    }
    #expect(try disk.openDirectory("/copy").names().allSatisfy { $0 == "LOCK" || $0 == "blobs" })
    // Once the damaged content is unreferenced, it does not prevent a backup.
    #expect(try store.objects.delete(path("a")))
    try store.backup(to: "/copy")
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let copy = try DocumentStore.open("/copy", options: options, platform: disk.platform(seed: 9))
    #expect(try content("b", in: copy) == bytes(100))
    #expect(try copy.damagedObjects().isEmpty)
  }

  /// Guards against trusting an earlier verification after a backup has found damage.
  @Test(arguments: [1500, 50_000]) func aContentFoundDamagedByABackupIsReplacedByTheNextUpload(count: Int)
    throws
  {
    let store = try open()
    for name in ["a", "b"] { try put(bytes(count), name, in: store) }
    try damage(count)
    #expect(throws: DocumentStoreError.self) { try store.backup(to: "/copy") }
    try put(bytes(count), "c", in: store)
    try store.backup(to: "/copy")
    let wrong = try ["a", "b", "c"].filter { try content($0, in: store) != bytes(count) }
    #expect(wrong == [])
  }

  /// Guards against statistics that omit contents with files of their own.
  @Test func contentsAndTheirSizeAreCounted() throws {
    let store = try open()
    #expect(try store.contentStatistics().contents == 0 && store.contentStatistics().bytes == 0)
    for name in ["a", "b"] { try put(bytes(50_000), name, in: store) }
    try put(bytes(500), "c", in: store)
    let statistics = try store.contentStatistics()
    #expect(statistics.contents == 2 && statistics.files == 2)
    #expect(try statistics.bytes == store.objects.blobs.usage().bytes && statistics.bytes > 50_000)
  }

  @Test func equalContentsAreStoredOnce() throws {
    let store = try open()
    let (large, small) = (bytes(50_000), bytes(500))
    try put(large, "first", in: store)
    try put(small, "small", in: store)
    let before = try store.objects.blobs.usage().bytes
    for number in 0..<200 {
      try put(large, "copy \(number)", in: store)
      try put(small, "small \(number)", in: store)
    }
    #expect(try store.objects.blobs.usage().bytes == before)
    let missing = try (0..<200).filter { try !store.objects.delete(path("copy \($0)")) }
    #expect(missing == [])
    #expect(try content("first", in: store) == large)
    #expect(try store.objects.delete(path("first")))
    #expect(try store.objects.blobs.inventory().blobs.isEmpty)
    #expect(try content("small", in: store) == small)
  }

  @Test func anOpenReaderSurvivesDeletionAndOverwriteOfItsObject() throws {
    let store = try open()
    try put(bytes(700_000), "a", in: store)
    let (_, reader) = try #require(try store.objects.content(at: path("a")))
    try put(bytes(10), "a", in: store)
    #expect(try store.objects.delete(path("a")))
    #expect(try reader.readAll() == bytes(700_000))
    #expect(try content("a", in: store) == nil)
  }

  @Test func generationsGrowAcrossOverwritesAndDeletes() throws {
    let store = try open()
    var last: Int64 = 0
    var wrong: [String] = []
    for round in 0..<6 {
      let object = try put(bytes(round), "a", in: store)
      if object.generation <= last { wrong.append("round \(round): \(object.generation) after \(last)") }
      let found = try store.objects.object(at: path("a"))
      if found != object { wrong.append("round \(round): \(String(describing: found)), not \(object)") }
      last = object.generation
      if round % 2 == 1 { _ = try store.objects.delete(path("a")) }
    }
    #expect(wrong == [])
  }

  @Test func attributeUpdatesKeepTheContent() throws {
    let store = try open()
    let first = try put(bytes(100), "a", in: store)
    let second = try #require(try store.objects.update(path("a")) { $0.custom["__x__"] = "value" })
    #expect(second.metageneration == 2)
    #expect(second.generation == first.generation)
    #expect(second.changed > first.changed)
    #expect(try store.objects.object(at: path("a")) == second)
    #expect(try store.objects.update(path("missing")) { _ in } == nil)
  }

  // MARK: Lists

  @Test func listsEqualAScanOfAllNames() throws {
    let store = try open()
    var random = SeededRandom(seed: 4)
    var names = Set<String>()
    let parts = ["a", "a-", "a.", "a0", "b", "ä", "-", "x y", "z!"]
    for _ in 0..<120 {
      let name = (0...random.below(3)).map { _ in parts[random.below(parts.count)] }.joined(separator: "/")
      if names.insert(name).inserted { try put(bytes(3), name, in: store) }
    }
    var wrong: [String] = []
    for folder in ["", "a", "a-", "b/a", "nowhere"] {
      let prefix = folder.isEmpty ? "" : folder + "/"
      var items: [String] = []
      var folders: [String] = []
      for name in names where name.hasPrefix(prefix) {
        let rest = name.dropFirst(prefix.count)
        if let slash = rest.firstIndex(of: "/") {
          let sub = prefix + rest[..<slash]
          if !folders.contains(sub) { folders.append(sub) }
        } else {
          items.append(name)
        }
      }
      func ordered(_ texts: [String], _ end: String) -> [String] {
        texts.sorted { Array(($0 + end).utf8).lexicographicallyPrecedes(Array(($1 + end).utf8)) }
      }
      for limit in [1, 2, 7, 1000] {
        var found = ObjectPage()
        repeat {
          let page = try store.objects.list(bucket: "bucket", folder: folder, from: found.next, limit: limit)
          if page.count > limit { wrong.append("\(page.count) entries of \(folder), \(limit) at a time") }
          found.items += page.items
          found.folders += page.folders
          found.next = page.next
        } while found.next != nil
        if found.items != ordered(items, "") {
          wrong.append("items of \(folder), \(limit) at a time: \(found.items)")
        }
        if found.folders != ordered(folders, "/") {
          wrong.append("folders of \(folder), \(limit) at a time: \(found.folders)")
        }
      }
    }
    #expect(wrong == [])
  }

  // MARK: Objects and documents

  @Test func objectsAreNotUserDocuments() throws {
    let store = try open()
    let document = try DocumentPath(["rooms", "eros"])
    try store.commit([.set(document, StoredMap([("a", .integer(1))]))])
    try put(bytes(100), "a", in: store)
    #expect(store.count == 1)
    try store.checkInvariants()
    #expect(throws: PathError.self) { try DocumentPath(["__blobs__", "x"]) }
    try store.close()
    let again = try open()
    #expect(again.count == 1)
    try again.checkInvariants()
    #expect(try content("a", in: again) == bytes(100))
  }

  @Test func theChangeFeedOmitsObjects() throws {
    let store = try open()
    let consumer = try store.feedConsumer("reader")
    try put(bytes(100), "a", in: store)
    try store.commit([.set(DocumentPath(["rooms", "eros"]), StoredMap([("a", .integer(1))]))])
    #expect(try consumer.read().count == 1)
  }

  // MARK: Uploads

  @Test func aStagedPartIsListedResumedAndCancelled() throws {
    let store = try open()
    let content = bytes(700_000)
    let source = UploadSource(file: "/somewhere", byteCount: 700_000, modified: 5)
    let upload = store.objects.upload(to: try path("a"), from: source, attributes: ObjectAttributes())
    try upload.append(Array(content.prefix(600_000)))
    try upload.persist()
    #expect(try store.objects.uploads().count == 1)
    #expect(try store.objects.cancel(store.objects.uploads()[0]) == false)
    upload.leave()
    try store.close()
    let again = try open()
    let stored = try #require(try again.objects.uploads(inBucket: "bucket").first)
    #expect(stored.source == source)
    #expect(stored.path == (try path("a")))
    var staged: [UInt8] = []
    let resumed = try #require(try again.objects.resume(stored) { staged += $0 })
    #expect(staged == Array(content.prefix(2 * (256 << 10))))
    #expect(try again.objects.resume(stored) { _ in } == nil)
    try resumed.append(Array(content.dropFirst(staged.count)))
    let object = try resumed.finish(token: "token")
    #expect(try again.objects.uploads().isEmpty)
    #expect(try self.content("a", in: again) == content)
    #expect(object.md5 == (try put(content, "b", in: again).md5))
  }

  @Test func anUploadIsSweptAfterSevenDays() throws {
    let clock = SimulatedClock()
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let platform = Platform(fileSystem: disk, clock: clock, random: SimulatedRandomSource(seed: 1))
    let store = try DocumentStore.open("/store", options: options, platform: platform)
    let source = UploadSource(file: nil, byteCount: 10, modified: 0)
    let upload = store.objects.upload(to: try path("a"), from: source, attributes: ObjectAttributes())
    try upload.append(bytes(300_000))
    try upload.persist()
    upload.leave()
    let day: UInt64 = 24 * 60 * 60 * 1_000_000_000
    clock.advance(nanoseconds: 6 * day)
    #expect(try store.objects.sweep(.names).uploads == 0)
    #expect(try store.objects.uploads().count == 1)
    clock.advance(nanoseconds: 2 * day)
    #expect(try store.objects.sweep(.names).uploads == 1)
    #expect(try store.objects.uploads().isEmpty)
    #expect(try store.objects.blobs.inventory().staged.isEmpty)
  }

  // MARK: Sweeps

  @Test func aSweepEmptiesAMostlyGarbagePack() throws {
    let store = try open()
    for number in 0..<60 { try put(bytes(1500, seed: UInt64(number) + 1), "\(number)", in: store) }
    let full = try store.objects.blobs.usage().bytes
    for number in 0..<60 where number % 6 != 0 { _ = try store.objects.delete(path("\(number)")) }
    let swept = try store.objects.sweep(.everything)
    #expect(swept.packs > 0 && swept.moved > 0)
    #expect(try store.objects.blobs.usage().bytes < full / 2)
    let wrong = try (0..<60).filter { number in
      let expected = number % 6 == 0 ? bytes(1500, seed: UInt64(number) + 1) : nil
      return try content("\(number)", in: store) != expected
    }
    #expect(wrong == [])
    try store.checkInvariants()
  }

  @Test func concurrentUploadsOfTheSameContentsLoseNone() async throws {
    let store = try open()
    let contents = (0..<4).map { bytes(1000 + 2000 * $0, seed: UInt64($0) + 1) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<8 {
        group.addTask {
          var random = SeededRandom(seed: UInt64(worker))
          for _ in 0..<40 {
            let name = "\(random.below(6))"
            if random.oneIn(3) {
              _ = try store.objects.delete(path(name))
            } else {
              try put(contents[random.below(4)], name, in: store)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let wrong = try (0..<6).filter { number in
      guard let found = try content("\(number)", in: store) else { return false }
      return !contents.contains(found)
    }
    #expect(wrong == [])
    // If a thread deletes an object while another thread uses the object's content, the last thread to
    // release the content checks whether the content is still needed.
    let (recorded, named) = try store.objects.contents()
    #expect(recorded == named)
    try store.objects.sweep(.everything)
    let (blobs, _, packs) = try store.objects.inUse()
    let inventory = try store.objects.blobs.inventory()
    #expect(Set(inventory.blobs) == blobs)
    #expect(Set(inventory.packs).isSubset(of: packs))
    try store.checkInvariants()
  }
}
