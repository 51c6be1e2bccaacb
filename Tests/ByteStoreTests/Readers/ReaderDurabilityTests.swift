// Readers show nothing that a power loss could take back, also when no writer has the store open.

import Harness
import Testing

@testable import ByteStore

@Suite struct ReaderDurabilityTests {
  private static let log = "log-0000000001"

  private let followed: FollowedWriter

  init() throws { followed = try FollowedWriter() }

  private var machine: TestStore { followed.machine }
  private var writer: ByteStore { followed.store }
  private var files: ScriptedFileSystem { followed.files }

  /// Returns a function that writes a commit into the log without a sync.
  private func write(_ value: UInt8) -> @Sendable () -> Void {
    let writer = writer
    return { _ = try? writer.put([value], for: "a", .buffered) }
  }

  /// Expects that a power loss leaves every commit that the reader shows.
  private func expectDurable(_ reader: ByteStore) throws {
    let recovered = try machine.after(.powerLoss(.nothing, seed: 3)).open()
    #expect(recovered.lastCommit >= reader.lastCommit)
  }

  // MARK: The order of the steps

  /// A reader cannot see every writer, such as one whose mark failed.
  @Test func aRefreshShowsWhatItReadBeforeItsSync() throws {
    let reader = try followed.openReader()
    files.hooks.answer("mayHaveWriter", false, false)
    write(2)()
    files.hooks.before("read \(Self.log)", write(3))
    files.hooks.before("sync \(Self.log)", write(4))
    try refresh(reader)
    #expect(files.hooks.areDone)
    #expect(try reader.value(for: "a") == [3], "the commit after the read was not read")
    try expectDurable(reader)
  }

  @Test func anOpenShowsWhatItReadBeforeItsSync() throws {
    files.hooks.answer("mayHaveWriter", false, false, false)
    write(2)()
    files.hooks.before("read \(Self.log)", write(3))
    files.hooks.before("sync \(Self.log)", write(4))
    let reader = try followed.openReader()
    #expect(files.hooks.areDone)
    #expect(try reader.value(for: "a") == [3], "the commit after the read was not read")
    try expectDurable(reader)
  }

  /// The second answer is the one after the read.
  @Test func aWriterThatStartsDuringTheReadSyncsItsLogItself() throws {
    let reader = try followed.openReader()
    write(2)()
    files.hooks.answer("mayHaveWriter", false, true)
    try refresh(reader)
    #expect(try reader.value(for: "a") == [1])
    files.hooks.answer("mayHaveWriter", false, false, true)
    let other = try followed.openReader()
    #expect(try other.value(for: "a") == [1])
    #expect(files.hooks.count("sync \(Self.log)") == 0)
    becomeIdle(writer)
    try refresh(reader)
    #expect(try reader.value(for: "a") == [2])
  }

  // MARK: Failed syncs

  /// After a failed sync, the system may count the lost pages as written, and the next sync succeeds.
  @Test func aFailedSyncIsNotRepeated() throws {
    let reader = try followed.openReader()
    write(2)()
    writer.abandon()
    let disk = machine.disk
    files.hooks.before("sync \(Self.log)") { disk.failNext(.inputOutput) }
    for _ in 0..<3 {
      try refresh(reader)
      #expect(try reader.value(for: "a") == [1])
    }
    let reopened = try reader.reopened(upperLayer: NoLayer())
    #expect(try reopened.value(for: "a") == [1], "the files were captured again")
    try reader.adopt(reopened) {}
    try refresh(reader)
    #expect(try reader.value(for: "a") == [1])
    #expect(files.hooks.areDone && files.hooks.count("sync \(Self.log)") == 1)
    try expectDurable(reader)
    // A writer writes the bytes again before it continues.
    let next = try ByteStore.open(
      TestStore.path, options: writerOptions(), platform: machine.disk.platform(seed: 5))
    try next.put([3], for: "b")
    becomeIdle(next)
    try refresh(reader)
    #expect(try reader.value(for: "a") == [2] && reader.value(for: "b") == [3])
  }

  @Test func anOpenWhoseSyncFailsShowsOnlyWhatIsKnownToBeDurable() throws {
    write(2)()
    writer.abandon()
    let disk = machine.disk
    files.hooks.before("sync \(Self.log)") { disk.failNext(.inputOutput) }
    let reader = try followed.openReader()
    try refresh(reader)
    #expect(try reader.value(for: "a") == [1])
    #expect(files.hooks.areDone && files.hooks.count("sync \(Self.log)") == 1)
    try expectDurable(reader)
  }

  // MARK: Idle logs

  /// Regression: each refresh of an idle store read 256 KiB, and synced the log if there was no writer.
  @Test(arguments: [true, false]) func anIdleLogCostsOnePageAndNoSync(hasWriter: Bool) throws {
    let reader = try followed.openReader()
    write(2)()
    if hasWriter { becomeIdle(writer) } else { writer.abandon() }
    try refresh(reader)
    #expect(try reader.value(for: "a") == [2])
    let calls = files.hooks.calls
    #expect(calls["sync \(Self.log)", default: 0] == (hasWriter ? 0 : 1))
    files.hooks.bytesOfLogs.withLock { $0 = 0 }
    for _ in 0..<5 { try refresh(reader) }
    #expect(files.hooks.bytesOfLogs.withLock { $0 } == 5 * LogFormat.pageBytes)
    #expect(files.hooks.count("sync \(Self.log)") == calls["sync \(Self.log)", default: 0])
    #expect(reader.bytesNotDurable == 0)
  }

  @Test func damageInTheFirstPageAfterThePositionIsNotTakenForItsEnd() throws {
    let reader = try followed.openReader()
    let end = try #require(writer.writer.withLock { $0.log?.end })
    try writer.put([2], for: "a")
    try writer.put([3], for: "a")
    let frame = end.roundedUp(toMultipleOf: UInt64(LogFormat.pageBytes))
    let log = try machine.disk.openDirectory(TestStore.path).openFile(Self.log, .readAndWrite)
    _ = try log.write([0xFF].span.bytes, at: frame)
    let error = try storeError { () throws(ByteStoreError) in try refresh(reader) }
    #expect(error.isDamage)
  }

  // MARK: Gaps

  /// The writer may need a moment to finish a write of several pages.
  @Test func anOpenPausesBeforeItReadsALogWithAGapAgain() throws {
    try writer.put([2], for: "a")
    try writer.put([3], for: "a")
    let log = try machine.disk.openDirectory(TestStore.path).openFile(Self.log, .readAndWrite)
    let frame = UInt64(LogFormat.pageBytes)
    let byte = try log.readAll(1, at: frame + 40)
    _ = try log.write([~byte[0]].span.bytes, at: frame + 40)
    // Each attempt reads the manifest twice. The last byte is written during the third one.
    for _ in 0..<4 { files.hooks.before("open MANIFEST") {} }
    files.hooks.before("open MANIFEST") { _ = try? log.write(byte.span.bytes, at: frame + 40) }
    let platform = followed.readerPlatform
    let start = platform.clock.monotonicNanoseconds()
    let reader = try openReader(TestStore.path, platform)
    #expect(try reader.value(for: "a") == [2], "no frame records the sync of the last commit")
    #expect(platform.clock.monotonicNanoseconds() - start == 3_000_000, "1 ms, and then 2 ms")
  }
}
