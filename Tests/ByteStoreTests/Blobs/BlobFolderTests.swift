// What the folder of blobs says of its packs, and what it does once a sync of its names has failed.

import ByteStore
import Harness
import Testing

struct BlobFolderTests {
  private func content(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return random.bytes(count)
  }

  private func keep(_ bytes: [UInt8], in store: ByteStore) throws -> (BlobID, BlobPlace) {
    let writer = store.blobs.writer()
    do {
      try writer.append(bytes.rawSpan)
    } catch {
      writer.abandon()
      throw error
    }
    let blob = try writer.finish()
    return (blob.id, try store.blobs.keep(blob))
  }

  private func open(_ machine: TestStore, packBytesMax: UInt64) throws -> ByteStore {
    var options = ByteStore.Options()
    options.maintenance = .manual
    options.blobs.packBytesMax = packBytesMax
    return try ByteStore.open(
      TestStore.path, options: options, platform: machine.disk.platform(seed: 7))
  }

  /// A sweep took the packs of the inventory that no record named, and the one that was just being made was among
  /// them: what was on its way into it had no record yet.
  @Test func aPackThatIsBeingMadeOrRotatedIsNoneToSweep() throws {
    let machine = TestStore()
    let store = try open(machine, packBytesMax: 20_000)
    let seen = Locked<[[UInt64]]>([])
    for number in 0..<6 {
      machine.disk.beforeNextSync {
        let packs = (try? store.blobs.inventory().packs) ?? [.max]
        seen.withLock { $0.append(packs.sorted()) }
      }
      _ = try keep(content(9000, seed: UInt64(number) + 1), in: store)
    }
    // Each pack takes two contents; the first sync of every other one is that of a new pack's head.
    #expect(seen.withLock { $0 } == [[], [], [1], [1], [1, 2], [1, 2]])
    #expect(try store.blobs.inventory().packs.sorted() == [1, 2])
    store.blobs.closePack()
    #expect(try store.blobs.inventory().packs.sorted() == [1, 2, 3])
    // A store that was opened again adds to none of them.
    try store.close()
    #expect(try open(machine, packBytesMax: 20_000).blobs.inventory().packs.sorted() == [1, 2, 3])
  }

  /// A content that is brought once more, for a copy that was damaged, takes the place of its file. When its name could not
  /// be synced the file went, and with it what a record named.
  @Test(arguments: [Crash.kill, .powerLoss(.nothing, seed: 1), .powerLoss(.everything, seed: 1)])
  func aFailedSyncOfTheNamesTakesNoContentAwayThatIsNamedAlready(crash: Crash) throws {
    let bytes = content(2 << 20)
    let healthy = TestStore()
    let first = try healthy.open()
    _ = try keep(bytes, in: first)
    let before = healthy.disk.trace.count
    _ = try keep(bytes, in: first)
    let call = try #require(
      healthy.disk.trace[before...].firstIndex {
        $0.operation == .syncDirectory && $0.path.hasSuffix("/blobs")
      })

    let machine = TestStore()
    let store = try machine.open()
    let (id, place) = try keep(bytes, in: store)
    machine.disk.setFault(FaultPlan(.inputOutput, at: call))
    #expect(throws: ByteStoreError.self) { try keep(bytes, in: store) }
    #expect(machine.disk.counters.faults == 1)
    #expect(try store.blobs.reader(id, at: place).readAll() == bytes)
    store.abandon()
    let next = try machine.after(crash).open()
    #expect(try next.blobs.reader(id, at: place).readAll() == bytes)
    #expect(try next.blobs.inventory().staged.isEmpty)
  }

  /// The system may forget a name that it could not write, and the next sync succeeds without it (F4): a content kept
  /// after that was acknowledged, and gone after a power loss.
  @Test(arguments: [3000, 2 << 20])
  func afterAFailedSyncOfTheNamesNothingMoreIsKept(count: Int) throws {
    // Where the sync of the names comes is seen on a disk that works.
    let healthy = TestStore()
    let first = try healthy.open()
    _ = try keep(content(10), in: first)
    let before = healthy.disk.trace.count
    first.blobs.closePack()
    _ = try keep(content(count, seed: 2), in: first)
    let call = try #require(
      healthy.disk.trace[before...].firstIndex {
        $0.operation == .syncDirectory && $0.path.hasSuffix("/blobs")
      })

    let machine = TestStore()
    let store = try machine.open()
    let (id, place) = try keep(content(10), in: store)
    store.blobs.closePack()
    machine.disk.setFault(FaultPlan(.inputOutput, at: call))
    #expect(throws: ByteStoreError.self) { try keep(content(count, seed: 2), in: store) }
    #expect(machine.disk.counters.faults == 1)
    for count in [100, 3 << 20] {
      #expect(throws: ByteStoreError.self) { try keep(content(count, seed: 3), in: store) }
    }
    // What was there before is still read, and a store that is opened anew keeps contents again.
    #expect(try store.blobs.reader(id, at: place).readAll() == content(10))
    store.abandon()
    let next = try machine.after(.kill).open()
    let (again, home) = try keep(content(count, seed: 3), in: next)
    #expect(try next.blobs.reader(again, at: home).readAll() == content(count, seed: 3))
  }
}
