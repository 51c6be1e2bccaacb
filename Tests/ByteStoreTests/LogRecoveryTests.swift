// Recovery of the WAL after a crash, after damage and with foreign files, one case per test.

import ByteStore
import Harness
import StoreTools
import Testing

struct LogRecoveryTests {
  private let log = TestStore.firstLog
  /// Groups start at page boundaries: the first commit is at 4096, and each commit here takes one page.
  private let secondFrame = 8192
  private let thirdFrame = 12288
  private let value = [UInt8](repeating: 7, count: 3000)

  private func storeWithThreeCommits() throws -> TestStore {
    let machine = TestStore()
    let store = try machine.open()
    for key in ["a", "b", "c"] { try store.put(value, for: key) }
    return machine.withAllWritesDurable
  }

  // MARK: After a crash

  @Test func tornTailIsDroppedAndEarlierCommitsSurvive() throws {
    // Only the first sector of the third frame reached the disk.
    let machine = try storeWithThreeCommits().changing(log) { bytes in
      bytes.replaceSubrange(thirdFrame + 512..<16384, with: repeatElement(0, count: 16384 - 512 - thirdFrame))
    }
    let store = try machine.open()
    #expect(try store.value(for: "a") == value)
    #expect(try store.value(for: "b") == value)
    #expect(try store.value(for: "c") == nil)
    #expect(store.lastCommit == SequenceNumber(2))
  }

  @Test func droppedBytesAreNamedInTheReport() throws {
    let machine = try storeWithThreeCommits().changing(log) { $0[thirdFrame + 1000] ^= 1 }
    let loss = try #require(try machine.open().recoveryReport.losses.first)
    #expect(loss.file == log)
    #expect(loss.offset > UInt64(secondFrame) && loss.offset <= UInt64(thirdFrame))
    #expect(loss.offset + loss.length > UInt64(thirdFrame) + 3000)
  }

  @Test func onlyAnUncleanStopIsReported() throws {
    let machine = TestStore()
    try machine.open().put([1], for: "a")
    let killed = machine.after(.kill)
    let store = try killed.open()
    #expect(!store.recoveryReport.wasClosedCleanly)
    #expect(store.recoveryReport.losses.isEmpty)
    try store.put([2], for: "b")
    try store.close()
    #expect(try killed.open().recoveryReport.wasClosedCleanly)
  }

  @Test func droppedCommitStaysDroppedAfterNewOnes() throws {
    let torn = try storeWithThreeCommits().changing(log) { $0[thirdFrame + 1000] ^= 1 }
    try torn.open().put([1], for: "d")
    let store = try torn.after(.kill).open()
    #expect(try store.value(for: "c") == nil)
    #expect(try store.value(for: "d") == [1])
    #expect(store.lastCommit == SequenceNumber(3))
  }

  /// Regression: maintenance syncs buffered commits, but it has to wait for its turn. Under continuous
  /// buffered commits, its turn never came.
  @Test func continuousBufferedCommitsAreSyncedInTime() throws {
    let machine = TestStore()
    let clock = SimulatedClock()
    var options = ByteStore.Options()
    options.maintenance = .manual
    var platform = machine.disk.platform(seed: 1)
    platform.clock = clock
    let store = try ByteStore.open(TestStore.path, options: options, platform: platform)
    try store.put([0], for: "synced")
    func survivors() throws -> [String] {
      let opened = try machine.after(.powerLoss(.nothing, seed: 1)).open()
      return try ["first", "second", "third", "fourth"].filter { try opened.value(for: $0) != nil }
    }
    try store.put([1], for: "first", .buffered)
    clock.advance(nanoseconds: 79_000_000)
    try store.put([2], for: "second", .buffered)
    #expect(try survivors() == [])
    clock.advance(nanoseconds: 1_000_000)
    try store.put([3], for: "third", .buffered)
    #expect(try survivors() == ["first", "second", "third"])
    // The time limit starts again here.
    clock.advance(nanoseconds: 79_000_000)
    try store.put([4], for: "fourth", .buffered)
    #expect(try survivors() == ["first", "second", "third"])
    try store.close()
  }

