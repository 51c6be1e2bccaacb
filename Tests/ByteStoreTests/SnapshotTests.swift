// Snapshots and concurrent closing.

import ByteStore
import Harness
import Testing

@Suite struct SnapshotTests {
  /// Regression: a snapshot was closed while one of its reads waited for the disk. The snapshot's key
  /// directory was then already empty, and the read reported a missing key.
  @Test func readDuringACloseDoesNotReportAMissingKey() throws {
    let machine = TestStore()
    let first = try machine.open()
    try first.put([1], for: "key")
    try first.flush()
    try first.close()

    var platform = machine.disk.platform(seed: 1)
    let watched = WatchedFileSystem(machine.disk)
    platform.fileSystem = watched
    let store = try ByteStore.open(TestStore.path, platform: platform)
    let snapshot = try store.snapshot()
    watched.beforeNextRead { snapshot.close() }
    let error = try storeError { () throws(ByteStoreError) in _ = try snapshot.value(for: Array("key".utf8)) }
    #expect(error == .closed(directory: TestStore.path))
  }

  /// The entries alternate between two segments and the memtable, and some ordinals are unused.
  @Test func entriesOfSeveralSegmentsAreReadInTheGivenOrder() throws {
    let store = try TestStore().open()
    var expected: [[UInt8]: [UInt8]] = [:]
    func put(_ numbers: Range<Int>) throws {
      for number in numbers {
        let value = [UInt8](repeating: UInt8(number), count: 20 * number)
        try store.put(value, for: "key \(number)")
        expected[Array("key \(number)".utf8)] = value
      }
    }
    try put(0..<20)
    try store.flush()
    try put(20..<40)
    try store.flush()
    try put(40..<60)
    let snapshot = try store.snapshot()
    let pooled = snapshot.takeBuffer()
    defer { snapshot.recycle(pooled) }
    var inTurn: [UInt32] = []
    for number in UInt32(0)..<20 { inTurn += [number, number + 20, number + 40, 1000] }
    let backward: [UInt32] = inTurn.reversed()
    let ascending: [UInt32] = Array(0..<70)
    for ordinals in [inTurn, backward, ascending, []] {
      var order: [UInt32] = []
      var found: [[UInt8]: [UInt8]] = [:]
      let isComplete = try snapshot.forEach(ordinals, using: &pooled.buffer) { ordinal, key, value in
        order.append(ordinal)
        found[Array(copying: key)] = Array(copying: value)
        return true
      }
      #expect(isComplete && order == ordinals.filter { $0 < 60 })
      #expect(ordinals.isEmpty || found == expected)
    }
    var visits = 0
    let isComplete = try snapshot.forEach(inTurn, using: &pooled.buffer) { _, _, _ in
      visits += 1
      return visits < 7
    }
    #expect(!isComplete && visits == 7)
    snapshot.close()
    try store.close()
  }
}
