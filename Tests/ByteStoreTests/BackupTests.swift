// Hot backups: their contents, valid targets, and what remains of a failed backup.

import Harness
import Testing

@testable import ByteStore
@testable import StoreTools

struct BackupTests {
  private let machine = TestStore()
  private static let target = "/copies/today"

  private func value(_ number: Int) -> [UInt8] {
    var random = SeededRandom(seed: UInt64(number))
    return random.bytes(number % 40 == 0 ? 20_000 : 500)
  }

  /// Keys in a segment, some of them dead, and keys in the memtable.
  private func makeStore(_ options: (inout ByteStore.Options) -> Void = { _ in }) throws -> ByteStore {
    var all = ByteStore.Options()
    all.maintenance = .manual
    all.segmentBytesMax = 64 << 10
    options(&all)
    let store = try ByteStore.open(
      TestStore.path, options: all, platform: machine.disk.platform(seed: 1))
    for number in 0..<100 { try store.put(value(number), for: "key\(number)") }
    try store.flush()
    for number in 50..<60 { try store.put([UInt8(number)], for: "key\(number)") }
    for number in 90..<100 {
      var batch = Batch(stamp: UInt64(number))
      try batch.remove(Array("key\(number)".utf8))
      try store.commit(batch)
    }
    return store
  }

  private func open(
    _ path: String, on machine: TestStore, createsIfMissing: Bool = false
  ) throws(ByteStoreError) -> ByteStore {
    var options = ByteStore.Options()
    options.createsIfMissing = createsIfMissing
    options.maintenance = .manual
    return try ByteStore.open(path, options: options, platform: machine.disk.platform(seed: 77))
  }

  private func reopen(_ change: (inout ByteStore.Options) -> Void) throws -> ByteStore {
    var options = ByteStore.Options()
    options.maintenance = .manual
    change(&options)
    return try ByteStore.open(TestStore.path, options: options, platform: machine.disk.platform(seed: 5))
  }

  private func contents(of machine: TestStore, _ path: String) throws -> [[UInt8]: [UInt8]] {
    try contents(of: try open(path, on: machine))
  }

  private func contents(of store: ByteStore) throws -> [[UInt8]: [UInt8]] {
    var contents: [[UInt8]: [UInt8]] = [:]
    try store.snapshot().forEach { _, key, value in contents[Array(copying: key)] = Array(copying: value) }
    return contents
  }

  private func contents(of path: String) throws -> [String: [UInt8]] {
    let image = machine.disk.image
    let files = image.paths.filter { $0.hasPrefix(path + "/") }
    return Dictionary(uniqueKeysWithValues: files.map { ($0, image.contents(of: $0)!.bytes) })
  }

  // MARK: Contents

  @Test func backupIsACompleteSeparateStore() throws {
    let store = try makeStore()
    let report = try store.backup(to: Self.target)
    #expect(report.sequence == store.lastCommit && report.keys == 90)
    #expect(report.storeID != store.storeID)
    #expect(report.durability == store.durability)
    let files = try contents(of: Self.target).filter { !$0.key.hasSuffix("/LOCK") }
    #expect(report.bytes == UInt64(files.reduce(0) { $0 + $1.value.count }))
    #expect(!files.keys.contains { $0.hasSuffix("/BACKUP") })

    let copy = try open(Self.target, on: machine.after(.powerLoss(.nothing, seed: 1)))
    #expect(copy.storeID == report.storeID)
    #expect(copy.lastCommit == store.lastCommit && copy.lastStamp == 99)
    #expect(try contents(of: copy) == contents(of: store))
    try copy.checkInvariants()
    #expect(copy.recoveryReport == RecoveryReport())
  }

