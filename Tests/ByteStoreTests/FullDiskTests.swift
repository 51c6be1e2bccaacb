// Full disks: which operations are refused, and which ones still work and free space.

import Foundation
import Harness
import Testing

@testable import ByteStore

struct FullDiskTests {
  /// The store and its expected content.
  private struct Pair {
    var store: ByteStore
    var model: [String: [UInt8]] = [:]

    /// Returns false if the disk is full; rethrows any other error.
    mutating func put(_ key: String, _ value: [UInt8]) throws -> Bool {
      do throws(ByteStoreError) {
        try store.put(value, for: key)
      } catch {
        guard case .system(let cause) = error, cause.isOutOfSpace else { throw error }
        return false
      }
      model[key] = value
      return true
    }

    mutating func remove(_ keys: some Sequence<String>) throws {
      var batch = Batch()
      for key in keys { try batch.remove(Array(key.utf8)) }
      try store.commit(batch)
      for key in keys { model[key] = nil }
    }

    func check() throws {
      #expect(store.count == model.count)
      #expect(try model.filter { try store.value(for: $0.key) != $0.value }.keys.sorted() == [])
    }
  }

  private static func options(flushBytes: UInt64 = 64 << 20) -> ByteStore.Options {
    var options = ByteStore.Options()
    options.maintenance = .manual
    options.flushBytes = flushBytes
    options.segmentBytesMax = 256 << 10
    return options
  }

  private func machine(_ kibibytes: Int, on image: DiskImage = DiskImage()) -> TestStore {
    TestStore(image) { $0.capacity = kibibytes << 10 }
  }

  private func open(_ machine: TestStore, flushBytes: UInt64 = 64 << 20) throws -> ByteStore {
    let seed = UInt64(machine.disk.counters.operations)
    return try ByteStore.open(
      TestStore.path, options: Self.options(flushBytes: flushBytes),
      platform: machine.disk.platform(seed: seed))
  }

  private func value(_ number: Int, _ random: inout SeededRandom) -> [UInt8] {
    // Half of the value is compressible.
    random.bytes(300) + [UInt8](repeating: UInt8(number & 255), count: 300)
  }

  /// Adds values until the store refuses every put, with maintenance in between.
  private func fill(_ pair: inout Pair, maintains: Bool = true) throws {
    var random = SeededRandom(seed: 1)
    var refused = 0
    for number in 0..<100_000 where refused < 10 {
      if try pair.put("key\(pair.model.count)-\(number)", value(number, &random)) {
        refused = 0
      } else {
        refused += 1
      }
      if maintains, number % 50 == 0 { pair.store.performMaintenance() }
    }
    try #require(refused == 10)
  }

  /// Fills the remaining space with a file of another program.
  private func fillRemainingSpace(_ machine: TestStore, _ name: String = "other") throws {
    guard let file = try? machine.disk.openDirectory("/").createFile(name) else { return }
    var offset: UInt64 = 0
    while let taken = try? file.write([UInt8](repeating: 1, count: 4096).rawSpan, at: offset) {
      offset += UInt64(taken)
    }
  }

  // MARK: Complete cycles

  @Test(arguments: [512, 2048], [48 << 10, 300 << 10, 64 << 20] as [UInt64])
  func deletesOnAFullDiskFreeSpace(kibibytes: Int, flushBytes: UInt64) throws {
    let machine = machine(kibibytes)
    var pair = Pair(store: try open(machine, flushBytes: flushBytes))
    try fill(&pair)
    try pair.check()
    let full = machine.disk.bytesInUse
    #expect(full > kibibytes * 512, "most of the disk was used")

    // Remove some keys one by one, and then many keys at once.
    let keys = pair.model.keys.sorted()
    for key in keys.prefix(12) { try pair.remove([key]) }
    try pair.remove(Array(keys.dropFirst(12).dropLast(keys.count / 10)))
    try pair.check()
    try pair.store.flush(.everything)
    try pair.check()
    #expect(machine.disk.bytesInUse < full * 3 / 4)
    #expect(pair.store.statistics.flushFailure == nil)

    let before = pair.model.count
    try fill(&pair)
    #expect(pair.model.count > before + 20)
    try pair.check()
    try pair.store.close()
    pair.store = try open(machine, flushBytes: flushBytes)
    #expect(pair.store.recoveryReport.wasClosedCleanly)
    try pair.check()
    try pair.store.checkInvariants()
  }

