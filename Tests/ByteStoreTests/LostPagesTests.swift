// Unreadable checkpoint pages, whose content is rebuilt from the segments.

import Harness
import Testing

@testable import ByteStore
@testable import StoreTools

/// Regression: one lost page of the key directory stopped every flush, and the WAL grew without limit.
@Suite struct LostPagesTests {
  private static let keys = 1300

  private func open(_ machine: TestStore) throws(ByteStoreError) -> ByteStore {
    var options = ByteStore.Options()
    options.logBytesMin = 64 << 10
    options.flushBytes = 64 << 10
    options.maintenance = .manual
    return try ByteStore.open(TestStore.path, options: options, platform: machine.disk.platform(seed: 7))
  }

  private struct Filled {
    var machine: TestStore
    var model: [String: [UInt8]] = [:]
    var path = ""
    var header: CheckpointHeader
  }

  /// Returns a store with several segments. The segments have dead entries, some ordinals were reassigned to
  /// other keys, and some ordinals are free.
  private func filled() throws -> Filled {
    let machine = TestStore()
    let store = try open(machine)
    var model: [String: [UInt8]] = [:]
    func put(_ keys: some Sequence<Int>, _ version: UInt8) throws {
      var batch = Batch()
      for key in keys {
        model["key\(key)"] = [version, UInt8(truncatingIfNeeded: key)]
        try batch.put([version, UInt8(truncatingIfNeeded: key)], for: Array("key\(key)".utf8))
      }
      try store.commit(batch)
    }
    func remove(_ keys: some Sequence<Int>) throws {
      var batch = Batch()
      for key in keys {
        model["key\(key)"] = nil
        try batch.remove(Array("key\(key)".utf8))
      }
      try store.commit(batch)
    }
    try put(0..<Self.keys, 1)
    try store.flush()
    try put(stride(from: 0, to: Self.keys, by: 3), 2)
    try remove(stride(from: 1, to: Self.keys, by: 7))
    try store.flush()
    try put(2000..<2060, 3)
    try remove(stride(from: 2, to: Self.keys, by: 11))
    try store.flush()
    try store.close()
    let path = try #require(machine.disk.image.paths.first { $0.contains("/checkpoint-") })
    let bytes = try #require(machine.disk.image.contents(of: path)).bytes
    let header = try CheckpointHeader(decoding: bytes.rawSpan.extracting(first: 4096), file: path)
    return Filled(machine: TestStore(machine.disk.image), model: model, path: path, header: header)
  }

