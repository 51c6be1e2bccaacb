// Readers of a store that is replaced by an older copy of itself, which was then written further.

import Harness
import Testing

@testable import ByteStore

@Suite struct ReaderHistoryTests {
  private let machine = TestStore()
  private let writer: ByteStore
  private let reader: ByteStore
  private let copy: DiskImage

  /// The reader shows the commits 1 to 3, and the copy has the first of them.
  init() throws {
    writer = try ByteStore.open(
      TestStore.path, options: writerOptions(), platform: machine.disk.platform(seed: 1))
    try Self.put(1, stamp: 10, in: writer)
    becomeIdle(writer)
    copy = machine.disk.image
    reader = try openReader(TestStore.path, machine.disk.platform(seed: 2))
    try Self.put(2, stamp: 20, in: writer)
    try Self.put(3, stamp: 30, in: writer)
    becomeIdle(writer)
    try refresh(reader)
    try #require(reader.lastCommit == SequenceNumber(3))
  }

  private static func put(_ value: UInt8, stamp: UInt64, in store: ByteStore) throws {
    var batch = Batch(stamp: stamp)
    try batch.put([value], for: Array("a".utf8))
    try store.commit(batch)
  }

  /// Puts the copy in the place of the store, and opens it for writing.
  private func openCopy() throws -> ByteStore {
    try writer.close()
    let directory = try machine.disk.openDirectory(TestStore.path)
    for name in try directory.names() where name != "LOCK" { try directory.remove(name) }
    for path in copy.paths where path.hasPrefix("/store/") && path != "/store/LOCK" {
      let bytes = try #require(copy.contents(of: path)).bytes
      _ = try directory.createFile(String(path.dropFirst("/store/".count))).write(bytes.span.bytes, at: 0)
    }
    return try ByteStore.open(
      TestStore.path, options: writerOptions(), platform: machine.disk.platform(seed: 3))
  }

  private func expectReplaced() throws {
    for _ in 0..<2 {
      let error = try storeError { () throws(ByteStoreError) in try refresh(reader) }
      #expect(error == .replaced(directory: TestStore.path))
    }
    #expect(try reader.value(for: "a") == [3])
  }

  /// The copy ends the log before the position of the reader. The last shown commit looks the same.
  @Test func aLogThatEndsBeforeThePositionIsNoticed() throws {
    let other = try openCopy()
    try Self.put(9, stamp: 20, in: other)
    for stamp in [30, 40, 50] { try Self.put(3, stamp: UInt64(stamp), in: other) }
    becomeIdle(other)
    try expectReplaced()
  }

  /// The copy has flushed the log of the reader, and still has commit 3.
  @Test func anotherCommitInThePlaceOfTheLastOneIsNoticed() throws {
    let other = try openCopy()
    try Self.put(9, stamp: 20, in: other)
    try other.flush()
    for stamp in [31, 40, 50] { try Self.put(3, stamp: UInt64(stamp), in: other) }
    becomeIdle(other)
    #expect(other.writer.withLock { $0.flushedThrough } == SequenceNumber(2))
    try expectReplaced()
  }

  /// The copy has flushed all commits up to the last shown one.
  @Test func anEarlierStampIsNoticed() throws {
    let other = try openCopy()
    for stamp in 21..<26 { try Self.put(9, stamp: UInt64(stamp), in: other) }
    try other.flush()
    becomeIdle(other)
    try expectReplaced()
  }

  /// The position of the reader is in the part that both histories have.
  @Test func aCopyThatContinuesWhatIsShownIsFollowed() throws {
    let other = try openCopy()
    let second = try openReader(TestStore.path, machine.disk.platform(seed: 5))
    #expect(try second.value(for: "a") == [1])
    try Self.put(9, stamp: 20, in: other)
    becomeIdle(other)
    try refresh(second)
    try other.flush()
    for stamp in 21..<26 { try Self.put(8, stamp: UInt64(stamp), in: other) }
    try other.flush()
    try refresh(second)
    #expect(try second.value(for: "a") == [8])
    #expect(second.lastCommit == other.lastCommit)
  }
}