  /// Regression: on a full disk, a flush that failed for lack of descriptors was retried with every
  /// commit.
  @Test func flushFailingForAnotherReasonIsNotRetriedConstantly() throws {
    let machine = machine(512)
    let clock = SimulatedClock()
    var platform = machine.disk.platform(seed: 1)
    platform.clock = clock
    let store = try ByteStore.open(TestStore.path, options: Self.options(), platform: platform)
    var pair = Pair(store: store)
    try fill(&pair, maintains: false)
    try pair.remove(pair.model.keys.sorted().prefix(100))
    try #require(store.isFlushDue)
    machine.disk.failNext(.tooManyOpenFiles, isSticky: true)
    store.performMaintenance()
    machine.disk.setFault(nil)
    let failure = try #require(store.statistics.flushFailure)
    #expect(!failure.isRecoverableOutOfSpace)
    #expect(!store.isFlushDue)
    clock.advance(nanoseconds: 3_000_000_000)
    #expect(store.isFlushDue)
    try pair.check()
    try store.close()
  }

  /// Fills and clears the disk repeatedly, because the reserve must not shrink over time.
  @Test func diskMayFillUpAndBeClearedRepeatedly() throws {
    let machine = machine(1024)
    var pair = Pair(store: try open(machine))
    var counts: [Int] = []
    for round in 0..<6 {
      try fill(&pair, maintains: round % 2 == 0)
      counts.append(pair.model.count)
      let keys = pair.model.keys.sorted()
      try pair.remove(keys.dropLast(10))
      try pair.store.flush(.everything)
      if round == 3 {
        try pair.store.close()
        pair.store = try open(machine)
      }
      try pair.check()
    }
    #expect(counts.allSatisfy { $0 > 60 }, "\(counts)")
  }

  @Test func nothingAcknowledgedIsLostWhenThePowerFailsOnAFullDisk() throws {
    let machine = machine(512)
    var pair = Pair(store: try open(machine))
    try fill(&pair)
    try pair.remove(pair.model.keys.sorted().dropLast(20))
    var refusals: [Survivors] = []
    for survivors in Survivors.allCases {
      let crashed = self.machine(512, on: machine.disk.image(after: .powerLoss(survivors, seed: 3)))
      var recovered = Pair(store: try open(crashed), model: pair.model)
      try recovered.check()
      try recovered.store.flush(.everything)
      if try !recovered.put("again", [1]) { refusals.append(survivors) }
      try recovered.check()
    }
    #expect(refusals == [])
  }

  // MARK: Each part

  @Test func putIsRefusedWhileTheReserveIsNotWhole() throws {
    let machine = machine(4096)
    let store = try open(machine)
    try store.put([1], for: "a")
    let reserve = try #require(machine.disk.image.contents(of: "/store/RESERVE"))
    #expect(reserve.size >= 64 << 10)
    #expect(store.statistics.directoryBytes >= UInt64(reserve.size))
    try store.close()
    // The reserve was deleted, and the disk has no room for a new one.
    try machine.disk.openDirectory("/store").remove("RESERVE")
    let room = machine.disk.bytesInUse / 1024 + 100
    let tight = self.machine(room, on: machine.disk.image(after: .kill))
    let reopened = try open(tight)
    let error = try storeError { () throws(ByteStoreError) in try reopened.put([2], for: "b") }
    guard case .system(let cause) = error, cause.isOutOfSpace else {
      Issue.record("\(error)")
      return
    }
    var batch = Batch()
    try batch.remove(Array("a".utf8))
    try reopened.commit(batch)
    #expect(reopened.count == 0)
  }

  /// Regression: after a crash that lost the reserve, or after restoring a backup, the first put wrote
  /// the whole reserve before it returned. That was a quarter of a gigabyte with ten million keys.
  @Test func missingReserveIsRecreatedInParts() throws {
    let machine = TestStore()
    var store = try open(machine)
    // For commits that are not flushed yet, the reserve contains at most 8 MiB.
    for key in 0..<8 { try store.put([UInt8](repeating: 1, count: 1 << 20), for: "\(key)") }
    try store.close()
    try machine.disk.openDirectory("/store").remove("RESERVE")
    store = try open(machine)
    func reserve() -> Int { machine.disk.image.contents(of: "/store/RESERVE")?.size ?? 0 }
    let before = machine.disk.counters.bytesWritten
    try store.put([1], for: "first")
    #expect((1 << 20...4 << 20 + 64 << 10).contains(reserve()))
    #expect(machine.disk.counters.bytesWritten - before < 4 << 20 + 512 << 10)
    store.performMaintenance()
    #expect(reserve() > 8 << 20)
    // Without maintenance, the creation of the next logs completes the reserve.
    try store.close()
    try machine.disk.openDirectory("/store").remove("RESERVE")
    store = try open(machine)
    for key in 0..<50 { try store.put([1], for: "more\(key)") }
    #expect(reserve() > 8 << 20)
    try store.close()
  }

