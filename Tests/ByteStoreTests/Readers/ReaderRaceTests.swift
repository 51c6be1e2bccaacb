// Readers whose writer flushes, recycles, damages or replaces files between two of their calls.

import Harness
import Testing

@testable import ByteStore

@Suite struct ReaderRaceTests {
  private let followed: FollowedWriter

  init() throws { followed = try FollowedWriter() }

  private var machine: TestStore { followed.machine }
  private var writer: ByteStore { followed.store }
  private var files: ScriptedFileSystem { followed.files }

  /// Returns a function that commits a value, and then flushes, which recycles the log.
  private func commitAndFlush(_ value: UInt8) -> @Sendable () -> Void {
    let writer = writer
    return {
      _ = try? writer.put([value], for: "a")
      try? writer.flush()
      becomeIdle(writer)
    }
  }

  private var hasRecycledLog: Bool { machine.disk.image.paths.contains("/store/SPARE") }

  // MARK: Opening

  /// The calls of an open that read the first manifest and the first log.
  private static let callsOfAnOpen = ["open log-0000000001", "read log-0000000001", "read MANIFEST"]

  @Test(arguments: callsOfAnOpen)
  func anOpenStartsAgainIfAFlushComesBetweenItsCalls(call: String) throws {
    files.hooks.before(call, commitAndFlush(2))
    let reader = try followed.openReader()
    #expect(files.hooks.areDone && hasRecycledLog)
    #expect(try reader.value(for: "a") == [2], "the flush has made the commit durable")
  }

  @Test func anOpenEndsIfNothingStopsTheWriter() throws {
    // Each attempt reads the manifest twice.
    for number in 0..<20 { files.hooks.before("open MANIFEST", commitAndFlush(UInt8(number + 2))) }
    let reader = try followed.openReader()
    #expect(files.hooks.areDone)
    #expect(try reader.value(for: "a") == [21])
  }

  @Test func aMissingSegmentIsDamageIfTheManifestIsStillTheSame() throws {
    try writer.flush()
    try machine.disk.openDirectory(TestStore.path).remove("segment-0000000001")
    let error = try storeError { () throws(ByteStoreError) in _ = try followed.openReader() }
    #expect(error.isDamage)
  }

  @Test func aDamagedSegmentIsReportedByTheReadsThatNeedIt() throws {
    try writer.flush()
    let segment = try machine.disk.openDirectory(TestStore.path).openFile("segment-0000000001", .readAndWrite)
    _ = try segment.write([0xFF].span.bytes, at: 40)
    let reader = try followed.openReader()
    for _ in 0..<2 {
      let error = try storeError { () throws(ByteStoreError) in _ = try reader.value(for: "a") }
      #expect(error.isDamage && !error.description.contains("no such file"), "\(error)")
    }
  }

  @Test func aReaderSaysThatABackupWasInterrupted() throws {
    try writer.flush()
    try writer.close()
    let directory = try machine.disk.openDirectory(TestStore.path)
    try directory.remove("segment-0000000001")
    _ = try directory.createFile("BACKUP")
    let error = try storeError { () throws(ByteStoreError) in _ = try followed.openReader() }
    #expect(error == .incompleteBackup(directory: TestStore.path))
  }

  // MARK: Following

  @Test func aLogThatIsZeroedDuringAReadHidesNoCommitForLong() throws {
    let reader = try followed.openReader()
    try writer.put([2], for: "a")
    becomeIdle(writer)
    files.hooks.before("read log-0000000001", commitAndFlush(3))
    try refresh(reader)
    #expect(files.hooks.areDone && hasRecycledLog)
    #expect(try [[1], [2]].contains(reader.value(for: "a") ?? []), "a committed state, if not the last")
    #expect(try refresh(reader), "the commits are in no log any more")
    #expect(try reader.value(for: "a") == [3])
    try reader.checkInvariants()
  }

  @Test func aReaderGoesFromLogToLog() throws {
    let reader = try followed.openReader()
    // With more log files, a flush would drop them.
    for number in UInt8(2)..<34 { try writer.put([UInt8](repeating: number, count: 9000), for: "a") }
    becomeIdle(writer)
    try #require(writer.writer.withLock { $0.manifest.logs.count } > 3)
    #expect(try !refresh(reader))
    #expect(try reader.value(for: "a")?.first == 33)
    #expect(reader.lastCommit == writer.lastCommit)
  }

