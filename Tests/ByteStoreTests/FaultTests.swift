// The results of operations on a failing disk, and the state afterwards.

import ByteStore
import Harness
import Testing

struct FaultTests {
  @Test func fullDiskRefusesACommitUntilThereIsRoom() throws {
    let machine = TestStore()
    let store = try machine.open()
    machine.disk.failNext(.noSpace, isSticky: true)
    guard
      case .system(let failure) = try storeError({ () throws(ByteStoreError) in try store.put([1], for: "a") }
      )
    else {
      Issue.record("a full disk is no reason to poison the writer")
      return
    }
    #expect(failure.isOutOfSpace)
    #expect(try store.value(for: "a") == nil)

    machine.disk.setFault(nil)
    try store.put([2], for: "a")
    #expect(try machine.after(.powerLoss(.nothing, seed: 0)).open().value(for: "a") == [2])
  }

  @Test func failedSyncEndsAllWritingUntilTheStoreIsReopened() throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([1], for: "a")
    machine.failSyncOfNextCommit()
    for key in ["b", "c"] {
      guard
        case .outcomeUnknown = try storeError({ () throws(ByteStoreError) in try store.put([2], for: key) })
      else {
        Issue.record("a commit after a failed sync")
        return
      }
    }
    #expect(try store.value(for: "a") == [1])
    try store.close()
    let reopened = try machine.open()
    try reopened.put([3], for: "c")
    #expect(try reopened.value(for: "a") == [1])
  }

  /// Regression: a sync failed and the process continued. The page cache still contained the commit, so a new
  /// process showed the commit as well and recorded a log end after it. The sync of the new process had
  /// nothing to write, however. After a power loss the commit was gone, the recorded end was beyond the last
  /// frame, and the store was reported as corrupted.
  @Test(arguments: 0..<8 as Range<UInt64>)
  func commitVisibleAfterAFailedSyncIsDurable(seed: UInt64) throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([1], for: "a")
    machine.failSyncOfNextCommit()
    #expect(throws: ByteStoreError.self) { try store.put([2], for: "b") }
    try store.close()

    let reopened = try machine.open()
    let shown = try reopened.value(for: "b")
    try reopened.put([3], for: "c")
    let recovered = try machine.after(.powerLoss(.random, seed: seed)).open()
    #expect(try recovered.value(for: "b") == shown)
    #expect(try recovered.value(for: "c") == [3])
  }

  /// Regression: the sync of a new store's directory failed and dropped the manifest's name. A new process
  /// saw the manifest and created a log, and the sync of the log's name succeeded. After a power loss, the
  /// log existed without a manifest, which is damage.
  @Test(arguments: 0..<8 as Range<UInt64>)
  func newStoreSurvivesAFailedSyncOfItsDirectory(seed: UInt64) throws {
    let machine = TestStore(seed: seed)
    let trace = TestStore()
    _ = try trace.open()
    let call = try #require(
      trace.disk.trace.firstIndex { $0.operation == .syncDirectory && $0.path == TestStore.path })
    machine.disk.setFault(FaultPlan(.inputOutput, at: call))
    #expect(throws: ByteStoreError.self) { try machine.open() }

    let store = try machine.open()
    try store.put([1], for: "a")
    #expect(try machine.after(.powerLoss(.nothing, seed: 0)).open().value(for: "a") == [1])
  }

  /// Regression: a crash left a log that no manifest named yet, and its blocks still held the content of the
  /// previous log. The open read the stale header and the stale commit, and considered the manifest outdated.
  @Test func staleBlocksInAnUnnamedLogAreNoDamage() throws {
    let machine = TestStore()
    try machine.open().put([1], for: "a")
    var image = machine.withAllWritesDurable.disk.image
    image.replace("/store/log-0000000002", with: try #require(image.contents(of: TestStore.firstLog)))
    let store = try TestStore(image).open()
    #expect(try store.value(for: "a") == [1])
  }

  @Test func unnamedLogOfAnotherStoreIsNotDeleted() throws {
    let stranger = TestStore()
    try stranger.open().put([1], for: "theirs")
    let machine = TestStore()
    let store = try ByteStore.open(TestStore.path, platform: machine.disk.platform(seed: 99))
    try store.close()
    var image = machine.disk.image
    image.replace(
      TestStore.firstLog, with: try #require(stranger.disk.image.contents(of: TestStore.firstLog)))
    let mixed = TestStore(image)
    guard case .foreignFile = try storeError({ () throws(ByteStoreError) in _ = try mixed.open() })
    else {
      Issue.record("a log with commits was taken for a leftover")
      return
    }
    #expect(mixed.disk.image.contents(of: TestStore.firstLog) != nil)
  }

  /// Regression: a power loss interrupted the writing of a checkpoint. Its blocks still held the checkpoint
  /// of another store, which was a backup on the same disk. The open reported the checkpoint as a foreign
  /// file.
  @Test func staleBlocksInAnUnnamedCheckpointAreNoForeignFile() throws {
    let stranger = try flushed("theirs", times: 2, seed: 99)
    var image = try flushed("ours", times: 1, seed: 1).disk.image
    let name = "/store/checkpoint-0000000004"
    image.replace(name, with: try #require(stranger.disk.image.contents(of: name)))
    let machine = TestStore(image)
    #expect(try machine.open().value(for: "ours0") == [1])
    #expect(machine.disk.image.contents(of: name) == nil)
  }

  /// Regression: as before, but the stale checkpoint had the number of the checkpoint that the manifest
  /// names. The open looked for the segments of the stale checkpoint, found the store's own segments, and
  /// reported a foreign file.
  @Test func staleBlocksWithOurCheckpointNumberAreNoForeignFile() throws {
    let stranger = try flushed("theirs", times: 1, seed: 99)
    var image = try flushed("ours", times: 1, seed: 1).disk.image
    let name = "/store/checkpoint-0000000004"
    image.replace(name, with: try #require(stranger.disk.image.contents(of: "/store/checkpoint-0000000002")))
    let machine = TestStore(image)
    #expect(try machine.open().value(for: "ours0") == [1])
    #expect(machine.disk.image.contents(of: name) == nil)
  }

  /// A foreign checkpoint together with its segments belongs to another store, whose manifest was replaced.
  @Test func foreignCheckpointWithItsSegmentsIsNotDeleted() throws {
    let stranger = try flushed("theirs", times: 2, seed: 99)
    var image = try flushed("ours", times: 1, seed: 1).disk.image
    for name in ["/store/segment-0000000003", "/store/checkpoint-0000000004"] {
      image.replace(name, with: try #require(stranger.disk.image.contents(of: name)))
    }
    let mixed = TestStore(image)
    guard case .foreignFile = try storeError({ () throws(ByteStoreError) in _ = try mixed.open() }) else {
      Issue.record("a checkpoint of another store was taken for a leftover")
      return
    }
    #expect(mixed.disk.image.contents(of: "/store/segment-0000000003") != nil)
  }

  private func flushed(_ key: String, times: Int, seed: UInt64) throws -> TestStore {
    let machine = TestStore()
    let store = try ByteStore.open(TestStore.path, platform: machine.disk.platform(seed: seed))
    for time in 0..<times {
      try store.put([1], for: "\(key)\(time)")
      try store.flush()
    }
    try store.close()
    return TestStore(machine.disk.image(after: .kill))
  }

  @Test func shortTransfersAreCompleted() throws {
    let machine = TestStore()
    machine.disk.setFault(FaultPlan(.short, at: 0, isSticky: true))
    let value = [UInt8](repeating: 3, count: 10_000)
    let store = try machine.open()
    try store.put(value, for: "a")
    try store.close()
    #expect(try machine.open().value(for: "a") == value)
  }
}

extension TestStore {
  /// A commit to an existing log takes one write and one sync. The second call fails.
  func failSyncOfNextCommit() {
    disk.setFault(FaultPlan(.inputOutput, at: disk.counters.operations + 1))
  }
}
