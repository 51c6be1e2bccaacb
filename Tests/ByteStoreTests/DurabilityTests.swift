// The durability that a store reports for its file system, and the file systems that it refuses.

import ByteStore
import Foundation
import Harness
import Testing

struct DurabilityTests {
  @Test func deviceIsDurableAndMemoryIsNot() throws {
    let device = try TestStore { $0.durability = .linux(type: 0xEF53) }.open()
    #expect(device.durability.verdict == .durable)
    #expect(device.durability.description == "ext4, fdatasync: synced data survives a power loss")
    let memory = try TestStore { $0.durability = .linux(type: 0x0102_1994) }.open()
    #expect(memory.durability.verdict == .notDurable)
    #expect(memory.durability.description.contains("tmpfs, in memory"))
  }

  @Test(arguments: [0x6573_5546, 0x794C_7630, 0x0102_1997, 0x1234_5678] as [UInt32])
  func layeredFileSystemsAreOpenedWithAnUnknownVerdict(type: UInt32) throws {
    let store = try TestStore { $0.durability = .linux(type: type) }.open()
    try store.put([1], for: "a")
    #expect(store.durability.verdict == .unknown)
  }

  @Test(arguments: [0x6969, 0x517B, 0xFE53_4D42, 0xFF53_4D42, 0x00C3_6400] as [UInt32])
  func networkFileSystemIsRefusedWithoutWriting(type: UInt32) throws {
    let machine = TestStore { $0.mounts = ["/mounted": .linux(type: type)] }
    try machine.disk.createDirectory("/mounted")
    let fileSystem = DurabilityReport.linux(type: type).fileSystem
    var wrong: [String] = []
    for path in ["/mounted", "/mounted/new", "/mounted/new/deeper"] {
      let error = try storeError { () throws(ByteStoreError) in
        _ = try ByteStore.open(path, platform: machine.disk.platform(seed: 1))
      }
      guard case .networkFileSystem(_, let name) = error, name == fileSystem,
        error.description.contains("Choose a directory on a disk of this machine")
      else {
        wrong.append("\(path): \(error)")
        continue
      }
    }
    #expect(wrong == [])
    #expect(machine.disk.image.paths.isEmpty)
    #expect(throws: SystemFailure.self) { try machine.disk.openDirectory("/mounted/new") }
  }

  /// A store that was created elsewhere and copied to a network file system is not touched either.
  @Test func storeOnANetworkFileSystemIsNotLocked() throws {
    let machine = TestStore()
    try machine.open().close()
    var image = machine.withAllWritesDurable.disk.image
    image.delete("/store/LOCK")
    let moved = TestStore(image) { $0.durability = .linux(type: 0x6969) }
    #expect([true, false].filter { (try? moved.open(createsIfMissing: $0)) != nil } == [])
    #expect(moved.disk.image.contents(of: "/store/LOCK") == nil)
  }

  @Test func darwinWithoutAFullFlushIsNotDurable() {
    let flushed = DurabilityReport.darwin(typeName: "apfs", isLocal: true, hasFullFlush: true)
    #expect(flushed.verdict == .durable && flushed.sync == .fullFlush)
    let plain = DurabilityReport.darwin(typeName: "apfs", isLocal: true, hasFullFlush: false)
    #expect(plain.verdict == .notDurable && plain.sync == .fsync)
    #expect(plain.description.contains("the data in the device's cache"))
    #expect(
      DurabilityReport.darwin(typeName: "smbfs", isLocal: false, hasFullFlush: false).medium == .network)
  }

  #if os(Linux)
  private static let memory = "/dev/shm"

  @Test(.enabled(if: FileManager.default.isWritableFile(atPath: memory), "needs a tmpfs at /dev/shm"))
  func realTmpfsIsReportedAsNotDurable() throws {
    let folder = "\(Self.memory)/dugout-durability-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let store = try ByteStore.open(folder)
    #expect(store.durability == .linux(type: 0x0102_1994))
    try store.close()
  }
  #endif
}