  /// Puts cannot use the reserved end of a log, but removals can.
  @Test func lastPagesOfALogAreReservedForRemovals() throws {
    let machine = machine(4096)
    var pair = Pair(store: try open(machine))
    #expect(try pair.put("a", [1]))
    try fillRemainingSpace(machine)
    var puts = 0
    while try pair.put("b\(puts)", [UInt8](repeating: 1, count: 2000)) { puts += 1 }
    let names = machine.disk.image.paths
    let reserve = machine.disk.image.contents(of: "/store/RESERVE")?.size
    try pair.remove(["a"])
    #expect(machine.disk.image.paths == names)
    #expect(machine.disk.image.contents(of: "/store/RESERVE")?.size == reserve)
    // When the reserved pages are used up, the reserve file provides space.
    for number in 0..<puts { try pair.remove(["b\(number)"]) }
    try pair.check()
    #expect(pair.store.count == 0)
  }

  @Test func removalsOfAGroupSucceedThoughItsPutsAreRefused() throws {
    let machine = machine(512)
    var pair = Pair(store: try open(machine))
    try fill(&pair)
    let keys = pair.model.keys.sorted()
    let store = pair.store
    let threads = Locked<[WorkerThread]>([])
    let outcomes = Locked<[String: Bool]>([:])
    machine.disk.beforeNextSync {
      for number in 1...6 {
        let thread = WorkerThread {
          var batch = Batch()
          do throws(ByteStoreError) {
            if number % 2 == 0 {
              try batch.put([UInt8](repeating: 1, count: 20_000), for: [UInt8(number)])
            } else {
              try batch.remove(Array(keys[number].utf8))
            }
            try store.commit(batch)
            outcomes.withLock { $0["\(number)"] = true }
          } catch {
            outcomes.withLock { $0["\(number)"] = false }
          }
        }
        threads.withLock { $0.append(thread) }
      }
      while store.commitsWaiting < 6 { WorkerThread.yield() }
    }
    try pair.remove([keys[0]])
    for thread in threads.withLock({ $0 }) { thread.join() }
    let expected = Dictionary(uniqueKeysWithValues: (1...6).map { ("\($0)", $0 % 2 == 1) })
    #expect(outcomes.withLock { $0 } == expected)
    for number in [1, 3, 5] { pair.model[keys[number]] = nil }
    try pair.check()
  }

  @Test func closeAndOpenWorkWithoutASinglePageLeft() throws {
    let machine = machine(2048)
    var pair = Pair(store: try open(machine))
    let value = [UInt8](repeating: 1, count: 500)
    let refused = try (0..<100).filter { try !pair.put("key\($0)", value) }
    try pair.store.flush()
    let refusedLater = try (0..<10).filter { try !pair.put("key\($0)", [2]) }
    #expect(refused == [] && refusedLater == [])
    try fillRemainingSpace(machine)
    try pair.store.close()
    pair.store = try open(machine)
    #expect(pair.store.recoveryReport.wasClosedCleanly)
    try pair.check()
    // The removal needs a new log.
    try fillRemainingSpace(machine, "more")
    try pair.remove((0..<90).map { "key\($0)" })
    try pair.store.flush(.everything)
    try pair.check()
  }

  /// A process died during a flush on a full disk. The leftover files of the flush cannot be deleted before
  /// the manifest is written again.
  @Test func openFindsSpaceToCleanUpAfterAFlushThatDied() throws {
    let machine = machine(2048)
    var pair = Pair(store: try open(machine))
    let value = [UInt8](repeating: 1, count: 500)
    let refused = try (0..<200).filter { try !pair.put("key\($0)", value) }
    #expect(refused == [])
    let store = pair.store
    store.abandon()
    let died = self.machine(2048, on: machine.disk.image(after: .kill))
    let leftover = try died.disk.openDirectory("/store").createFile("segment-0000000001")
    leftover.close()
    try fillRemainingSpace(died)
    pair.store = try open(died)
    try pair.check()
    #expect(!died.disk.image.paths.contains("/store/segment-0000000001"))
  }

