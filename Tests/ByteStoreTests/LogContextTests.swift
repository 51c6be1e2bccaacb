// The context of a log, which repeats entries of earlier logs for the upper layer.
//
// The context is written with the log's first puts, and only a salvage reads it.

import Harness
import Testing

@testable import ByteStore
@testable import StoreTools

@Suite struct LogContextTests {
  private struct Context: UpperLayer, CheckpointPages {
    var logContext: [(key: [UInt8], value: [UInt8])]
    var logContextBytesMax: Int { logContext.reduce(0) { $0 + 7 + $1.key.count + $1.value.count } }
    func freeze() -> any CheckpointPages { self }
    func regions() -> [(region: CheckpointRegion, pages: Int)] { [] }
    func payload(_ region: CheckpointRegion, _ page: Int) throws(ByteStoreError) -> [UInt8] { [] }
  }

  private func open(_ machine: TestStore, _ context: Int) throws -> ByteStore {
    var options = ByteStore.Options()
    options.logBytesMin = 64 << 10
    options.maintenance = .manual
    options.upperLayer = Context(
      logContext: [(Array("shared".utf8), [UInt8](repeating: 7, count: context))])
    let seed = UInt64(machine.disk.counters.operations)
    return try ByteStore.open(TestStore.path, options: options, platform: machine.disk.platform(seed: seed))
  }

  private func hasContext(_ machine: TestStore, _ log: String) throws -> Bool {
    let bytes = try #require(machine.disk.image.contents(of: log)).bytes
    return bytes.firstRange(of: Array("shared".utf8)) != nil
  }

  @Test func firstPutsOfALogCarryTheContext() throws {
    let machine = TestStore()
    let store = try open(machine, 100)
    let before = machine.disk.counters.fileSyncs
    try store.put([1], for: "a")
    #expect(try hasContext(machine, TestStore.firstLog))
    let syncs = machine.disk.counters.fileSyncs - before
    try store.put([2], for: "b")
    // The first commit created a log, the second did not. Neither needed an extra sync for the context.
    let plain = TestStore()
    let other = try plain.open()
    let otherBefore = plain.disk.counters.fileSyncs
    try other.put([1], for: "a")
    #expect(plain.disk.counters.fileSyncs - otherBefore == syncs)
    store.abandon()
    other.abandon()
    let opened = try open(machine.withAllWritesDurable, 100)
    #expect(opened.count == 2)
    #expect(opened.lastCommit.value == 2)
    #expect(try opened.value(for: "shared") == nil)
    try opened.close()
  }

  /// A torn context loses no commit: either the commits of its group were never acknowledged, or the group is
  /// complete without the context.
  @Test func commitsBeforeATornContextSurvive() throws {
    let machine = TestStore()
    let store = try open(machine, 10_000)
    try store.put([1], for: "a", .buffered)
    store.abandon()
    let torn = try machine.withAllWritesDurable.changing(TestStore.firstLog) { bytes in
      for index in 8192..<12_288 { bytes[index] = 0 }
    }
    let opened = try open(torn, 10_000)
    #expect(try opened.value(for: "a") == [1])
    #expect(opened.recoveryReport.losses.count == 1)
    try opened.close()
    #expect(try ByteStore.check(TestStore.path, platform: torn.disk.platform(seed: 3)).isSound)
  }

  @Test func aLogHasRoomForALargeContext() throws {
    let machine = TestStore()
    let store = try open(machine, 300_000)
    try store.put([1], for: "a")
    try store.flush()
    try store.put([2], for: "b")
    // The flush started the second log, which has room for the context as well.
    #expect(machine.paths("/log-").count == 1)
    #expect(try hasContext(machine, try #require(machine.paths("/log-").last)))
    try store.close()
  }

  @Test func removalsDoNotCarryTheContext() throws {
    let machine = TestStore()
    var store = try open(machine, 1000)
    try store.put([1], for: "a")
    try store.close()
    store = try open(machine, 1000)
    var batch = Batch()
    try batch.remove(Array("a".utf8))
    try store.commit(batch)
    let log = try #require(machine.paths("/log-").last)
    #expect(try !hasContext(machine, log))
    try store.put([2], for: "b")
    #expect(try hasContext(machine, log))
    try store.put([3], for: "c")
    try store.close()
    let bytes = try #require(machine.disk.image.contents(of: log)).bytes
    #expect(bytes.ranges(of: Array("shared".utf8)).count == 1)
  }

  @Test func salvageUsesTheContextForMissingEntries() throws {
    let machine = TestStore()
    var store = try open(machine, 1000)
    try store.put([UInt8](repeating: 7, count: 1000), for: "shared")
    try store.put([1], for: "a")
    try store.close()
    store = try open(machine, 1000)
    try store.put([2], for: "b")
    try store.close()
    var image = machine.disk.image
    image.delete(TestStore.firstLog)
    let damaged = TestStore(image)
    _ = try ByteStore.salvage(TestStore.path, platform: damaged.disk.platform(seed: 5))
    let opened = try open(damaged, 1000)
    #expect(try opened.value(for: "shared") == [UInt8](repeating: 7, count: 1000))
    #expect(try opened.value(for: "b") == [2])
    #expect(try opened.value(for: "a") == nil)
    try opened.close()
  }
}
