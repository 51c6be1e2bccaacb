// Turning to new logs while many threads commit and spares are made in the background.

import Foundation
import Harness
import Testing

@testable import ByteStore

@Suite struct RotationTests {
  /// The story: two commits saw that a spare was wanted, and each had one made. The second removed the
  /// file of the first from under the log that had just taken it, and what was committed there was gone
  /// at the next open.
  @Test func noCommitIsLostWhileSparesAreMade() throws {
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
    for thread in 0..<threads {
      for number in 0..<commits {
        let value = try opened.value(for: [UInt8(thread), UInt8(number)])
        #expect(value == [UInt8](repeating: UInt8(number), count: 3000))
      }
    }
    try opened.close()
  }

  /// The story: a flush that came before a log was half full wrote the next one while all commits waited for its turn.
  @Test func aFlushMakesTheNextLogBeforeItsTurn() throws {
    let disk = SimulatedDisk()
    var platform = disk.platform(seed: 1)
    let watched = WatchedFileSystem(disk)
    platform.fileSystem = watched
    var options = ByteStore.Options()
    options.maintenance = .manual
    let store = try ByteStore.open("/store", options: options, platform: platform)
    try store.put([UInt8](repeating: 1, count: 500_000), for: "a")
    #expect(store.writer.withLock { if case .none = $0.spare { true } else { false } })
    let before = watched.counters
    try store.flush()
    let after = watched.counters
    #expect(after.bytesWritten["log"] == before.bytesWritten["log"])
    #expect(after.bytesWritten["SPARE", default: 0] > 4 * 500_000)
    try store.put([2], for: "b")
    #expect(try store.value(for: "b") == [2])
    try store.close()
  }
}