  /// A power loss brought back a deleted file that an older manifest may name, and there is no room even
  /// for a new manifest.
  @Test func openKeepsUndeletableFilesUntilThereIsSpace() throws {
    let machine = machine(2048)
    var pair = Pair(store: try open(machine))
    let value = [UInt8](repeating: 1, count: 500)
    let refused = try (0..<50).filter { try !pair.put("key\($0)", value) }
    #expect(refused == [])
    try pair.store.flush()
    #expect(try pair.put("key0", [2]))
    pair.store.abandon()
    let name = "log-0000000001"
    #expect(!machine.disk.image.paths.contains("/store/\(name)"))
    let returned = try machine.disk.openDirectory("/store").createFile(name)
    _ = try returned.write([UInt8](repeating: 7, count: 64 << 10).rawSpan, at: 0)
    returned.close()
    for name in ["RESERVE", "SPARE"] { try? machine.disk.openDirectory("/store").remove(name) }
    try fillRemainingSpace(machine)

    var accepted: [Bool] = []
    var isThere: [Bool] = []
    for _ in 0..<2 {
      pair.store = try open(machine)
      try pair.check()
      accepted.append(try pair.put("more", [3]))
      isThere.append(machine.disk.image.paths.contains("/store/\(name)"))
      pair.store.abandon()
    }
    #expect(accepted == [false, false])
    #expect(isThere == [true, true])
    pair.store = try open(machine)
    try machine.disk.openDirectory("/").remove("other")
    #expect(try pair.put("more", [3]))
    #expect(!machine.disk.image.paths.contains("/store/\(name)"))
    try pair.check()
  }

  /// Regression: the reserve was deleted to create a smaller one, but none was created. The store
  /// considered the disk full until the flush had returned.
  @Test(arguments: [false, true]) func aCompactionAfterARefusedPutLeavesAReserve(closes: Bool) throws {
    let machine = machine(16 << 10)
    var pair = Pair(store: try open(machine))
    let value = [UInt8](repeating: 1, count: 100_000)
    let refused = try (0..<40).filter { try !pair.put("key\($0)", value) }
    #expect(refused == [])
    try fillRemainingSpace(machine)
    var number = 40
    while try pair.put("key\(number)", value) { number += 1 }
    try machine.disk.openDirectory("/").remove("other")
    try pair.store.flush(.everything)
    func reserve() -> Int { machine.disk.image.contents(of: "/store/RESERVE")?.size ?? 0 }
    #expect((128 << 10..<1 << 20).contains(reserve()))
    if closes {
      try pair.store.close()
      pair.store = try open(machine)
      #expect((128 << 10..<1 << 20).contains(reserve()))
    }
    try fillRemainingSpace(machine)
    try pair.remove(pair.model.keys.sorted().prefix(10))
    try pair.check()
  }

  @Test func emptyFlushDetectsFreeSpace() throws {
    let machine = machine(4096)
    var pair = Pair(store: try open(machine))
    #expect(try pair.put("key", [1]))
    try pair.store.flush()
    try fillRemainingSpace(machine)
    #expect(try !pair.put("large", [UInt8](repeating: 1, count: 1 << 20)))
    #expect(pair.store.writer.withLock { $0.liveBytesWhenFull } != nil)
    try machine.disk.openDirectory("/").remove("other")
    try pair.store.flush()
    #expect(pair.store.writer.withLock { $0.liveBytesWhenFull } == nil)
    #expect(try pair.put("large", [UInt8](repeating: 1, count: 1 << 20)))
    try pair.check()
  }

  @Test func deletesTriggerAFlushAndPutsAreAcceptedAgain() throws {
    let machine = machine(512)
    var pair = Pair(store: try open(machine))
    try fill(&pair)
    let keys = pair.model.keys.sorted()
    for key in keys.dropLast(5) {
      try pair.remove([key])
      pair.store.performMaintenance()
    }
    try pair.check()
    #expect(pair.store.statistics.checkpoint != nil)
    #expect(try pair.put("again", [1]))
  }

  // MARK: On a real file system

  #if os(Linux)
  @Test(.enabled(if: SmallMount.isSupported, "needs the right to mount a small tmpfs: run the tests as root"))
  func realFullFileSystemFreesSpaceToo() throws {
    let mount = try SmallMount(megabytes: 4)
    defer { mount.unmount() }
    var gains: [Int] = []
    for background in [false, true] {
      var options = Self.options(flushBytes: 512 << 10)
      if background { options.maintenance = .inBackground(afterMilliseconds: 5) }
      let path = "\(mount.path)/store\(background)"
      var pair = Pair(store: try ByteStore.open(path, options: options))
      try fill(&pair, maintains: !background)
      let keys = pair.model.keys.sorted()
      for key in keys.prefix(12) { try pair.remove([key]) }
      try pair.remove(Array(keys.dropFirst(12).dropLast(keys.count / 10)))
      try pair.store.flush(.everything)
      try pair.check()
      let before = pair.model.count
      try fill(&pair, maintains: !background)
      gains.append(pair.model.count - before)
      try pair.store.close()
      pair.store = try ByteStore.open(path, options: options)
      try pair.check()
      try pair.store.close()
      try FileManager.default.removeItem(atPath: path)
    }
    #expect(gains.allSatisfy { $0 > 100 }, "\(gains)")
  }
  #endif
}
