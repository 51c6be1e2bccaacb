// Stores whose files are in memory.

import Testing

@testable import ByteStore

@Suite struct MemoryFileSystemTests {
  @Test func filesAreThereUntilTheyAreRemoved() throws {
    let system = MemoryFileSystem()
    #expect(throws: SystemFailure.self) { _ = try system.openDirectory("/a/b") }
    try system.createDirectory("/a/b")
    let directory = try system.openDirectory("/a/b")
    let file = try directory.createFile("one")
    #expect(throws: SystemFailure.self) { _ = try directory.createFile("one") }
    let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 >> 3) }
    #expect(try file.write(bytes.rawSpan, at: 65_530) == bytes.count)
    #expect(try file.size() == 265_530)
    try directory.rename("one", to: "two")
    #expect(try directory.names() == ["two"])
    let again = try directory.openFile("two", .read)
    var read = [UInt8](repeating: 7, count: 265_600)
    var span = read.mutableSpan
    var raw = span.mutableBytes
    let count = try again.read(into: &raw, at: 0)
    #expect(count == 265_530)
    #expect(Array(read.prefix(count)) == [UInt8](repeating: 0, count: 65_530) + bytes)
    try directory.remove("two")
    #expect(throws: SystemFailure.self) { _ = try directory.openFile("two", .read) }
    #expect(try directory.names().isEmpty)
  }

  @Test func storeInMemoryLivesAsLongAsItsFileSystem() throws {
    let platform = Platform.memory
    var options = ByteStore.Options()
    let store = try ByteStore.open("/memory", options: options, platform: platform)
    for number in 0..<300 {
      var batch = Batch()
      try batch.put(Array("value \(number)".utf8), for: Array("key \(number)".utf8))
      try store.commit(batch)
    }
    #expect(throws: ByteStoreError.self) {
      _ = try ByteStore.open("/memory", options: options, platform: platform)
    }
    try store.flush(.everything)
    try store.close()
    options.createsIfMissing = false
    let again = try ByteStore.open("/memory", options: options, platform: platform)
    #expect(again.count == 300)
    #expect(try again.value(for: Array("key 7".utf8)) == Array("value 7".utf8))
    try again.close()
    #expect(throws: ByteStoreError.self) {
      _ = try ByteStore.open("/memory", options: options, platform: .memory)
    }
  }
}
