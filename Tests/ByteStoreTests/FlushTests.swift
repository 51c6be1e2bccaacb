//  The effects of a flush on files, opens and snapshots. Also flushes of damaged stores, and flushes on full
//  disks.

import Harness
import StoreTools
import Testing

@testable import ByteStore

@Suite struct FlushTests {
  private func fill(_ store: ByteStore, keys: Int, _ value: (Int) -> [UInt8]) throws {
    for first in stride(from: 0, to: keys, by: 500) {
      var batch = Batch()
      for key in first..<min(first + 500, keys) { try batch.put(value(key), for: Array("key\(key)".utf8)) }
      try store.commit(batch, durability: .buffered)
    }
  }

  private func value(_ number: Int) -> [UInt8] { Array("value \(number) \(number &* 7919)".utf8) }

  @Test func flushedValuesAreReadFromSegments() throws {
    let machine = TestStore()
    var store = try machine.open()
    try fill(store, keys: 3000, value)
    try store.flush()
    let keys = stride(from: 0, to: 3000, by: 7)
    #expect(try keys.filter { try store.value(for: "key\($0)") != value($0) } == [])
    #expect(try store.value(for: "key3000") == nil)
    #expect(store.table.frozen().memtable.bodiesHeld == 0)
    try store.checkInvariants()
    try store.close()
    store = try machine.open()
    #expect(store.count == 3000 && store.recoveryReport.commitsReplayed == 0)
    #expect(try keys.filter { try store.value(for: "key\($0)") != value($0) } == [])
    #expect(try store.value(for: "key3000") == nil)
    try store.checkInvariants()
  }

  /// An open reads a few pages, whatever the size of the store.
  @Test func openCostDependsOnTheWALAndNotOnTheData() throws {
    func bytesReadByOpen(keys: Int) throws -> Int {
      let machine = TestStore()
      let store = try machine.open()
      try fill(store, keys: keys, value)
      try store.flush()
      try store.close()
      let before = machine.disk.counters.bytesRead
      _ = try machine.open()
      return machine.disk.counters.bytesRead - before
    }
    let small = try bytesReadByOpen(keys: 1000)
    let large = try bytesReadByOpen(keys: 20_000)
    #expect(large <= small + 4096)
  }

  @Test func firstReadAfterAnOpenLoadsFewPages() throws {
    let machine = TestStore()
    var store = try machine.open()
    try fill(store, keys: 20_000, value)
    try store.flush()
    try store.close()
    store = try machine.open()
    let before = machine.disk.counters.bytesRead
    #expect(try store.value(for: "key777") == value(777))
    // The read loads one page each of the directory, of the slots and of the locations. It also loads the
    // segment's header, its dictionary and one of its pages.
    #expect(machine.disk.counters.bytesRead - before <= 3 * 4096 + 8192 + (32 << 10) + 8192)
  }

  @Test func largeValuesHaveRunsOfTheirOwn() throws {
    let machine = TestStore()
    var store = try machine.open()
    var rng = SeededRandom(seed: 3)
    let values = [0, 1, 8183, 8184, 8200, 20_000, 300_000, 1 << 20].map { rng.bytes($0) }
    let soft = [UInt8](repeating: 7, count: 1 << 20)
    for (number, value) in values.enumerated() { try store.put(value, for: "\(number)") }
    try store.put(soft, for: "soft")
    try store.flush()
    try store.close()
    store = try machine.open()
    #expect(try values.indices.filter { try store.value(for: "\($0)") != values[$0] } == [])
    #expect(try store.value(for: "soft") == soft)
    try store.checkInvariants()
  }

