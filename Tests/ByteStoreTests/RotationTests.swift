// Rotation while many threads commit and recycled log files are prepared in the background.

import Foundation
import Harness
import Testing

@testable import ByteStore

@Suite struct RotationTests {
  /// Regression: two commits both needed a recycled log file and each prepared one. The second
  /// preparation deleted the first file, which was already in use as a log. The commits in that log were
  /// lost at the next open.
  @Test func noCommitIsLostWhileLogsAreRecycled() throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-bytestore-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var options = ByteStore.Options()
    options.logBytesMin = 64 << 10
    options.logBytesMax = 64 << 10
    let store = try ByteStore.open(folder, options: options)
    let threads = 8
    let commits = 150
    let failures = Locked<[String]>([])
    let group = DispatchGroup()
    for thread in 0..<threads {
      group.enter()
      Thread.detachNewThread {
        defer { group.leave() }
        for number in 0..<commits {
          do throws(ByteStoreError) {
            var batch = Batch()
            try batch.put(
              [UInt8](repeating: UInt8(number), count: 3000), for: [UInt8(thread), UInt8(number)])
            try store.commit(batch, durability: number % 10 == 0 ? .synced : .buffered)
          } catch {
            failures.withLock { $0.append("\(error)") }
          }
        }
      }
    }
    group.wait()
    #expect(failures.withLock { $0 } == [])
    store.abandon()

    let opened = try ByteStore.open(folder, options: options)
    #expect(opened.writer.withLock { $0.manifest.nextLogNumber } > LogNumber(20))
    #expect(opened.count == threads * commits)
    var wrong: [String] = []
    for thread in 0..<threads {
      for number in 0..<commits {
        let value = try opened.value(for: [UInt8(thread), UInt8(number)])
        if value != [UInt8](repeating: UInt8(number), count: 3000) { wrong.append("\(thread)-\(number)") }
      }
    }
    #expect(wrong == [])
    try opened.close()
  }

  /// Regression: a flush of a log that was less than half full wrote the next log file during the flush's
  /// turn, while all commits waited.
  @Test func flushPreparesTheNextLogBeforeItsTurn() throws {
    let disk = SimulatedDisk()
    var platform = disk.platform(seed: 1)
    let watched = WatchedFileSystem(disk)
    platform.fileSystem = watched
    var options = ByteStore.Options()
    options.maintenance = .manual
    let store = try ByteStore.open("/store", options: options, platform: platform)
    try store.put([UInt8](repeating: 1, count: 500_000), for: "a")
    #expect(store.writer.withLock { if case .none = $0.recycledLog { true } else { false } })
    let before = watched.counters
    try store.flush()
    let after = watched.counters
    #expect(after.bytesWritten["log"] == before.bytesWritten["log"])
    #expect(after.bytesWritten["SPARE", default: 0] > 4 * 500_000)
    try store.put([2], for: "b")
    #expect(try store.value(for: "b") == [2])
    try store.close()
  }

  /// Regression: a commit had waited through a rotation, and a flush rotated again before the commit's own
  /// group. The commit waited for ten syncs.
  @Test func flushDoesNotRotateTwiceWhileACommitWaits() throws {
    let store = try TestStore().open()
    try store.put([1], for: "rotates to the first log")
    func mayFlushRotate(_ groups: UInt64? = nil) -> Bool {
      store.state.withLock { $0.mayFlushRotate(since: groups ?? $0.groups) }
    }
    #expect(mayFlushRotate(), "no commit waits")
    var batch = Batch()
    try batch.put([2], for: Array("waits".utf8))
    let waiting = try store.enqueue(batch)
    #expect(mayFlushRotate(), "it may be long until this one is finished")
    store.state.withLock { _ in waiting.ticket.isAwaited = true }
    #expect(!mayFlushRotate())
    #expect(!store.state.withLock { $0.mayFlushRotate(since: $0.groups - 1) })
    let flush = WorkerThread { try? store.flush() }
    for _ in 0..<10_000 where store.state.withLock({ !$0.isFlushing }) { WorkerThread.yield() }
    for _ in 0..<1000 { WorkerThread.yield() }
    try store.finish(waiting)
    flush.join()
    #expect(
      store.writer.withLock { $0.log?.isEmpty } == true, "it was flushed with the commit that it waited for")
    try store.close()
  }

  /// Regression: during the preparation of a recycled log file, a flush rotated to a log of 64 KiB. The
  /// next group had to rotate again.
  @Test func flushDuringRecyclingLeavesRoomForTheNextGroup() throws {
    let store = try TestStore().open()
    let value = [UInt8](repeating: 1, count: 400_000)
    try store.put(value, for: "before")
    store.writer.withLock { $0.recycledLog = .inProgress }
    try store.flush()
    let log = store.writer.withLock { $0.log?.header.number }
    try store.put(value, for: "behind")
    #expect(store.writer.withLock { $0.log?.header.number } == log)
    store.writer.withLock { $0.recycledLog = .none }
    try store.close()
  }

  /// Regression: the flush came when the log had just begun, and the capacity of the next log was derived
  /// from the few bytes in this log.
  @Test func flushOfANewLogLeavesRoomForTheNextGroups() throws {
    let store = try TestStore().open()
    let value = [UInt8](repeating: 1, count: 300_000)
    try store.put(value, for: "large")
    try store.flush()
    try store.put([1], for: "small")
    #expect(store.writer.withLock { $0.log?.header.capacity } ?? 0 > 1 << 20)
    try store.flush()
    let log = store.writer.withLock { $0.log?.header.number }
    for number in 0..<3 { try store.put(value, for: "\(number)") }
    #expect(store.writer.withLock { $0.log?.header.number } == log)
    try store.close()
  }

  /// With logs that hold one group each, a flush without this limit would wait forever.
  @Test func flushWaitsForTwoGroupsAtMost() throws {
    let store = try TestStore().open()
    var state = ByteStore.State()
    let ticket = try store.enqueue(Batch()).ticket
    ticket.isAwaited = true
    state.queue = [ticket]
    state.groupEnded(hasRotated: true)
    #expect(!state.mayFlushRotate(since: 1))
    state.groupEnded(hasRotated: true)
    #expect(!state.mayFlushRotate(since: 1))
    state.groupEnded(hasRotated: true)
    #expect(state.mayFlushRotate(since: 1))
    state.groupEnded(hasRotated: false)
    #expect(state.mayFlushRotate(since: 4), "the last one did not rotate")
    store.abandon()
  }
}