  @Test func bufferedCommitsSurviveAKillAndSyncedOnesAPowerLoss() throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([1], for: "synced")
    try store.put([2], for: "buffered", .buffered)
    #expect(try machine.after(.kill).open().value(for: "buffered") == [2])
    let unlucky = try machine.after(.powerLoss(.nothing, seed: 0)).open()
    #expect(try unlucky.value(for: "synced") == [1])
    #expect(try unlucky.value(for: "buffered") == nil)
  }

  // MARK: After damage

  @Test func frameDamagedBeforeALaterDurableOneIsCorruptedWithFileAndOffset() throws {
    let machine = try storeWithThreeCommits().changing(log) { $0[secondFrame + 1000] ^= 1 }
    guard
      case .corrupted(let damage) = try storeError({ () throws(ByteStoreError) in _ = try machine.open() })
    else {
      Issue.record("the damage was not noticed")
      return
    }
    #expect(damage.file == log)
    #expect(damage.offset > 4096 && damage.offset <= UInt64(secondFrame))
  }

  @Test func openThatFindsDamageChangesNothing() throws {
    let machine = try storeWithThreeCommits().changing(log) { $0[secondFrame + 1000] ^= 1 }
    let before = machine.disk.image.contents(of: log)?.bytes
    #expect((1...2).filter { _ in (try? machine.open()) != nil } == [])
    #expect(machine.disk.image.contents(of: log)?.bytes == before)
  }

  @Test func watermarkProtectsTheLastCommit() throws {
    let machine = TestStore()
    let store = try machine.open()
    for key in ["a", "b", "c"] { try store.put(value, for: key) }
    while store.performMaintenance() {}
    let damaged = try machine.withAllWritesDurable.changing(log) { $0[thirdFrame + 1000] ^= 1 }
    guard case .corrupted = try storeError({ () throws(ByteStoreError) in _ = try damaged.open() })
    else {
      Issue.record("the last commit was dropped in silence")
      return
    }
  }

  // MARK: Foreign files

  @Test func secondOpenerIsRefusedUntilTheFirstCloses() throws {
    let machine = TestStore()
    let store = try machine.open()
    guard case .locked = try storeError({ () throws(ByteStoreError) in _ = try machine.open() })
    else {
      Issue.record("two openers")
      return
    }
    try store.close()
    try machine.open().close()
  }

  @Test func crashLeavesNoLock() throws {
    let machine = TestStore()
    let store = try machine.open()
    _ = try machine.after(.kill).open()
    _ = try machine.after(.powerLoss(.everything, seed: 0)).open()
    try store.close()
  }

  @Test func foreignDirectoryIsRefusedAndUnchanged() throws {
    let machine = TestStore()
    try machine.disk.createDirectory(TestStore.path)
    _ = try machine.disk.openDirectory(TestStore.path).createFile("holiday.jpg")
    let error = try storeError { () throws(ByteStoreError) in _ = try machine.open() }
    #expect(error == .notAStore(directory: TestStore.path, found: "holiday.jpg"))
    #expect(machine.disk.image.paths == ["/store/holiday.jpg"])
  }

  @Test func missingStoreIsOnlyCreatedOnRequest() throws {
    let machine = TestStore()
    let error = try storeError { () throws(ByteStoreError) in
      _ = try machine.open(createsIfMissing: false)
    }
    #expect(error == .noStore(directory: TestStore.path))
  }

  @Test func newerFormatIsRefusedByName() throws {
    let manifest = "/store/MANIFEST"
    let machine = try storeWithThreeCommits().changing(manifest) { bytes in
      bytes[9] = 1
      bytes[bytes.count - 1] ^= 1
    }
    guard
      case .newerFormat(let file, let found, _) = try storeError({ () throws(ByteStoreError) in
        _ = try machine.open()
      })
    else {
      Issue.record("a newer format was read")
      return
    }
    #expect(file == manifest)
    #expect(found >= 256)
  }

  /// Regression: one bit of the version number flipped, and the open asked for a newer release, while
  /// the check reported the damage.
  @Test func corruptedVersionNumberIsDamage() throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put(value, for: "a")
    try store.flush()
    try store.put(value, for: "b")
    store.abandon()
    var wrong: [String] = []
    for kind in ["/MANIFEST", "/log-", "/checkpoint-", "/segment-"] {
      let path = try #require(machine.disk.image.paths.first { $0.contains(kind) })
      let damaged = try machine.changing(path) { $0[8] ^= 4 }
      let error = try storeError { () throws(ByteStoreError) in
        let store = try damaged.open()
        defer { store.abandon() }
        _ = try store.value(for: "a")
      }
      let found = try ByteStore.check(TestStore.path, platform: damaged.disk.platform(seed: 2)).findings
      guard case .corrupted(let damage) = error else {
        wrong.append("\(path): \(error)")
        continue
      }
      if damage.file != path || damage.offset != 8 || !found.contains(damage) {
        wrong.append("\(path): \(damage), \(found)")
      }
    }
    #expect(wrong == [])
  }

  @Test func logOfAnotherStoreIsRefused() throws {
    var image = try storeWithThreeCommits().disk.image
    let stranger = TestStore()
    let other = try ByteStore.open(TestStore.path, platform: stranger.disk.platform(seed: 99))
    try other.put(value, for: "a")
    image.replace(log, with: try #require(stranger.disk.image.contents(of: log)))
    let error = try storeError { () throws(ByteStoreError) in _ = try TestStore(image).open() }
    guard case .foreignFile(let file, _, let found) = error else {
      Issue.record("another store's log was read: \(error)")
      return
    }
    #expect(file == log)
    #expect(found == other.storeID)
  }
}
