// The inventory of packs, and the folder's behaviour after a failed sync of its names.

import ByteStore
import Harness
import Testing

struct BlobFolderTests {
  private func content(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return random.bytes(count)
  }

  private func keep(_ bytes: [UInt8], in store: ByteStore) throws -> (BlobID, BlobLocation) {
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

  /// Regression: a sweep deleted all packs in the inventory that were not named by a record. The pack being
  /// created was among them, although the contents that were being added to this pack could not have records
  /// yet.
  @Test func inventoryExcludesThePackBeingCreated() throws {
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
    // A pack has room for two contents. Every other content therefore starts a new pack, and its first sync
    // is the sync of the pack's head.
    #expect(seen.withLock { $0 } == [[], [], [1], [1], [1, 2], [1, 2]])
    #expect(try store.blobs.inventory().packs.sorted() == [1, 2])
    store.blobs.closePack()
    #expect(try store.blobs.inventory().packs.sorted() == [1, 2, 3])
    // After a reopen, no content is added to existing packs.
    try store.close()
    #expect(try open(machine, packBytesMax: 20_000).blobs.inventory().packs.sorted() == [1, 2, 3])
  }

  /// Regression: a content that is stored again because its copy was damaged replaces the file. When the sync
  /// of the file's name failed, the file was deleted, although a record named it.
  @Test(arguments: [Crash.kill, .powerLoss(.nothing, seed: 1), .powerLoss(.everything, seed: 1)])
  func failedNameSyncDeletesNoReferencedContent(crash: Crash) throws {
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

  /// Regression: the system may drop a name that it could not write, and the next sync then succeeds without
  /// the name (F4). A content that was stored after the failed sync was acknowledged and then lost in a power
  /// failure.
  @Test(arguments: [3000, 2 << 20])
  func noContentIsAcceptedAfterAFailedNameSync(count: Int) throws {
    // Finds the number of the sync call with a run on a healthy disk.
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
    var accepted: [Int] = []
    for count in [100, 3 << 20] {
      do {
        _ = try keep(content(count, seed: 3), in: store)
        accepted.append(count)
      } catch is ByteStoreError {}
    }
    #expect(accepted == [])
    // Existing contents stay readable, and a reopened store accepts contents again.
    #expect(try store.blobs.reader(id, at: place).readAll() == content(10))
    store.abandon()
    let next = try machine.after(.kill).open()
    let (again, home) = try keep(content(count, seed: 3), in: next)
    #expect(try next.blobs.reader(again, at: home).readAll() == content(count, seed: 3))
  }
}
