// A check finds all damage, and reports none in a healthy store.

import Harness
import Testing

@testable import ByteStore
@testable import StoreTools

@Suite struct CheckTests {
  private static func value(_ key: Int, bytes: Int = 300) -> [UInt8] {
    (0..<bytes).map { UInt8(truncatingIfNeeded: ($0 &* 7 &+ key &* 13) ^ key >> 3) }
  }

  /// Small and large values in segments, a removal, an overwrite, and commits after the checkpoint.
  static func flushedStore(keys: Int = 600) throws -> TestStore {
    let machine = TestStore()
    let store = try machine.open()
    for start in stride(from: 0, to: keys, by: 100) {
      var batch = Batch(stamp: UInt64(start + 1))
      for key in start..<min(start + 100, keys) { try batch.put(value(key), for: Array("key\(key)".utf8)) }
      try store.commit(batch)
    }
    try store.put(value(1, bytes: 40_000), for: "large")
    try store.flush()
    try store.put([1], for: "key1")
    var removal = Batch(stamp: 5000)
    try removal.remove(Array("key2".utf8))
    try store.commit(removal)
    try store.flush()
    try store.put([2], for: "late")
    try store.close()
    return TestStore(machine.disk.image)
  }

  // MARK: Healthy stores

  @Test func healthyStoreHasNoFindingsAndCorrectTotals() throws {
    let machine = try Self.flushedStore()
    var steps: [CheckProgress] = []
    let report = try machine.check { steps.append($0) }
    #expect(report.findings.isEmpty)
    #expect(report.keys == 601)
    // The second flush did not rewrite the segment of the first one.
    #expect(report.entries == 602)
    let unchecked: Set = ["/store/LOCK", "/store/RESERVE"]
    #expect(report.files == machine.disk.image.paths.count { !unchecked.contains($0) })
    #expect(report.deadBytes > 300)
    #expect(report.lastCommit == SequenceNumber(10))
    #expect(report.leftovers.isEmpty && report.losses.isEmpty && report.quarantined.isEmpty)
    #expect(!steps.isEmpty && steps.allSatisfy { $0.bytesDone <= $0.bytesTotal })
    #expect(zip(steps, steps.dropFirst()).allSatisfy { $0.bytesDone <= $1.bytesDone })
  }

