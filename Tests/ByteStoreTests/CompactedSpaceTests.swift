// The files that remain after a compaction, and the size of the reserve.

import Harness
import Testing

@testable import ByteStore

struct CompactedSpaceTests {
  /// Simulates indexes of 8 MiB, of which a checkpoint on a full disk contains one page.
  private struct Pages: UpperLayer, CheckpointPages {
    var count = 2048
    func freeze() -> any CheckpointPages { self }
    func regions() -> [(region: CheckpointRegion, pages: Int)] { [(.firstOfUpperLayer, count)] }
    func payload(_ region: CheckpointRegion, _ page: Int) -> [UInt8] { [UInt8](repeating: 1, count: 4088) }
    var least: any CheckpointPages { Pages(count: 1) }
    var essentialPageBytes: UInt64 { 4096 }
  }

  private let disk = SimulatedDisk()

  private func open(_ change: (inout ByteStore.Options) -> Void = { _ in }) throws -> ByteStore {
    var options = ByteStore.Options()
    options.maintenance = .manual
    change(&options)
    return try ByteStore.open("/store", options: options, platform: disk.platform(seed: 1))
  }

  private func remove(_ key: String, from store: ByteStore) throws {
    var batch = Batch()
    try batch.remove(Array(key.utf8))
    try store.commit(batch)
  }

  private func bytes(_ name: String) -> Int { disk.image.contents(of: "/store/\(name)")?.size ?? 0 }

  private var logBytes: Int {
    disk.image.paths.filter { $0.contains("/log-") }
      .reduce(0) { $0 + (disk.image.contents(of: $1)?.size ?? 0) }
  }

  @Test func reserveHasTheSizeThatAFullDiskNeeds() throws {
    let store = try open {
      $0.upperLayer = Pages()
      $0.maintenance = .inBackground(afterMilliseconds: 60_000)
    }
    for number in 0..<4 {
      try store.put([UInt8](repeating: 1, count: 100_000), for: "\(number)")
      try store.flush()
    }
    #expect(bytes("RESERVE") > 128 << 10)
    #expect(bytes("RESERVE") < 8 << 20, "the 8 MiB of indexes are not in it")
    try store.close()
  }

  @Test func compactionDeletesRecycledLogAndExcessReserve() throws {
    let store = try open()
    for number in 0..<36 {
      try store.put([UInt8](repeating: UInt8(number), count: 1 << 20), for: "\(number)")
      store.performMaintenance()
    }
    let before = (log: logBytes, recycledLog: bytes("SPARE"), reserve: bytes("RESERVE"))
    try #require(before.log > 32 << 20 && before.recycledLog > 1 << 20 && before.reserve > 8 << 20)
    try store.flush(.everything)
    #expect(logBytes == 64 << 10)
    #expect(bytes("SPARE") == 0)
    #expect((128 << 10..<1 << 20).contains(bytes("RESERVE")))
    // The store continues normally.
    for number in 0..<36 { try store.put([UInt8](repeating: 1, count: 1 << 20), for: "\(number)") }
    #expect(bytes("RESERVE") > 1 << 20)
    try store.close()
    #expect(try open().count == 36)
  }

  /// Regression: the last commits had requested a recycled log file, and this file was created after the
  /// compaction. The store therefore kept 32 MiB.
  @Test func recycledLogInPreparationIsNotKeptByACompaction() throws {
    let store = try open { $0.maintenance = .inBackground(afterMilliseconds: 60_000) }
    var wrong: [String] = []
    for round in 0..<3 {
      var number = 0
      // Repeats until a recycled log file has just been requested.
      repeat {
        try store.put([UInt8](repeating: 1, count: 1 << 20), for: "\(round)-\(number)")
        number += 1
      } while !store.state.withLock({ $0.isPreparingRecycledLog }) && number < 100
      try store.flush(.everything)
      if bytes("SPARE") != 0 { wrong.append("SPARE of \(bytes("SPARE")) bytes after \(number) puts") }
      if bytes("RESERVE") == 0 { wrong.append("no RESERVE after \(number) puts") }
    }
    #expect(wrong == [])
    try store.close()
  }

  /// A compaction also shrinks an empty large log, and a log that was written before a reopen.
  @Test(arguments: [false, true]) func compactionReplacesALargeEmptyLog(reopens: Bool) throws {
    var store = try open()
    // A segment with almost full pages, so that nothing in it looks dead.
    var random = SeededRandom(seed: 1)
    for number in 0..<500 { try store.put(random.bytes(8000), for: "\(number)") }
    try store.flush()
    if reopens {
      try store.close()
      store = try open()
    }
    try #require(logBytes > 64 << 10)
    try store.flush(.everything)
    #expect(logBytes == (reopens ? 0 : 64 << 10))
    let before = disk.counters.bytesWritten
    try store.flush(.everything)
    #expect(disk.counters.bytesWritten == before, "then there is nothing left to do")
    try store.close()
    #expect(try open().count == 500)
  }
}

struct PagedWordsTests {
  @Test(arguments: [0, 1, 127, 128, 129, 300, 1024]) func pagesOnDiskAreLoadedOneByOne(count: Int) {
    var words = PagedWords(pagesOnDisk: count)
    #expect(words.pageCount == count)
    #expect(words.firstMissing == (count > 0 ? 0 : nil))
    let frozen = words
    for page in stride(from: 0, to: count, by: 3) {
      words.setWords([UInt64](repeating: UInt64(page), count: PagedWords.wordsPerPage), ofPage: page)
    }
    let pages = (0..<count).filter { $0 % 3 == 0 }
    #expect((0..<count).filter { words.isLoaded($0) } == pages)
    #expect((0..<count).filter { frozen.isLoaded($0) } == [])
    #expect(pages.map { words[$0, 5] } == pages.map { UInt64($0) })
    words.appendPage()
    #expect(words.pageCount == count + 1 && words.isLoaded(count))
  }
}
