// A full disk with a log that removals started.
//
// A put that fits into the log is accepted. The log's context is written if the put and the context both fit.

import Harness
import Testing

@testable import ByteStore

@Suite struct FullDiskContextTests {
  private struct Context: UpperLayer, CheckpointPages {
    let entry: (key: [UInt8], value: [UInt8])
    var logContext: [(key: [UInt8], value: [UInt8])] { [entry] }
    var logContextBytesMax: Int { Batch.bytes(ofPutOf: entry.value.count, for: entry.key) }
    func freeze() -> any CheckpointPages { self }
    func regions() -> [(region: CheckpointRegion, pages: Int)] { [] }
    func payload(_ region: CheckpointRegion, _ page: Int) throws(ByteStoreError) -> [UInt8] { [] }
  }

  private func open(_ machine: TestStore, _ context: Int) throws -> ByteStore {
    var options = ByteStore.Options()
    options.logBytesMin = 64 << 10
    options.maintenance = .manual
    options.upperLayer = Context(entry: (Array("shared".utf8), [UInt8](repeating: 7, count: context)))
    let seed = UInt64(machine.disk.counters.operations)
    return try ByteStore.open(TestStore.path, options: options, platform: machine.disk.platform(seed: seed))
  }

  /// Fills the remaining space with a file of another program.
  private func fillRemainingSpace(_ machine: TestStore) throws {
    let file = try machine.disk.openDirectory("/").createFile("other")
    var offset: UInt64 = 0
    while let taken = try? file.write([UInt8](repeating: 1, count: 4096).rawSpan, at: offset) {
      offset += UInt64(taken)
    }
    file.close()
  }

  private func hasContext(_ machine: TestStore, _ log: String) throws -> Bool {
    let bytes = try #require(machine.disk.image.contents(of: log)).bytes
    return bytes.firstRange(of: Array("shared".utf8)) != nil
  }

  @Test(arguments: [1000, 400_000])
  func smallPutIsAcceptedInALogThatRemovalsStarted(context: Int) throws {
    let machine = TestStore(DiskImage()) { $0.capacity = 8 << 20 }
    var store = try open(machine, context)
    for number in 0..<100 { try store.put([UInt8](repeating: 1, count: 500), for: "key\(number)") }
    try store.close()
    store = try open(machine, context)
    try fillRemainingSpace(machine)
    var batch = Batch()
    for number in 0..<10 { try batch.remove(Array("key\(number)".utf8)) }
    try store.commit(batch)
    let log = try #require(machine.paths("/log-").last)
    try store.put([2], for: "small")
    // A large context does not fit in the log that the removals started. The reserve has space for another
    // log.
    let taken = try #require(machine.paths("/log-").last)
    #expect((taken == log) == (context < 40_000))
    #expect(try hasContext(machine, taken))
    #expect(throws: ByteStoreError.self) {
      try store.put([UInt8](repeating: 3, count: 300_000), for: "large")
    }
    // When there is space again, the next log has the context.
    try machine.disk.openDirectory("/").remove("other")
    try store.put([UInt8](repeating: 3, count: 300_000), for: "large")
    let next = try #require(machine.paths("/log-").last)
    #expect(next != taken)
    #expect(try hasContext(machine, next))
    store.abandon()
    let opened = try open(machine.withAllWritesDurable, context)
    #expect(opened.count == 92)
    #expect(try opened.value(for: "small") == [2])
    try opened.close()
  }

  /// The disk has no space for another log.
  @Test func logDropsAContextThatLeavesNoRoomForAPut() throws {
    let machine = TestStore(DiskImage())
    let platform = machine.disk.platform(seed: 1)
    try machine.disk.createDirectory("/logs")
    let directory = try machine.disk.openDirectory("/logs")
    var context = Batch()
    try context.put([UInt8](repeating: 7, count: 100_000), for: Array("shared".utf8))
    let header = LogHeader(
      fileID: RandomID(high: 3, low: 4), storeID: RandomID(high: 1, low: 2), number: LogNumber(1),
      capacity: 65_536,
      previous: LogHeader.LogEnd(fileID: .zero, length: 0, sequence: .none))
    var log = try LogWriter.create(header, context: context, from: nil, in: directory, platform: platform)
    var removal = Batch()
    try removal.remove(Array("key".utf8))
    #expect(log.hasRoom(for: [removal]))
    var large = Batch()
    try large.put([UInt8](repeating: 3, count: 60_000), for: Array("large".utf8))
    let givesUpForLarge = log.dropContext(for: [large])
    #expect(!givesUpForLarge)
    var put = Batch()
    try put.put([2], for: Array("small".utf8))
    #expect(!log.hasRoom(for: [put]))
    let givesUp = log.dropContext(for: [put])
    #expect(givesUp)
    try log.append([put])
    let bytes = try #require(machine.disk.image.contents(of: "/logs/\(StoreFile.log(LogNumber(1)))")).bytes
    #expect(bytes.firstRange(of: Array("small".utf8)) != nil)
    #expect(bytes.firstRange(of: Array("shared".utf8)) == nil)
  }
}