  /// Regression: the bytes that a failed sync had left after the last commit were reported as damage.
  @Test func poisonedStoreHasNoFindings() throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([1], for: "a")
    machine.failSyncOfNextCommit()
    #expect(throws: ByteStoreError.self) { try store.put([2], for: "b") }
    let report = try store.check()
    #expect(report.findings.isEmpty)
    #expect(report.lastCommit == store.lastCommit && report.keys == 1)
    store.abandon()
  }

  @Test func everyKeyAndValueIsInspected() throws {
    var shown: [[UInt8]: [UInt8]] = [:]
    let machine = try Self.flushedStore()
    let recorder = UpperLayerCheck(inspect: { key, value in
      shown[[UInt8](copying: key)] = [UInt8](copying: value)
      return nil
    })
    let platform = machine.disk.platform(seed: 1)
    _ = try ByteStore.check(TestStore.path, platform: platform, upperLayer: recorder)
    // First the values in the checkpoint, then those in the logs.
    #expect(shown.count == 601)
    #expect(shown[Array("late".utf8)] == [2])
    #expect(shown[Array("key1".utf8)] == [1])
    #expect(shown[Array("large".utf8)]?.count == 40_000)

    let inspector = UpperLayerCheck(inspect: { key, _ in
      key.byteCount == 5 && [UInt8](copying: key) == Array("key77".utf8) ? "a bad one" : nil
    })
    let report = try ByteStore.check(TestStore.path, platform: platform, upperLayer: inspector)
    #expect(report.findings.map(\.found) == ["a bad one"])
    #expect(report.findings.first?.file.contains("/segment-") == true)
  }

  @Test func tornTailIsReportedAndIsNoDamage() throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([1], for: "a")
    try store.put(Self.value(1), for: "b")
    let torn = try machine.withAllWritesDurable.changing(TestStore.firstLog) { $0[8192 + 100] ^= 1 }
    let report = try torn.check()
    #expect(report.isSound)
    #expect(report.losses.map(\.offset) == [4096 + 64])
    #expect(report.keys == 1)
  }

  @Test func leftoversAreReportedAndKept() throws {
    var image = try Self.flushedStore().disk.image
    image.replace("/store/segment-0000000099", with: PagedBytes([1, 2, 3]))
    image.replace("/store/MANIFEST.new", with: PagedBytes([1]))
    image.replace("/store/set-aside-0001-log-0000000001", with: PagedBytes([1]))
    let machine = TestStore(image)
    let report = try machine.check()
    #expect(report.isSound)
    #expect(report.leftovers == ["MANIFEST.new", "segment-0000000099"])
    #expect(report.quarantined == ["set-aside-0001-log-0000000001"])
    #expect(machine.disk.image.paths == image.paths)
  }

  @Test(arguments: 1...2 as ClosedRange<UInt64>)
  func crashLeftoversAreNoDamage(seed: UInt64) {
    let summary = CheckCampaign.run(states: 60, seed: seed)
    #expect(summary.failures == 0, "\(summary)")
  }

  // MARK: No store, and locked stores

  @Test func checkRefusesADirectoryWithoutAStore() throws {
    let machine = TestStore()
    guard case .noStore = try storeError({ () throws(ByteStoreError) in _ = try machine.check() }) else {
      Issue.record("there is no directory")
      return
    }
    _ = try machine.open()
    var image = DiskImage()
    image = machine.disk.image
    image.delete("/store/MANIFEST")
    image.replace("/store/letter.txt", with: PagedBytes([1]))
    let foreign = TestStore(image)
    guard case .notAStore = try storeError({ () throws(ByteStoreError) in _ = try foreign.check() }) else {
      Issue.record("letter.txt is nothing of a store")
      return
    }
    #expect(foreign.disk.image.paths == image.paths)
  }

  @Test func aStoreInUseIsLocked() throws {
    let machine = TestStore()
    let store = try machine.open()
    guard case .locked = try storeError({ () throws(ByteStoreError) in _ = try machine.check() }) else {
      Issue.record("the store is open")
      return
    }
    try store.close()
    #expect(try machine.check().isSound)
  }

  /// Regression: a check created the lock file, or wrote its process id into it, and synced the folder of
  /// contents.
  @Test func checkMakesNoCallThatChangesTheDisk() throws {
    let flushed = try Self.flushedStore()
    try flushed.disk.platform(seed: 1).fileSystem.createDirectory("/store/blobs")
    var image = flushed.disk.image
    image.delete("/store/LOCK")
    let machine = TestStore(image)
    #expect(try machine.check().isSound)
    let changes: Set<DiskOperation> = [
      .makeDirectory, .create, .rename, .remove, .syncDirectory, .write, .syncFile,
    ]
    let made = machine.disk.trace.filter { changes.contains($0.operation) }
    #expect(!machine.disk.trace.isEmpty && made.map(\.description) == [])
    #expect(machine.disk.image.paths == image.paths)
  }

  @Test func aNewerFormatIsNotCalledDamage() throws {
    let newer = try Self.flushedStore().changing("/store/MANIFEST") {
      $0[8] = 1; $0[70] ^= 1
    }
    guard case .newerFormat = try storeError({ () throws(ByteStoreError) in _ = try newer.check() }) else {
      Issue.record("a newer manifest cannot be judged")
      return
    }
    // All other bytes are those of format version 0, so only the version number can be wrong.
    let rotten = try Self.flushedStore().changing("/store/MANIFEST") { $0[8] = 1 }
    #expect(try rotten.check().findings.map(\.offset) == [8])
  }

  // MARK: Damage

  @Test func allDamageIsListedWithItsOffset() throws {
    var machine = try Self.flushedStore()
    let segment = try #require(machine.paths("/segment-").first)
    let checkpoint = try #require(machine.paths("/checkpoint-").first)
    let log = try #require(machine.paths("/log-").first)
    let data = try machine.dataStart(of: segment)
    machine = try machine.changing(segment) { bytes in
      bytes[data + 100] ^= 1
      bytes[data + 3 * 8192 + 100] ^= 1
    }
    machine = try machine.changing(checkpoint) { $0[2 * 4096 + 17] ^= 1 }
    machine = try machine.changing(log) { $0[4096 + 40] ^= 1 }
    let found = try machine.check().findings.map { "\($0.file) \($0.offset)" }
    #expect(
      Set(found) == [
        "\(segment) \(data)", "\(segment) \(data + 3 * 8192)", "\(checkpoint) \(2 * 4096)", "\(log) 4096",
      ])
  }

  @Test func bytesWithoutAChecksumAreChecked() throws {
    let machine = try Self.flushedStore()
    let segment = try #require(machine.paths("/segment-").first)
    let log = try #require(machine.paths("/log-").first)
    var wrong: [String] = []
    for (path, offset) in [(segment, 4000), (log, 2000), (log, 4096 + 63)] {
      let damaged = try machine.changing(path) { $0[offset] ^= 1 }
      let offsets = try damaged.check().findings.map(\.offset)
      if offsets != [UInt64(offset)] { wrong.append("\(path) \(offset): found \(offsets)") }
      // These bytes are never read, so the store still opens.
      if try damaged.open().value(for: "late") != [2] { wrong.append("\(path) \(offset): lost a value") }
    }
    #expect(wrong == [])
  }

  @Test func withoutAManifestAllOtherFilesAreChecked() throws {
    let machine = try Self.flushedStore()
    let segment = try #require(machine.paths("/segment-").first)
    let data = try machine.dataStart(of: segment)
    let damaged = try machine.changing(segment) { $0[data + 100] ^= 1 }
      .changing("/store/MANIFEST") { $0[70] ^= 1 }
    let found = try damaged.check().findings.map(\.file)
    #expect(found == ["/store/MANIFEST", segment])
  }

  /// A page that fails once is read again. Other calls fail with the error of the disk.
  @Test func aReadThatFailsOnceIsNotAFinding() throws {
    let machine = try Self.flushedStore()
    var sound = 0
    var wrong: [String] = []
    for call in 20..<60 {
      machine.disk.setFault(FaultPlan(.inputOutput, at: call, isSticky: false))
      do throws(ByteStoreError) {
        let report = try machine.check()
        if report.isSound { sound += 1 } else { wrong.append("call \(call): \(report.findings)") }
      } catch {
        if case .system = error { continue }
        wrong.append("call \(call): \(error)")
      }
    }
    #expect(wrong == [])
    #expect(sound > 0)
  }

  // MARK: Crafted files with valid checksums

  enum Forgery: CaseIterable {
    case ordinalsSwapped, locationsSwapped, locationGone, locationElsewhere, liveCounts, freeTwice, freeInUse
    case localDepth, keys
  }

  @Test(arguments: Forgery.allCases)
  func craftedCheckpointIsDetected(forgery: Forgery) throws {
    let machine = try Self.flushedStore()
    let path = try #require(machine.paths("/checkpoint-").first)
    let forged = try machine.changing(path) { bytes in
      var file = ForgedCheckpoint(bytes)
      file.forge(forgery)
      bytes = file.bytes
    }
    let report = try forged.check()
    #expect(!report.isSound)
    // The process must not be stopped, whatever the result.
    try forged.useWithoutTrapping()
  }

  /// Regression: the duplicate went into every later checkpoint, because no missing ordinal was noticed.
  @Test func duplicateInTheFreeListIsGoneAfterAFlush() throws {
    let machine = try Self.flushedStore()
    let path = try #require(machine.paths("/checkpoint-").first)
    let forged = try machine.changing(path) { bytes in
      var file = ForgedCheckpoint(bytes)
      file.forge(.freeTwice)
      bytes = file.bytes
    }
    let store = try forged.open()
    for key in 0..<3 { try store.put([1], for: "new\(key)") }
    try store.flush()
    try store.close()
    #expect(try forged.check().findings == [])
  }

  /// Regression: overflow slots were not validated, and the first read used an ordinal that did not
  /// exist.
  @Test(arguments: [UInt64(0), 700, 0xFFFF_FFFF])
  func overflowSlotWithAnInvalidOrdinalIsRefused(ordinal: UInt64) throws {
    let machine = try Self.flushedStore()
    let path = try #require(machine.paths("/checkpoint-").first)
    var overflowing = machine
    overflowing = try machine.changing(path) { bytes in
      var file = ForgedCheckpoint(bytes)
      file.addOverflow(0x1234_5678 << 32 | ordinal)
      bytes = file.bytes
    }
    let old = try #require(machine.disk.image.contents(of: "/store/MANIFEST")).bytes
    var manifest = try Manifest(decoding: old.rawSpan, file: "")
    manifest.checkpoint?.bytes += 4096
    overflowing = try overflowing.changing("/store/MANIFEST") { $0 = manifest.encoded() }
    #expect(try !overflowing.check().isSound)
    try overflowing.useWithoutTrapping()
  }

  /// Regression: a checkpoint with the largest possible commit number opened, and the next commit
  /// stopped the process.
  @Test func checkpointWithTheLargestCommitNumberIsRefused() throws {
    let machine = try Self.flushedStore()
    let path = try #require(machine.paths("/checkpoint-").first)
    let forged = try machine.changing(path) { bytes in
      var file = ForgedCheckpoint(bytes)
      file.header.position.sequence = SequenceNumber(.max)
      bytes = file.withHeader
    }
    #expect(try !forged.check().isSound)
    try forged.useWithoutTrapping()
  }

  @Test(arguments: 0..<24 as Range<UInt64>)
  func noCraftedPageTrapsTheProcess(seed: UInt64) throws {
    var rng = SeededRandom(seed: seed)
    let machine = try Self.flushedStore()
    let path = try #require(machine.paths("/checkpoint-").first)
    let forged = try machine.changing(path) { bytes in
      var file = ForgedCheckpoint(bytes)
      for _ in 0..<1 + rng.below(4) { file.forge(&rng) }
      bytes = file.bytes
    }
    _ = try? forged.check()
    try forged.useWithoutTrapping()
  }

  // MARK: Open stores

  @Test func openStoreIsCheckedAtItsLastCommit() throws {
    let machine = try Self.flushedStore()
    let store = try machine.open()
    try store.put(Self.value(9), for: "key9")
    let before = machine.disk.image.version
    let report = try store.check()
    #expect(machine.disk.image.version == before)
    #expect(report.isSound, "\(report.findings)")
    #expect(report.keys == store.count)
    #expect(report.lastCommit == store.lastCommit)
    try store.flush(.everything)
    #expect(try store.check().isSound)
    #expect(try store.value(for: "key9") == Self.value(9))
    try store.close()
    #expect(throws: ByteStoreError.self) { try store.check() }
  }

  @Test func commitsContinueDuringACheck() async throws {
    let machine = try Self.flushedStore()
    let store = try machine.open()
    let findings = await withTaskGroup(of: Void.self) { group in
      for thread in 0..<3 {
        group.addTask {
          for number in 0..<100 {
            _ = try? store.put([UInt8(thread), UInt8(number)], for: "thread\(thread)-\(number % 40)")
            if number % 25 == 0 { try? store.flush() }
          }
        }
      }
      return (0..<10).map { _ in (try? store.check())?.findings }
    }
    let none = [[Damage]?](repeating: [], count: 10)
    #expect(findings == none)
    try store.checkInvariants()
    #expect(try store.check().keys == store.count)
  }

  /// Regression: flushes waited for the end of a check, and commits were throttled meanwhile.
  @Test func aFlushDuringACheckRemovesFilesThatAreSkipped() throws {
    let machine = try Self.flushedStore()
    let store = try machine.open()
    try store.put(Self.value(9), for: "key9")
    var failures: [String] = []
    var isFirst = true
    let report = try store.check(progress: { _ in
      guard isFirst else { return }
      isFirst = false
      do throws(ByteStoreError) {
        try store.put([3], for: "during")
        try store.flush(.everything)
        // The next logs overwrite the files of the old ones.
        for number in 0..<12 { try store.put(Self.value(number, bytes: 4000), for: "more\(number % 4)") }
      } catch {
        failures.append("\(error)")
      }
    })
    #expect(failures == [])
    #expect(report.findings == [] && report.filesSkipped > 1)
    #expect(report.keys == 601)
    #expect(store.statistics.snapshots.open.isEmpty)
    #expect(try store.check().isSound)
    try store.checkInvariants()
    try store.close()
  }

  @Test func damageInAnOpenStoreIsFound() throws {
    let machine = try Self.flushedStore()
    let segment = try #require(machine.paths("/segment-").first)
    let data = try machine.dataStart(of: segment)
    let damaged = try machine.changing(segment) { $0[data + 100] ^= 1 }
    let store = try damaged.open()
    #expect(try store.check().findings.map(\.offset) == [UInt64(data)])
  }
}