  @Test func damageInTheLogIsNotTakenForItsEnd() throws {
    let reader = try followed.openReader()
    let end = try #require(writer.writer.withLock { $0.log?.end })
    try writer.put([2], for: "a")
    try writer.put([3], for: "a")
    let frame = end.roundedUp(toMultipleOf: UInt64(LogFormat.pageBytes))
    let log = try machine.disk.openDirectory(TestStore.path).openFile("log-0000000001", .readAndWrite)
    _ = try log.write([0xFF].span.bytes, at: frame + 40)
    let errors = try (0..<2).map { _ in
      try storeError { () throws(ByteStoreError) in try refresh(reader) }
    }
    #expect(errors.map(\.isDamage) == [true, true])
    #expect(try reader.value(for: "a") == [1], "the reader shows what it has shown")
  }

  @Test func aFailedReadLosesNoCommit() throws {
    let reader = try followed.openReader()
    try writer.put([2], for: "a")
    becomeIdle(writer)
    guard case .commits(let commits) = try reader.follow() else {
      Issue.record("the log has the commit")
      return
    }
    #expect(commits.count == 1)
    // The caller could not apply the commit.
    #expect(try refresh(reader))
    #expect(try reader.value(for: "a") == [2])
  }

  @Test func anOlderCopyOfTheStoreIsNoticed() throws {
    let older = machine.disk.image
    try writer.put([2], for: "a")
    try writer.flush()
    try writer.put([3], for: "a")
    becomeIdle(writer)
    let reader = try followed.openReader()
    try writer.close()
    let directory = try machine.disk.openDirectory(TestStore.path)
    for name in try directory.names() where name != "LOCK" { try directory.remove(name) }
    for path in older.paths where path.hasPrefix("/store/") && path != "/store/LOCK" {
      let bytes = try #require(older.contents(of: path)).bytes
      _ = try directory.createFile(String(path.dropFirst("/store/".count))).write(bytes.span.bytes, at: 0)
    }
    let error = try storeError { () throws(ByteStoreError) in try refresh(reader) }
    #expect(error == .replaced(directory: TestStore.path))
    #expect(try reader.value(for: "a") == [3])
  }
}

/// The lock of the readers, on real files.
@Suite struct ReaderRecyclingTests {
  private let folder = TemporaryDirectory()

  private func commitAndFlush(_ store: ByteStore) throws {
    for number in UInt8(0)..<3 { try store.put([UInt8](repeating: number, count: 3000), for: "a") }
    try store.flush()
  }

  @Test func aWriterRecyclesNoLogWhileThereAreReaders() throws {
    let store = try ByteStore.open(folder.path, options: writerOptions())
    try store.put([1], for: "a")
    let reader = try openReader(folder.path, .real)
    try commitAndFlush(store)
    #expect(try !folder.names.contains("SPARE"))
    try reader.close()
    try commitAndFlush(store)
    #expect(try folder.names.contains("SPARE"))
    try store.close()
  }

  /// A question takes two system calls. The calls of an open are one for each lock, and one for the mark. The
  /// first commit sets the second mark.
  @Test(arguments: [false, true]) func aWriterAsksForReadersOncePerFlush(hasReader: Bool) throws {
    let files = ScriptedFileSystem(base: PosixFileSystem())
    var platform = Platform.real
    platform.fileSystem = files
    let store = try ByteStore.open(folder.path, options: writerOptions(), platform: platform)
    var opening = ["lock": 1, "readerLock": 1, "mark": 1]
    #expect(files.hooks.callsOfLocks == opening)
    let reader = hasReader ? try openReader(folder.path, .real) : nil
    opening["markAppends"] = 1
    for number in UInt8(0)..<50 {
      try store.put([UInt8](repeating: number, count: 3000), for: "a")
      store.performMaintenance()
    }
    #expect(files.hooks.callsOfLocks == opening, "a commit and an idle log need no call")
    for _ in 0..<4 {
      try commitAndFlush(store)
      if let reader { try refresh(reader) }
    }
    #expect(files.hooks.callsOfLocks == opening.merging(["isShared": 4]) { $1 })
    try reader?.close()
    try store.close()
  }

  @Test func aReaderNeedsNoLockAndCreatesNone() throws {
    let store = try ByteStore.open(folder.path, options: writerOptions())
    try store.put([1], for: "a")
    try store.close()
    let directory = try PosixFileSystem().openDirectory(folder.path)
    try directory.remove("READERS")
    try directory.remove("LOCK")
    let before = try folder.contents()
    let reader = try openReader(folder.path, .real)
    #expect(try reader.value(for: "a") == [1])
    try refresh(reader)
    try reader.close()
    #expect(try folder.contents() == before)
  }
}