  @Test func aSnapshotKeepsItsStateUntilItIsClosed() throws {
    let machine = TestStore()
    let store = try machine.open()
    try fill(store, keys: 600, value)
    let first = try store.snapshot()
    try store.flush()
    let second = try store.snapshot()
    try fill(store, keys: 600) { _ in [1] }
    var batch = Batch()
    for key in 0..<300 { try batch.remove(Array("key\(key)".utf8)) }
    try store.commit(batch)
    // This compaction deletes the segment that both snapshots need.
    try store.flush(.everything)
    try store.flush(.everything)
    var wrongKeys: [[Int]] = []
    var counts: [[Int]] = []
    for snapshot in [first, second] {
      wrongKeys.append(
        try (0..<600).filter { try snapshot.value(for: Array("key\($0)".utf8)) != value($0) })
      var seen = 0
      try snapshot.forEach { _, _, _ in seen += 1 }
      counts.append([snapshot.count, seen])
    }
    #expect(wrongKeys == [[], []])
    #expect(counts == [[600, 600], [600, 600]])
    #expect(store.snapshots.count == 2)
    #expect(store.count == 300)
    first.close()
    #expect(store.snapshots.count == 1)
    #expect(
      try storeError { () throws(ByteStoreError) in _ = try first.value(for: [1]) }
        == .closed(directory: "/store"))
    try store.close()
    #expect(
      try storeError { () throws(ByteStoreError) in _ = try second.value(for: [1]) }
        == .closed(directory: "/store"))
  }

  @Test func compactionFreesTheSpaceOfOverwrittenValues() throws {
    let machine = TestStore()
    let store = try machine.open()
    var rng = SeededRandom(seed: 1)
    for _ in 0..<20 {
      try fill(store, keys: 500) { _ in rng.bytes(200) }
      try store.flush(.everything)
    }
    let bytes = machine.disk.image.paths.filter { $0.contains("/segment-") }
      .reduce(0) { $0 + (machine.disk.image.contents(of: $1)?.size ?? 0) }
    #expect(bytes < 3 * 500 * 200)
    try store.checkInvariants()
  }

  @Test func oldLogIsRecycled() throws {
    let machine = TestStore()
    var options = ByteStore.Options()
    // With these limits, the next log is never larger than the last one.
    options.logBytesMin = 64 << 10
    options.logBytesMax = 64 << 10
    options.maintenance = .manual
    let store = try ByteStore.open(
      TestStore.path, options: options, platform: machine.disk.platform(seed: 1))
    try fill(store, keys: 3000, value)
    let logs = machine.disk.image.paths.filter { $0.contains("/log-") }
    try store.flush()
    let left = machine.disk.image.paths
    #expect(left.contains("/store/SPARE") && logs.allSatisfy { !left.contains($0) })
    try fill(store, keys: 3000, value)
    try store.flush()
    #expect(try store.value(for: "key9") == value(9))
  }

  // MARK: The upper layer

  private struct Pages: CheckpointPages, UpperLayer {
    func regions() -> [(region: CheckpointRegion, pages: Int)] {
      [(CheckpointRegion(rawValue: 256), 3), (CheckpointRegion(rawValue: 300), 1)]
    }

    func payload(_ region: CheckpointRegion, _ page: Int) throws(ByteStoreError) -> [UInt8] {
      [UInt8](repeating: UInt8(page + 1), count: region.rawValue == 256 ? 4088 : 5)
    }

    func freeze() -> any CheckpointPages { self }
  }

  private func openWithLayer(_ machine: TestStore) throws(ByteStoreError) -> ByteStore {
    var options = ByteStore.Options()
    options.maintenance = .manual
    options.upperLayer = Pages()
    return try ByteStore.open(
      TestStore.path, options: options, platform: machine.disk.platform(seed: 9))
  }

  @Test func upperLayerGetsItsPagesBack() throws {
    let machine = TestStore()
    let store = try openWithLayer(machine)
    try store.put([1], for: "a")
    try store.flush()
    try store.close()
    let checkpoint = try #require(try openWithLayer(machine).checkpoint)
    let first = CheckpointRegion(rawValue: 256)
    #expect(checkpoint.pages(of: first) == 3)
    #expect(try checkpoint.payload(first, 2) == [UInt8](repeating: 3, count: 4088))
    #expect(try checkpoint.payload(CheckpointRegion(rawValue: 300), 0).prefix(6) == [1, 1, 1, 1, 1, 0])
    #expect(checkpoint.pages(of: CheckpointRegion(rawValue: 301)) == 0)
    let error = try storeError { () throws(ByteStoreError) in _ = try checkpoint.payload(first, 3) }
    guard case .corrupted = error else { throw error }
  }

  /// An upper layer with one page that contains its version.
  private final class Version: UpperLayer {
    let number = Locked<UInt8>(1)

    private struct Page: CheckpointPages {
      let number: UInt8

      func regions() -> [(region: CheckpointRegion, pages: Int)] { [(.firstOfUpperLayer, 1)] }

      func payload(_ region: CheckpointRegion, _ page: Int) throws(ByteStoreError) -> [UInt8] { [number] }
    }

    func freeze() -> any CheckpointPages { Page(number: number.withLock { $0 }) }
  }

  private func open(
    _ machine: TestStore, _ layer: Version, _ step: (@Sendable (FlushStep) -> Void)? = nil
  ) throws(ByteStoreError) -> ByteStore {
    var options = ByteStore.Options()
    options.maintenance = .manual
    options.upperLayer = layer
    options.betweenFlushSteps = step
    return try ByteStore.open(TestStore.path, options: options, platform: machine.disk.platform(seed: 9))
  }

  private func version(_ store: ByteStore) throws -> UInt8? {
    try store.checkpoint?.payload(.firstOfUpperLayer, 0).first
  }

  /// Regression: an index was created or dropped while there was nothing else to flush, and the change was
  /// missing at the next open.
  @Test(arguments: [true, false])
  func upperLayerChangeIsFlushedWithoutACommit(isEmpty: Bool) throws {
    let machine = TestStore()
    let layer = Version()
    var store = try open(machine, layer)
    if !isEmpty { try store.put([1], for: "a") }
    try store.flush(.everything)
    #expect(!store.isFlushDue)
    layer.number.withLock { $0 = 2 }
    store.noteUpperLayerChanged()
    #expect(store.isFlushDue)
    try store.flush()
    #expect(!store.isFlushDue)
    try store.close()
    store = try open(machine, layer)
    #expect(try version(store) == 2)
    layer.number.withLock { $0 = 3 }
    store.noteUpperLayerChanged()
    // No flush comes before this close.
    try store.close()
    store = try open(machine, layer)
    #expect(try version(store) == 3)
    #expect(try store.value(for: "a") == (isEmpty ? nil : [1]))
    try store.put([2], for: "b")
    store.abandon()
    store = try open(machine, layer)
    #expect(try store.value(for: "b") == [2])
    try store.checkInvariants()
    try store.close()
    #expect(try machine.check().isSound)
  }

  @Test func upperLayerChangeDuringAFlushIsWrittenByTheNext() throws {
    let machine = TestStore()
    let layer = Version()
    let opened = Locked<ByteStore?>(nil)
    var store = try open(machine, layer) { step in
      guard step == .checkpointWritten, let store = opened.withLock({ $0 }) else { return }
      opened.withLock { $0 = nil }
      layer.number.withLock { $0 = 2 }
      store.noteUpperLayerChanged()
    }
    opened.withLock { $0 = store }
    try store.put([1], for: "a")
    try store.flush()
    let hasCome = opened.withLock { $0 == nil }
    #expect(hasCome)
    #expect(store.isFlushDue)
    try store.close()
    store = try open(machine, layer)
    #expect(try version(store) == 2)
    #expect(!store.isFlushDue)
    try store.close()
  }

  /// Whichever disk call fails during such a close: the error is reported, or the store is closed
  /// cleanly.
  @Test func closeReportsAFailureToWriteUpperLayerChanges() throws {
    var (call, reported) = (0, 0)
    var wrong: [String] = []
    while true {
      let (machine, layer) = (TestStore(), Version())
      let store = try open(machine, layer)
      try store.put([1], for: "a")
      try store.flush()
      layer.number.withLock { $0 = 2 }
      store.noteUpperLayerChanged()
      machine.disk.setFault(FaultPlan(.inputOutput, at: machine.disk.counters.operations + call))
      let result = Result { () throws(ByteStoreError) in try store.close() }
      let faultOccurred = machine.disk.counters.faults > 0
      machine.disk.setFault(nil)
      let again = try open(machine, layer)
      if try again.value(for: "a") != [1] { wrong.append("call \(call): lost a value") }
      if case .failure = result {
        reported += 1
      } else if !again.recoveryReport.wasClosedCleanly {
        wrong.append("call \(call): not closed cleanly")
      }
      try again.close()
      guard faultOccurred else { break }
      call += 1
    }
    #expect(wrong == [])
    #expect(call > 5 && reported > 0)
  }

  @Test func damagedUpperLayerPageFailsOnFirstAccess() throws {
    let machine = TestStore()
    let store = try openWithLayer(machine)
    try store.put([1], for: "a")
    try store.flush()
    try store.close()
    let path = try #require(machine.disk.image.paths.first { $0.contains("/checkpoint-") })
    let damaged = try machine.changing(path) { $0[$0.count - 5000] ^= 1 }
    let opened = try openWithLayer(damaged)
    #expect(try opened.value(for: "a") == [1])
    let checkpoint = try #require(opened.checkpoint)
    let error = try storeError { () throws(ByteStoreError) in
      _ = try checkpoint.payload(CheckpointRegion(rawValue: 256), 2)
    }
    guard case .corrupted(let damage) = error else { throw error }
    #expect(damage.file == path)
  }

  // MARK: Damage and full disks

  /// Regression: a flush and a scan reported offset 0, whichever entry was damaged.
  @Test func undecodableEntryIsReportedWithItsOffset() throws {
    let machine = TestStore()
    var random = SeededRandom(seed: 1)
    var store = try machine.open()
    // The values are compressible, and each is larger than half a page in compressed form, so that a flush
    // cannot copy the entries as they are stored.
    let zeros = [UInt8](repeating: 0, count: 4000)
    for key in 1...60 { try store.put(random.bytes(6000) + zeros, for: "key\(key)") }
    try store.flush()
    try store.close()
    let segment = try #require(machine.disk.image.paths.first { $0.contains("/segment-") })
    var place: UInt64 = 0
    store = try machine.changing(segment) { place = try $0.corruptLargeEntry() }.open()

    func byte(_ body: () throws(ByteStoreError) -> Void) throws -> UInt64 {
      guard case .corrupted(let damage) = try storeError(body) else { throw NothingThrown() }
      #expect(damage.file == segment)
      return damage.offset
    }
    #expect(
      try byte { () throws(ByteStoreError) in
        for key in 1...60 { _ = try store.value(for: "key\(key)") }
      } == place)
    #expect(try byte { () throws(ByteStoreError) in try store.snapshot().forEach { _, _, _ in } } == place)
    try store.put([1], for: "key1")
    try store.flush(.everything)
    #expect(
      try byte { () throws(ByteStoreError) in
        if let error = store.statistics.damagedSegments.first?.error { throw error }
      } == place)
  }

  @Test func damagedPageLosesOnlyItsOwnKeys() throws {
    let machine = TestStore()
    var store = try machine.open()
    try fill(store, keys: 3000, value)
    try store.flush()
    try store.close()
    let path = try #require(machine.disk.image.paths.first { $0.contains("/segment-") })
    let damaged = try machine.changing(path) { $0[$0.count - 100] ^= 1 }
    store = try damaged.open()
    var lost: [Int] = []
    var wrong: [Int] = []
    for key in 0..<3000 {
      do throws(ByteStoreError) {
        if try store.value(for: "key\(key)") != value(key) { wrong.append(key) }
      } catch {
        guard case .corrupted(let damage) = error, damage.file == path else { throw error }
        lost.append(key)
      }
    }
    #expect(wrong == [])
    #expect((1..<1500).contains(lost.count))
    // The other keys can be written and flushed. The damaged segment is kept for its remaining entries.
    let key = try #require((0..<3000).first { !lost.contains($0) })
    try store.put([5], for: "key\(key)")
    try store.flush(.everything)
    #expect(try store.value(for: "key\(key)") == [5])
    #expect(damaged.disk.image.paths.contains(path))
    let error = try storeError { () throws(ByteStoreError) in try store.put([6], for: "key\(lost[0])") }
    guard case .corrupted = error else { throw error }
    try store.put([7], for: "new")
    try store.close()
  }

  @Test(arguments: [DiskFault.noSpace, .inputOutput, .tooManyOpenFiles])
  func failedFlushLosesNothingAndIsRepeated(fault: DiskFault) throws {
    let machine = TestStore()
    let store = try machine.open()
    try fill(store, keys: 800, value)
    // Maintenance runs first, so that the fault hits the creation of the segment and not a sync.
    machine.disk.setFault(nil)
    store.performMaintenance()
    let files = machine.disk.image.paths.filter { !$0.contains("/log-") }
    machine.disk.failNext(fault)
    if case .noSpace = fault {
      // The reserve provides the space.
      try store.flush()
    } else {
      #expect(throws: ByteStoreError.self) { try store.flush() }
      machine.disk.setFault(nil)
      #expect(machine.disk.image.paths.filter { !$0.contains("/log-") } == files)
    }
    #expect(try (0..<800).filter { try store.value(for: "key\($0)") != value($0) } == [])
    if case .noSpace = fault {
      try store.put([1], for: "more")
      try store.flush()
      #expect(try store.value(for: "more") == [1])
    }
  }

  // MARK: The plan

  @Test func segmentsWithMostGarbageAreCompactedFirst() {
    func segment(_ slot: Int, _ live: UInt64) -> FlushPlan.Segment {
      FlushPlan.Segment(slot: slot, dataBytes: 64 << 20, liveBytes: live << 20)
    }
    func compactionInputs(_ segments: [FlushPlan.Segment], budget: UInt64 = 1 << 40) -> [Int] {
      FlushPlan.compactionInputs(of: segments, segmentBytesMax: 64 << 20, budgetBytes: budget)
    }
    #expect(compactionInputs([segment(0, 60), segment(1, 62)]) == [])
    #expect(compactionInputs([segment(0, 60), segment(1, 31)]) == [1])
    #expect(compactionInputs([segment(0, 0), segment(1, 64)]) == [0])
    // No segment is mostly dead, but the segments are too large in total.
    let worn = (0..<10).map { segment($0, 40) }
    let chosen = compactionInputs(worn)
    #expect(!chosen.isEmpty && chosen.count < 10)
    #expect(compactionInputs(worn, budget: 1) == [0])
  }

  @Test func manySmallSegmentsAreMerged() {
    let small = (0..<9).map { FlushPlan.Segment(slot: $0, dataBytes: 1 << 20, liveBytes: 1 << 20) }
    #expect(FlushPlan.compactionInputs(of: small, segmentBytesMax: 64 << 20, budgetBytes: 1 << 40).count == 9)
    #expect(
      FlushPlan.compactionInputs(of: Array(small.dropLast()), segmentBytesMax: 64 << 20, budgetBytes: 1 << 40)
        == [])
  }
}

extension [UInt8] {
  /// Corrupts the last compressed entry that is larger than half a page, so that it does not decompress,
  /// and fixes the page's checksum. Returns the offset of the entry.
  fileprivate mutating func corruptLargeEntry() throws -> UInt64 {
    let header = try SegmentHeader(decoding: rawSpan, file: "")
    let entries = (0..<header.smallPages).compactMap { page in
      StoredEntry(decoding: rawSpan.extracting(droppingFirst: Int(header.offset(ofPage: page))), at: 0)
        .map { (page, $0) }
    }
    let large = entries.last { $1.isCompressed && $1.bytes > SegmentFormat.pagePayloadBytes / 2 }
    let (page, entry) = try #require(large)
    let offset = header.offset(ofPage: page)
    let start = Int(offset)
    let end = start + SegmentFormat.pageBytes
    for index in entry.stored { self[start + index] = 0xFF }
    var sealed = Array(self[start..<end - 4])
    sealed.appendPageChecksum(file: header.fileID, offset: offset, broken: nil)
    replaceSubrange(start..<end, with: sealed)
    return offset
  }
}
