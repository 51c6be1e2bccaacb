import Harness
import StoreTools
import Testing

@testable import ByteStore

// Stores that are open for reading only.

/// A read-only store shows the content that a normal open would show, and changes nothing.
@Suite("A store opened for reading")
struct ReadOnlyTests {
  private func open(_ machine: TestStore, readOnly: Bool = true) throws(ByteStoreError) -> ByteStore {
    var options = ByteStore.Options()
    options.logBytesMin = 64 << 10
    options.maintenance = .manual
    options.isReadOnly = readOnly
    return try ByteStore.open(TestStore.path, options: options, platform: machine.disk.platform(seed: 5))
  }

  private func contents(of machine: TestStore) -> [String: [UInt8]] {
    let image = machine.disk.image
    return Dictionary(uniqueKeysWithValues: image.paths.map { ($0, image.contents(of: $0)?.bytes ?? []) })
  }

  private func values(of store: ByteStore) throws -> [[UInt8]: [UInt8]] {
    var values: [[UInt8]: [UInt8]] = [:]
    try store.snapshot().forEach { _, key, value in
      values[Array(copying: key)] = Array(copying: value)
    }
    return values
  }

  /// Returns a store after commits, removals and flushes that a crash interrupted at some point.
  private func machine(seed: UInt64) throws -> TestStore {
    let machine = TestStore(seed: seed)
    var rng = SeededRandom(seed: seed)
    let store = try machine.open()
    for step in 0..<Int.random(in: 1..<60, using: &rng) {
      let key = "key \(Int.random(in: 0..<20, using: &rng))"
      if step % 9 == 8 {
        var batch = Batch()
        try batch.remove(Array(key.utf8))
        try store.commit(batch)
      } else {
        let durability: Durability = Bool.random(using: &rng) ? .synced : .buffered
        try store.put(
          [UInt8](repeating: UInt8(step), count: .random(in: 0..<9000, using: &rng)), for: key, durability)
      }
      if step % 23 == 22 { try store.flush() }
    }
    let survivors = Survivors.allCases.randomElement(using: &rng) ?? .everything
    let crashed = machine.after(Bool.random(using: &rng) ? .kill : .powerLoss(survivors, seed: seed))
    store.abandon()
    return crashed
  }

  @Test("shows what another opening shows, whatever a crash left, and leaves every byte", arguments: 0..<60)
  func readOnlyOpenRecoversAfterACrashWithoutWriting(seed: Int) throws {
    let machine = try machine(seed: UInt64(seed))
    let before = contents(of: machine)
    let reader = try open(machine)
    let found = try values(of: reader)
    try reader.close()
    #expect(contents(of: machine) == before, "seed \(seed)")
    let writer = try open(machine, readOnly: false)
    #expect(try values(of: writer) == found, "seed \(seed)")
    try writer.close()
  }

  @Test("takes no commit and no flush, and says so")
  func readOnlyStoreRefusesCommitsAndFlushes() throws {
    let machine = TestStore()
    let writer = try machine.open()
    try writer.put([1], for: "a")
    try writer.close()
    let reader = try open(machine)
    let refusal = ByteStoreError.readOnly(directory: TestStore.path)
    #expect(try storeError { () throws(ByteStoreError) in try reader.put([2], for: "a") } == refusal)
    #expect(try storeError { () throws(ByteStoreError) in try reader.flush() } == refusal)
    #expect(try reader.value(for: "a") == [1])
    try reader.close()
  }

  @Test("is refused beside a writer, and keeps writers out")
  func readOnlyStoreAndWritersExcludeEachOther() throws {
    let machine = TestStore()
    let writer = try machine.open()
    guard case .locked = try storeError({ () throws(ByteStoreError) in _ = try open(machine) }) else {
      Issue.record("opened beside a writer")
      return
    }
    try writer.close()
    let reader = try open(machine)
    guard case .locked = try storeError({ () throws(ByteStoreError) in _ = try machine.open() }) else {
      Issue.record("opened beside a reader")
      return
    }
    try reader.close()
    try machine.open().close()
  }

  @Test("creates nothing in an empty place")
  func readOnlyOpenCreatesNoStore() throws {
    let machine = TestStore()
    let error = try storeError { () throws(ByteStoreError) in _ = try open(machine) }
    #expect(error == .noStore(directory: TestStore.path))
    #expect(machine.disk.image.paths.isEmpty)
  }

  @Test("can be backed up")
  func readOnlyStoreCanBeBackedUp() throws {
    let machine = TestStore()
    let writer = try machine.open()
    try writer.put([1], for: "a")
    writer.abandon()
    let reader = try open(machine)
    let before = contents(of: machine)
    try reader.backup(to: "/copy")
    #expect(contents(of: machine).filter { $0.key.hasPrefix(TestStore.path) } == before)
    try reader.close()
    let options = ByteStore.Options()
    let copy = try ByteStore.open("/copy", options: options, platform: machine.disk.platform(seed: 9))
    #expect(try copy.value(for: "a") == [1])
    try copy.close()
  }

  @Test("sees its own writes to files, in pages, after the end and after a rename")
  func readOnlyFileSystemSeesItsOwnWrites() throws {
    let disk = SimulatedDisk(DiskImage(), options: SimulatedDisk.Options())
    let base = disk.platform(seed: 1).fileSystem
    try base.createDirectory("/d")
    let original = [UInt8]((0..<10_000).map { UInt8(truncatingIfNeeded: $0) })
    let file = try base.openDirectory("/d").createFile("f")
    let platform = disk.platform(seed: 1)
    try file.writeAll(original.rawSpan, at: 0, platform: platform)
    let directory = try ReadOnlyFileSystem(base: base, protected: "/d").openDirectory("/d")
    var model = original
    var rng = SeededRandom(seed: 3)
    let (one, other) = (try directory.openFile("f", .readAndWrite), try directory.openFile("f", .read))
    var wrong: [String] = []
    for write in 0..<300 {
      let start = Int.random(in: 0..<20_000, using: &rng)
      let bytes = [UInt8](
        repeating: .random(in: 0...255, using: &rng), count: .random(in: 1..<6000, using: &rng))
      try one.writeAll(bytes.rawSpan, at: UInt64(start), platform: platform)
      if model.count < start + bytes.count {
        model += [UInt8](repeating: 0, count: start + bytes.count - model.count)
      }
      model.replaceSubrange(start..<start + bytes.count, with: bytes)
      let from = Int.random(in: 0..<model.count, using: &rng)
      let count = Int.random(in: 0...model.count - from, using: &rng)
      if try other.readAll(count, at: UInt64(from)) != Array(model[from..<from + count]) {
        wrong.append("write \(write): \(count) bytes from \(from)")
      }
      let size = try other.size()
      if size != UInt64(model.count) { wrong.append("write \(write): size \(size), not \(model.count)") }
    }
    #expect(wrong == [])
    try directory.rename("f", to: "g")
    #expect(try directory.names() == ["g"])
    #expect(try directory.openFile("g", .read).readAll(100, at: 50) == Array(model[50..<150]))
    #expect(throws: SystemFailure.self) { try directory.openFile("f", .read) }
    try directory.remove("g")
    #expect(try directory.names() == [])
    _ = try directory.createFile("f")
    #expect(try directory.openFile("f", .read).size() == 0)
    #expect(disk.image.contents(of: "/d/f")?.bytes == original)
  }
}