  private func losing(
    _ pages: [(CheckpointRegion, Int)], of filled: Filled
  ) throws -> TestStore {
    try filled.machine.changing(filled.path) { bytes in
      for (region, page) in pages {
        let start = Int(try #require(filled.header.offset(of: region)))
        bytes[start + page * 4096 + 100] ^= 4
      }
    }
  }

  private func expect(_ store: ByteStore, has model: [String: [UInt8]]) throws {
    #expect(try model.filter { try store.value(for: $0.key) != $0.value }.keys.sorted() == [])
    #expect(store.count == model.count)
  }

  @Test(arguments: [CheckpointRegion.directory, .slots, .locations, .free])
  func lostPageIsRebuiltFromSegments(region: CheckpointRegion) throws {
    let filled = try filled()
    let pages = filled.header.pages(of: region)
    try #require(pages > 0)
    var findings: [String] = []
    for page in 0..<pages {
      let machine = try losing([(region, page)], of: filled)
      var store = try open(machine)
      try store.flush()
      try expect(store, has: filled.model)
      try store.checkInvariants()
      var model = filled.model
      model["key5"] = [9]
      model["new"] = [8]
      try store.put([9], for: "key5")
      try store.put([8], for: "new")
      try store.flush(.everything)
      try store.close()
      let report = try ByteStore.check(TestStore.path, platform: machine.disk.platform(seed: 3))
      findings += report.findings.map { "page \(page): \($0)" }
      store = try open(machine)
      try expect(store, has: model)
      try store.close()
    }
    #expect(findings == [])
  }

  /// Regression: a page was being loaded while another thread rebuilt lost pages. The rebuilt hash table
  /// had fewer pages, and installing the loaded page stopped the process.
  @Test func latePageIsNotInstalledAfterARebuild() throws {
    let machine = TestStore()
    var store = try open(machine)
    let keys = (0..<4000).map { Array("key\($0)".utf8) }
    var batch = Batch()
    for key in keys { try batch.put(key, for: key) }
    try store.commit(batch)
    batch = Batch()
    for key in keys.dropFirst(40) { try batch.remove(key) }
    try store.commit(batch)
    try store.flush()
    try store.close()
    let path = try #require(machine.disk.image.paths.first { $0.contains("/checkpoint-") })
    let bytes = try #require(machine.disk.image.contents(of: path)).bytes
    let header = try CheckpointHeader(decoding: bytes.rawSpan.extracting(first: 4096), file: path)
    let start = Int(try #require(header.offset(of: .slots)))
    let damaged = try machine.changing(path) { $0[start + 100] ^= 4 }

    var platform = damaged.disk.platform(seed: 7)
    let watched = WatchedFileSystem(platform.fileSystem)
    platform.fileSystem = watched
    var options = ByteStore.Options()
    options.maintenance = .manual
    store = try ByteStore.open(TestStore.path, options: options, platform: platform)
    let table = store.table
    try table.load(.directory(0))
    func page(_ key: [UInt8]) -> Int? {
      if case .slots(let page) = table.withTable({ $0.missingPage(for: key.rawSpan) }) { page } else { nil }
    }
    let key = try #require(keys.prefix(40).first { page($0) ?? 0 > 1 })
    let late = try #require(page(key))
    watched.beforeNextRead { _ = try? table.loadOrRebuildAll() }
    #expect(try store.value(for: key) == key)
    #expect(table.isRebuilt.withLock { $0 })
    #expect(table.withTable { $0.slots.pages.pageCount } <= late)
    #expect(try keys.prefix(40).filter { try store.value(for: $0) != $0 } == [])
    try store.close()
  }

  /// Loses one page of the directory, of the slots, or of the locations.
  ///
  /// Regression: two readers encountered lost pages. The second reader failed to rebuild the pages, because
  /// the first reader had already installed the rebuilt pages.
  @Test(arguments: [CheckpointRegion.directory, .slots, .locations])
  func concurrentRebuildsDoNotConflict(region: CheckpointRegion) throws {
    let filled = try filled()
    var reads = 0
    var failures: [String] = []
    let isBetween = Locked(true)
    while isBetween.withLock({ $0 }) {
      let machine = try losing([(region, 0)], of: filled)
      var platform = machine.disk.platform(seed: 7)
      let watched = WatchedFileSystem(platform.fileSystem)
      platform.fileSystem = watched
      var options = ByteStore.Options()
      options.maintenance = .manual
      let store = try ByteStore.open(TestStore.path, options: options, platform: platform)
      isBetween.withLock { $0 = false }
      @Sendable func find(after count: Int) {
        watched.beforeNextRead {
          guard count == 0 else { return find(after: count - 1) }
          isBetween.withLock { $0 = true }
          _ = try? store.table.loadOrRebuildAll()
          for number in 0..<200 { _ = try? store.put([7], for: "later\(number)") }
        }
      }
      find(after: reads)
      do throws(ByteStoreError) {
        try store.table.loadOrRebuildAll()
      } catch {
        failures.append("after \(reads) reads: \(error)")
      }
      var model = filled.model
      if isBetween.withLock({ $0 }) { for number in 0..<200 { model["later\(number)"] = [7] } }
      watched.beforeNextRead {}
      try expect(store, has: model)
      try store.checkInvariants()
      try store.close()
      reads += 1
    }
    #expect(failures == [])
    #expect(reads > 3)
  }

  @Test func severalPagesAreRebuiltAtOnce() throws {
    let filled = try filled()
    func all(_ regions: [CheckpointRegion]) -> [(CheckpointRegion, Int)] {
      regions.flatMap { region in (0..<filled.header.pages(of: region)).map { (region, $0) } }
    }
    for pages in [all([.locations, .free]), all([.directory, .slots, .free])] {
      let store = try open(losing(pages, of: filled))
      try store.flush()
      try expect(store, has: filled.model)
      try store.checkInvariants()
      try store.close()
    }
  }

  /// Commits that need the lost page are refused until a flush has rebuilt the page.
  @Test func aFlushIsDueOnceACommitNeedsALostPage() throws {
    let filled = try filled()
    let last = filled.header.pages(of: .locations) - 1
    let store = try open(losing([(.locations, last)], of: filled))
    #expect(!store.isFlushDue)
    #expect(throws: ByteStoreError.self) { try store.put([1], for: "new") }
    #expect(store.isFlushDue)
    store.performMaintenance()
    try store.put([1], for: "new")
    #expect(!store.isFlushDue)
    #expect(try store.value(for: "new") == [1])
    try store.close()
  }

  /// Regression: a backup rebuilt a lost page, and later commits depended on the rebuilt page. The next open
  /// did not have the page and could not apply these commits to the key directory.
  @Test(arguments: [CheckpointRegion.directory, .slots, .locations, .free])
  func commitsOnRebuiltPagesSurviveAReopen(region: CheckpointRegion) throws {
    let filled = try filled()
    let pages = filled.header.pages(of: region)
    try #require(pages > 0)
    var wrong: [String] = []
    for page in 0..<pages {
      let machine = try losing([(region, page)], of: filled)
      var store = try open(machine)
      try store.backup(to: "/copy")
      if !store.isFlushDue { wrong.append("page \(page): no flush is due") }
      try store.put([9], for: "key5")
      try store.put([8], for: "new")
      if page % 2 == 0 { try store.close() } else { store.abandon() }
      store = try open(machine)
      let values = [try store.value(for: "key5"), try store.value(for: "new")]
      if values != [[9], [8]] { wrong.append("page \(page): \(values)") }
      try store.flush()
      var model = filled.model
      model["key5"] = [9]
      model["new"] = [8]
      try expect(store, has: model)
      if store.isFlushDue { wrong.append("page \(page): a flush is due again") }
      try store.close()
    }
    #expect(wrong == [])
  }

  @Test func backupContainsTheKeysOfALostPage() throws {
    let filled = try filled()
    let machine = try losing([(.slots, 0)], of: filled)
    let store = try open(machine)
    try store.backup(to: "/copy")
    try store.close()
    let copy = try ByteStore.open("/copy", platform: machine.disk.platform(seed: 9))
    try expect(copy, has: filled.model)
    try copy.close()
  }

  /// As soon as a flush has found pages that cannot be rebuilt, it reads nothing more.
  @Test func flushFailsAtOnceIfSlotsAndLocationsAreLost() throws {
    let filled = try filled()
    let pages = filled.header.pages(of: .directory) + filled.header.pages(of: .slots)
    let locations = filled.header.pages(of: .locations)
    try #require(locations >= 3)
    let machine = try losing([(.slots, 0)] + (0..<locations).map { (.locations, $0) }, of: filled)
    let store = try open(machine)
    let before = machine.disk.counters.bytesRead
    let error = try storeError { () throws(ByteStoreError) in try store.flush() }
    guard case .corrupted(let damage) = error else { throw error }
    #expect(damage.file == filled.path)
    #expect(damage.offset == filled.header.offset(of: .slots))
    // Each lost page that the flush encounters is read twice.
    #expect(machine.disk.counters.bytesRead - before == (pages + 3) * 4096)
    try store.close()
  }

  /// If the segments are damaged as well, nothing is rebuilt. The WAL grows up to its limit, then writes
  /// are refused while reads still work.
  @Test func logsAreBoundedIfPagesCannotBeRebuilt() throws {
    let filled = try filled()
    var machine = try losing([(.locations, 0)], of: filled)
    let segment = try #require(machine.disk.image.paths.first { $0.contains("/segment-") })
    machine = try machine.changing(segment) { $0[$0.count - 100] ^= 1 }
    let store = try open(machine)
    let bytes = [UInt8](repeating: 7, count: 20_000)
    var written: [String] = []
    var refusal: ByteStoreError?
    while refusal == nil, written.count < 100 {
      let key = "more\(written.count)"
      do throws(ByteStoreError) {
        try store.put(bytes, for: key)
        written.append(key)
      } catch {
        refusal = error
      }
      store.performMaintenance()
    }
    guard case .flushImpossible(let directory, let cause, nil) = try #require(refusal) else {
      Issue.record("\(String(describing: refusal))")
      return
    }
    #expect(directory == TestStore.path)
    #expect(cause.contains(filled.path))
    #expect((13...20).contains(written.count))
    #expect(try written.filter { try store.value(for: $0) != bytes } == [])
    try store.close()
    // A reopen does not let the WAL grow further either.
    let again = try open(machine)
    var more = 0
    while (try? again.put(bytes, for: "again\(more)")) != nil, more < 10 {
      more += 1
      again.performMaintenance()
    }
    #expect(more <= 1)
    #expect(try again.value(for: written[0]) == bytes)
    try again.close()
  }
}