  @Test func backupAcceptsCommitsFlushesAndBackups() throws {
    let store = try makeStore()
    try store.backup(to: Self.target)
    let copy = try open(Self.target, on: machine)
    try copy.put([1], for: "new")
    #expect(copy.lastCommit == store.lastCommit.next)
    try copy.flush(.everything)
    try copy.backup(to: "/copies/second")
    try copy.close()
    let reopened = try open(Self.target, on: machine.withAllWritesDurable)
    #expect(try reopened.value(for: "new") == [1])
    #expect(
      try contents(of: reopened) == contents(of: try open("/copies/second", on: machine.withAllWritesDurable))
    )
    #expect(try store.value(for: "new") == nil)
  }

  @Test func emptyStoreCanBeBackedUp() throws {
    let store = try machine.open()
    #expect(try store.backup(to: Self.target).keys == 0)
    let copy = try open(Self.target, on: machine)
    #expect(copy.count == 0 && copy.lastCommit == .none)
    try copy.put([1], for: "a")
  }

  @Test func backupExcludesOperationsBetweenItsSteps() throws {
    let flushing = Locked<ByteStore?>(nil)
    let steps = Locked<[FlushStep]>([])
    try makeStore().close()
    // No segment is open yet. The flush must open the segments that it deletes, because the backup reads
    // them.
    let store = try reopen {
      $0.betweenFlushSteps = { step in
        guard let store = flushing.withLock({ $0 }) else { return }
        let number = steps.withLock { steps in
          steps.append(step)
          return steps.count
        }
        // This closure runs on the backup's thread, and its commits would deadlock if the backup held a lock.
        _ = try? store.put([1], for: "during\(number)")
        _ = try? store.put([2], for: "key\(number)")
        guard number == 1 else { return }
        flushing.withLock { $0 = nil }
        try? store.flush(.everything)
        flushing.withLock { $0 = store }
      }
    }
    let before = try contents(of: TestStore(machine.disk.image(after: .kill)), TestStore.path)
    let sequence = store.lastCommit
    flushing.withLock { $0 = store }
    let report = try store.backup(to: Self.target)
    flushing.withLock { $0 = nil }
    #expect(steps.withLock { $0.count } > 3)
    #expect(report.sequence == sequence)
    #expect(try contents(of: try open(Self.target, on: machine)) == before)
    #expect(try store.value(for: "during1") == [1])
    #expect(store.statistics.snapshots == Statistics.Snapshots())
  }

  @Test func upperLayerPagesMatchTheOrdinalsInABackup() throws {
    let store = try makeStore { $0.upperLayer = Numbering() }
    try store.backup(to: Self.target)
    let copy = try open(Self.target, on: machine)
    #expect(try copy.checkpoint?.payload(Numbering.region, 1).prefix(3) == [7, 7, 7])
    try copy.table.loadAll()
    let (mine, theirs) = (store.table.frozen(), copy.table.frozen())
    var wrong: [String] = []
    for number in 0..<90 {
      let key = Array("key\(number)".utf8)
      let ordinals = (0..<UInt32(mine.ordinals)).filter { mine.isOrdinal($0, of: key.rawSpan) }
      let copied = (0..<UInt32(theirs.ordinals)).filter { theirs.isOrdinal($0, of: key.rawSpan) }
      if ordinals != copied { wrong.append("key\(number): \(copied), not \(ordinals)") }
    }
    #expect(wrong == [])
  }

  private struct Numbering: UpperLayer, CheckpointPages {
    static let region = CheckpointRegion.firstOfUpperLayer
    func freeze() -> any CheckpointPages { self }
    func regions() -> [(region: CheckpointRegion, pages: Int)] { [(Self.region, 2)] }
    func payload(_ region: CheckpointRegion, _ page: Int) -> [UInt8] { page == 1 ? [7, 7, 7] : [] }
  }

  @Test func reopenedStoreIsBackedUpFromItsCheckpoint() throws {
    try makeStore().close()
    let store = try open(TestStore.path, on: machine)
    let report = try store.backup(to: Self.target)
    #expect(report.sequence == SequenceNumber(120))
    #expect(try contents(of: try open(Self.target, on: machine)) == contents(of: store))
  }

  @Test func poisonedStoreIsBackedUpAsReadersSeeIt() throws {
    let store = try makeStore()
    let before = try contents(of: store)
    machine.disk.setFault(FaultPlan(.inputOutput, at: machine.disk.counters.operations + 1))
    #expect(throws: ByteStoreError.self) { try store.put([1], for: "key1") }
    try store.backup(to: Self.target)
    #expect(try contents(of: try open(Self.target, on: machine)) == before)
  }

  @Test func progressReachesTheTotalAndMayUseTheStore() throws {
    let store = try makeStore()
    var seen: [BackupProgress] = []
    var snapshots: Set<Int> = []
    try store.backup(to: Self.target) { progress in
      seen.append(progress)
      snapshots.insert(store.statistics.snapshots.count)
      _ = try? store.put([1], for: "progress\(seen.count)")
    }
    #expect(seen.count > 3)
    #expect(snapshots == [1])
    let writing = seen.prefix { $0.step == .writing }
    let verifying = seen.dropFirst(writing.count)
    let done = [writing, verifying].map { step in step.map(\.bytesDone) }
    #expect(done == done.map { $0.sorted() })
    #expect(done.map(\.last) == [writing.last?.bytesTotal, verifying.last?.bytesTotal])
    #expect(verifying.first?.bytesDone == 0 && verifying.allSatisfy { $0.step == .verifying })
    #expect(try store.value(for: "progress1") == [1])
  }

  // MARK: Targets

  @Test(arguments: ["letter.txt", "MANIFEST", "segment-0000000001", "SPARE"])
  func nonemptyDirectoryIsRefusedAndUnchanged(name: String) throws {
    let store = try makeStore()
    try machine.disk.createDirectory(Self.target)
    let file = try machine.disk.openDirectory(Self.target).createFile(name)
    file.close()
    let before = machine.disk.image.paths
    let error = try storeError { () throws(ByteStoreError) in try store.backup(to: Self.target) }
    #expect(error == .notEmpty(directory: Self.target, found: name))
    #expect(machine.disk.image.paths == before)
  }

  /// Regression: the sync after a backup's rename failed, and the next power loss brought back MANIFEST.new
  /// without the mark of an incomplete backup. No later backup to that directory was possible.
  @Test func leftoverNewManifestIsNoObstacle() throws {
    let store = try makeStore()
    try machine.disk.createDirectory(Self.target)
    try machine.disk.openDirectory(Self.target).createFile("MANIFEST.new").close()
    try store.backup(to: Self.target)
    #expect(try contents(of: try open(Self.target, on: machine)) == contents(of: store))
  }

  @Test func backupIntoTheStoreItselfOrAnExistingBackupIsRefused() throws {
    let store = try makeStore()
    #expect(throws: ByteStoreError.self) { try store.backup(to: TestStore.path) }
    try store.backup(to: Self.target)
    let before = try contents(of: Self.target)
    try store.put([1], for: "later")
    let error = try storeError { () throws(ByteStoreError) in try store.backup(to: Self.target) }
    #expect(error == .notEmpty(directory: Self.target, found: "MANIFEST"))
    #expect(try contents(of: Self.target) == before)
  }

  /// A copy inside the store's directory would be lost with the store.
  @Test(arguments: ["", "/", "/copies/today", "/./a/../copies", "//copies/"])
  func targetsInsideTheStoreAreRefused(place: String) throws {
    let store = try makeStore()
    let before = machine.disk.image.paths
    let target = TestStore.path + place
    let error = try storeError { () throws(ByteStoreError) in try store.backup(to: target) }
    #expect(error == .insideStore(directory: target, store: TestStore.path))
    #expect(machine.disk.image.paths == before)
    try store.backup(to: TestStore.path + "-copy")
  }

  @Test func targetIsLockedWhileItIsWritten() throws {
    let store = try makeStore()
    var calls = 0
    try store.backup(to: Self.target) { _ in
      calls += 1
      expectRefusal(Result { () throws(ByteStoreError) in _ = try store.backup(to: Self.target) })
      expectRefusal(
        Result { () throws(ByteStoreError) in _ = try open(Self.target, on: machine, createsIfMissing: true) }
      )
    }
    #expect(calls > 3)
    try open(Self.target, on: machine).close()
  }

  private func expectRefusal(_ result: Result<Void, ByteStoreError>) {
    switch result {
    case .failure(.locked), .failure(.incompleteBackup): break
    default: Issue.record("\(result)")
    }
  }

  @Test func backupToANetworkFileSystemReportsItsDurability() throws {
    let machine = TestStore { $0.mounts = ["/copies": .linux(type: 0x6969)] }
    let store = try machine.open()
    try store.put([1], for: "a")
    #expect(try store.backup(to: Self.target).durability.medium == .network)
    let error = try storeError { () throws(ByteStoreError) in _ = try self.open(Self.target, on: machine) }
    #expect(error == .networkFileSystem(directory: Self.target, fileSystem: "nfs"))
  }

  // MARK: Failed backups

  @Test(arguments: [1, 20, 50, 75])
  func fullDiskFailsABackupAndItsFilesAreDeleted(percent: Int) throws {
    let store = try makeStore()
    let before = try contents(of: store)
    let used = machine.disk.bytesInUse
    let whole = Int(try store.backup(to: Self.target).bytes)
    try store.close()
    // The same store on a disk with room for a part of its backup.
    let small = TestStore(machine.disk.image(after: .kill)) {
      $0.capacity = machine.disk.bytesInUse + whole * percent / 100
    }
    let reopened = try open(TestStore.path, on: small)
    let error = try storeError { () throws(ByteStoreError) in try reopened.backup(to: "/copies/small") }
    guard case .system(let cause) = error, cause.isOutOfSpace else {
      Issue.record("\(error)")
      return
    }
    let left = small.disk.image.paths.filter { $0.hasPrefix("/copies/small/") }
    #expect(left == [] || left == ["/copies/small/LOCK"])
    #expect(small.disk.bytesInUse <= machine.disk.bytesInUse && used > 0)
    #expect(try contents(of: reopened) == before)
    try reopened.close()
  }

  /// Whichever call fails, once or permanently: no store remains, and the next backup succeeds.
  @Test func backupFailingAtAnyCallLeavesNoStoreAndCanBeRepeated() throws {
    let store = try machine.open()
    for number in 0..<5 { try store.put(value(number), for: "key\(number)") }
    let start = machine.disk.counters.operations
    try store.backup(to: Self.target)
    let calls = machine.disk.counters.operations - start
    var failures = 0
    var incomplete: [Int] = []
    for call in 0..<calls {
      let path = "/copies/at\(call)"
      machine.disk.setFault(
        FaultPlan(.inputOutput, at: machine.disk.counters.operations + call, isSticky: call % 2 == 0))
      let result = Result { () throws(ByteStoreError) in try store.backup(to: path) }
      machine.disk.setFault(nil)
      guard case .failure(let error) = result else { continue }
      failures += 1
      guard case .system = error else {
        Issue.record("call \(call): \(error)")
        continue
      }
      // The rename succeeded but was reported as failed, and nothing could be deleted afterwards.
      if (try? open(path, on: machine).close()) != nil { continue }
      if try store.backup(to: path).sequence != store.lastCommit { incomplete.append(call) }
    }
    #expect(incomplete == [])
    #expect(failures > calls / 2)
    try store.put([1], for: "a")
  }

  @Test func interruptedBackupIsNoStoreAndIsReplaced() throws {
    let store = try makeStore()
    var image: DiskImage?
    try store.backup(to: Self.target) { if $0.step == .verifying { image = machine.disk.image } }
    let found = TestStore(try #require(image).after(.kill))
    let errors = try [true, false].map { createsIfMissing in
      try storeError { () throws(ByteStoreError) in
        _ = try self.open(Self.target, on: found, createsIfMissing: createsIfMissing)
      }
    }
    let incomplete = ByteStoreError.incompleteBackup(directory: Self.target)
    #expect(errors == [incomplete, incomplete])
    #expect(incomplete.description.contains("or in the same one if that holds no MANIFEST"))
    // Regression: a check reported the incomplete backup as damaged and recommended a salvage.
    let checked = try storeError { () throws(ByteStoreError) in
      _ = try ByteStore.check(Self.target, platform: found.disk.platform(seed: 3))
    }
    #expect(checked == .incompleteBackup(directory: Self.target))
    let reopened = try open(TestStore.path, on: found)
    try reopened.put([1], for: "key1")
    try reopened.backup(to: Self.target)
    #expect(try contents(of: try open(Self.target, on: found)) == contents(of: reopened))
  }

  /// Regression: after a failed sync, the next sync succeeds, but a power loss can still undo changes that
  /// were made before the failed sync. Deleted files came back. The mark of an incomplete backup was missing,
  /// because the backup had deleted it in order to create it again.
  @Test func interruptedBackupIsNoStoreAfterFailedSyncs() throws {
    let calls = try Self.backupCallCount()
    var cutOff = 0
    for call in 0..<calls {
      let machine = TestStore()
      let store = try machine.open()
      try store.put([1], for: "key")
      machine.disk.setFault(
        FaultPlan(.noSpace, at: machine.disk.counters.operations + call, isSticky: true))
      _ = try? store.backup(to: Self.target)
      machine.disk.setFault(nil)
      store.abandon()
      for later in 0..<14 {
        let second = TestStore(machine.disk.image.after(.kill))
        let store = try second.open()
        second.disk.setFault(
          FaultPlan(.inputOutput, at: second.disk.counters.operations + later, isSticky: true))
        _ = try? store.backup(to: Self.target)
        second.disk.setFault(nil)
        store.abandon()
        for seed in 0..<4 as Range<UInt64> {
          let third = TestStore(second.disk.image.after(.powerLoss(.names, seed: seed)))
          do throws(ByteStoreError) {
            try open(Self.target, on: third).close()
          } catch {
            switch error {
            case .incompleteBackup:
              cutOff += 1
              if seed == 0 { try backUpAsTheErrorAdvises(third) }
            // Nothing was durable, perhaps not even the directory.
            case .noStore, .system: break
            default: Issue.record("calls \(call) and \(later), seed \(seed): \(error)")
            }
          }
        }
      }
    }
    #expect(cutOff > 100)
  }

  /// Regression: the error said that the next backup could use the directory, but the next backup refused the
  /// directory if the manifest had come back.
  @Test func interruptedBackupWithAManifestIsLeftForASalvage() throws {
    let store = try makeStore()
    try store.backup(to: Self.target)
    try store.close()
    try machine.disk.openDirectory(Self.target).createFile("BACKUP").close()
    let checkpoint = try #require(
      machine.disk.image.paths.first { $0.hasPrefix("\(Self.target)/checkpoint-") })
    let found = try machine.changing(checkpoint) { $0[100] ^= 1 }
    let error = try storeError { () throws(ByteStoreError) in _ = try open(Self.target, on: found) }
    #expect(error == .incompleteBackup(directory: Self.target))
    try backUpAsTheErrorAdvises(found)
    #expect(found.disk.image.paths.contains(checkpoint))
    _ = try ByteStore.salvage(Self.target, platform: found.disk.platform(seed: 5))
    let salvaged = try open(Self.target, on: found)
    #expect(salvaged.count > 0)
    try salvaged.close()
  }

  private func backUpAsTheErrorAdvises(_ machine: TestStore) throws {
    let hasManifest = machine.disk.image.paths.contains("\(Self.target)/MANIFEST")
    let store = try machine.open()
    if hasManifest {
      let error = try storeError { () throws(ByteStoreError) in try store.backup(to: Self.target) }
      guard case .notEmpty = error else {
        Issue.record("\(error)")
        return
      }
    }
    try store.backup(to: hasManifest ? "/copies/again" : Self.target)
    try store.close()
  }

  private static func backupCallCount() throws -> Int {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([1], for: "key")
    let before = machine.disk.counters.operations
    try store.backup(to: target)
    return machine.disk.counters.operations - before
  }

  @Test func closingTheStoreCancelsABackupAndWaitsForIt() throws {
    let store = try makeStore()
    let closer = Locked<WorkerThread?>(nil)
    let error = try storeError { () throws(ByteStoreError) in
      try store.backup(to: Self.target) { _ in
        closer.withLock { if $0 == nil { $0 = WorkerThread { try? store.close() } } }
        while !store.isClosing { WorkerThread.yield() }
        // The directory is still locked, because the close waits.
        #expect(throws: ByteStoreError.self) { try self.machine.open() }
      }
    }
    closer.withLock { $0?.join() }
    #expect(error == .closed(directory: TestStore.path))
    #expect(try contents(of: Self.target).keys.allSatisfy { $0.hasSuffix("/LOCK") })
    try machine.open().close()
    #expect(throws: ByteStoreError.self) { try store.backup(to: "/copies/late") }
  }

  @Test func damagedSegmentFailsABackup() throws {
    try makeStore().close()
    let segment = try #require(machine.disk.image.paths.first { $0.contains("/segment-") })
    let damaged = try machine.changing(segment) { $0[$0.count / 2] ^= 1 }
    let store = try open(TestStore.path, on: damaged)
    let error = try storeError { () throws(ByteStoreError) in try store.backup(to: Self.target) }
    guard case .corrupted(let damage) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(damage.file == segment)
    #expect(damaged.disk.image.paths.filter { $0.hasPrefix(Self.target) } == ["\(Self.target)/LOCK"])
  }
}