// MARK: -

extension TestStore {
  func check(_ progress: ((CheckProgress) -> Void)? = nil) throws(ByteStoreError) -> CheckReport {
    try ByteStore.check(Self.path, platform: disk.platform(seed: 7), progress: progress)
  }

  func paths(_ part: String) -> [String] { disk.image.paths.filter { $0.contains(part) } }

  func dataStart(of segment: String) throws -> Int {
    let bytes = try #require(disk.image.contents(of: segment)).bytes
    return Int(try SegmentHeader(decoding: bytes.rawSpan, file: segment).dataStart)
  }

  /// Every operation that a program can perform on a store. Errors are expected, traps are not.
  func useWithoutTrapping() throws {
    let store: ByteStore
    do { store = try open() } catch { return }
    for key in 0..<600 { _ = try? store.value(for: "key\(key)") }
    try? store.snapshot().forEach { _, _, _ in }
    for key in 0..<40 { _ = try? store.put([1], for: "key\(key * 17)") }
    for key in 0..<40 {
      var batch = Batch()
      try batch.remove(Array("key\(key * 13)".utf8))
      _ = try? store.commit(batch)
    }
    for key in 0..<40 { _ = try? store.put([1], for: "new\(key)") }
    _ = try? store.check()
    try? store.flush(.everything)
    for key in 0..<40 { _ = try? store.put([2], for: "new\(key)") }
    try? store.close()
  }
}

/// A checkpoint with changed words and matching checksums.
struct ForgedCheckpoint {
  private(set) var bytes: [UInt8]
  var header: CheckpointHeader

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    guard let header = try? CheckpointHeader(decoding: bytes.rawSpan.extracting(first: 4096), file: "") else {
      preconditionFailure("a sound checkpoint is forged")
    }
    self.header = header
  }

  var withHeader: [UInt8] { header.encoded() + bytes[4096...] }

  mutating func addOverflow(_ slot: UInt64) {
    let index = header.regions.firstIndex { $0.region == .overflow } ?? 0
    // The store has no pages of an upper layer, so the overflow is the last region.
    precondition(index == header.regions.count - 1 && header.regions[index].pages == 0, "no overflow yet")
    header.regions[index].pages = 1
    bytes = header.encoded() + bytes[4096...] + [UInt8](repeating: 0, count: 4096)
    let page = bytes.count - 4096
    put(UInt64(CheckpointRegion.overflow.rawValue), at: page + 4088)
    put(slot, at: page)
    seal(page)
  }

  mutating func forge(_ forgery: CheckTests.Forgery) {
    switch forgery {
    case .ordinalsSwapped:
      let slots = used(.slots)
      swapLowWords(slots[3], slots[40])
    case .locationsSwapped: swap(used(.locations)[5], used(.locations)[6])
    case .locationGone: set(used(.locations)[7], 0)
    case .locationElsewhere: set(used(.locations)[7], word(used(.locations)[7]) ^ 1 << 13)
    case .liveCounts: set(used(.segments)[1], word(used(.segments)[1]) - 1)
    case .freeTwice: set(start(.free) + 8, word(start(.free)))
    case .freeInUse: set(start(.free), 6)
    case .localDepth: set(start(.directory), word(start(.directory)) & 0xFFFF_FFFF)
    case .keys:
      header.keys -= 1
      bytes = withHeader
    }
  }

  mutating func forge(_ rng: inout SeededRandom) {
    let pages = bytes.count / 4096 - 1
    let offset = 4096 * (1 + rng.below(pages)) + 8 * rng.below(rng.oneIn(2) ? 12 : 511)
    let old = word(offset)
    let other = word(4096 * (1 + rng.below(pages)) + 8 * rng.below(511))
    set(offset, [old ^ 1 << UInt64(rng.below(64)), other, rng.next(), old &+ 1, 0][rng.below(5)])
  }

  // MARK: Words

  private func start(_ region: CheckpointRegion) -> Int { Int(header.offset(of: region) ?? 0) }

  /// The offsets of the nonzero words.
  private func used(_ region: CheckpointRegion) -> [Int] {
    (0..<header.pages(of: region)).flatMap { page in
      (0..<510).map { start(region) + 4096 * page + 8 * $0 }.filter { word($0) != 0 }
    }
  }

  private func word(_ offset: Int) -> UInt64 {
    bytes[offset..<offset + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  private mutating func put(_ word: UInt64, at offset: Int) {
    for byte in 0..<8 { bytes[offset + byte] = UInt8(truncatingIfNeeded: word >> UInt64(8 * byte)) }
  }

  private mutating func set(_ offset: Int, _ word: UInt64) {
    put(word, at: offset)
    seal(offset / 4096 * 4096)
  }

  private mutating func swap(_ first: Int, _ second: Int) {
    let word = word(first)
    set(first, self.word(second))
    set(second, word)
  }

  private mutating func swapLowWords(_ first: Int, _ second: Int) {
    let (left, right) = (word(first), word(second))
    set(first, left & ~0xFFFF_FFFF | right & 0xFFFF_FFFF)
    set(second, right & ~0xFFFF_FFFF | left & 0xFFFF_FFFF)
  }

  private mutating func seal(_ page: Int) {
    var sealed = Array(bytes[page..<page + 4092])
    sealed.appendPageChecksum(file: header.fileID, offset: UInt64(page), broken: nil)
    bytes.replaceSubrange(page..<page + 4096, with: sealed)
  }
}
