// The report of a salvage about a damaged log that was in use. Only the log itself recorded where it ended.

import Harness
import Testing

@testable import ByteStore
@testable import StoreTools

@Suite struct LostLogTests {
  /// A store with a value in segments and one in the current log, not closed.
  private func store(seed: UInt64 = 1) throws -> TestStore {
    let machine = TestStore()
    var options = ByteStore.Options()
    options.logBytesMin = 64 << 10
    options.maintenance = .manual
    let store = try ByteStore.open(
      TestStore.path, options: options, platform: machine.disk.platform(seed: seed))
    try store.put([1], for: "flushed")
    try store.flush()
    try store.put([2], for: "logged")
    store.abandon()
    return machine.withAllWritesDurable
  }

  private func salvage(_ machine: TestStore) throws -> SalvageReport {
    try ByteStore.salvage(TestStore.path, platform: machine.disk.platform(seed: 11))
  }

  private func log(_ machine: TestStore) throws -> String {
    try #require(machine.paths("/log-").last)
  }

  private func contents(_ machine: TestStore) throws -> [String: [UInt8]] {
    let store = try machine.open()
    defer { store.abandon() }
    var contents: [String: [UInt8]] = [:]
    try store.snapshot().forEach { _, key, value in
      contents[String(decoding: [UInt8](copying: key), as: UTF8.self)] = [UInt8](copying: value)
    }
    return contents
  }

  enum Loss: String, CaseIterable, Sendable {
    case gone = "is not there"
    case foreign = "a file of another store"
    case garbage = "nothing can be read"
    case zeroed = "nothing can be read of the log that was in use"
    case another = "another file of this store"
    case cutShort = "was cut short"
    case unreadable = "the device does not return"

    func strike(_ machine: TestStore, _ log: String, _ other: TestStore) throws -> TestStore {
      switch self {
      case .gone:
        var image = machine.disk.image
        image.delete(log)
        return TestStore(image)
      case .foreign:
        let bytes = try #require(other.disk.image.contents(of: log)).bytes
        return try machine.changing(log) { $0 = bytes }
      case .garbage:
        return try machine.changing(log) { bytes in
          var random = SeededRandom(seed: 3)
          bytes = random.bytes(bytes.count)
        }
      // The zeros also replace the header, which was on disk before the manifest named the log.
      case .zeroed: return try machine.changing(log) { $0 = [UInt8](repeating: 0, count: $0.count) }
      case .another:
        let segment = try #require(machine.paths("/segment-").first)
        let bytes = try #require(machine.disk.image.contents(of: segment)).bytes
        return try machine.changing(log) { $0 = bytes }
      case .cutShort: return try machine.changing(log) { $0 = Array($0.prefix(4096)) }
      case .unreadable:
        return TestStore(machine.disk.image) { options in
          options.unreadable = SimulatedDisk.Unreadable(path: log, range: 4096..<8192)
        }
      }
    }
  }

  /// Regression: only the last log was lost, and the salvage reported no loss.
  @Test(arguments: Loss.allCases) func incompleteCurrentLogIsReported(loss: Loss) throws {
    let machine = try store()
    let log = try log(machine)
    let struck = try loss.strike(machine, log, try store(seed: 2))
    let report = try salvage(struck)
    #expect(report.outcome == .salvaged)
    #expect(report.gaps.count == 1, "\(report.gaps)")
    let gap = try #require(report.gaps.first)
    #expect(gap.file == log && gap.reason.contains(loss.rawValue) && gap.length > 0, "\(gap)")
    #expect(report.keys == 1 && report.entriesLost == 0)
    #expect(try contents(TestStore(struck.disk.image)) == ["flushed": [1]])
  }

  /// Regression: one unreadable page made the whole log unreadable.
  @Test func unreadableLogPageLosesNoOtherPage() throws {
    let machine = TestStore()
    let store = try machine.open()
    for key in 0..<3 { try store.put([UInt8](repeating: UInt8(key), count: 3000), for: "key\(key)") }
    store.abandon()
    let durable = machine.withAllWritesDurable
    let log = try log(durable)
    let struck = TestStore(durable.disk.image) { options in
      options.unreadable = SimulatedDisk.Unreadable(path: log, range: 8192..<8704)
    }
    let report = try salvage(struck)
    #expect(report.commitsMissing == [2...2] && report.gaps.count == 1, "\(report)")
    #expect(Set(try contents(TestStore(struck.disk.image)).keys) == ["key0", "key2"])
  }

  /// The frames are validated by their own checksums, and nothing after them is missing.
  @Test func logWithOnlyADamagedHeaderHasNoGap() throws {
    let machine = try store()
    let damaged = try machine.changing(try log(machine)) { $0[40] ^= 1 }
    #expect(try salvage(damaged).gaps == [])
    #expect(try contents(damaged) == ["flushed": [1], "logged": [2]])
  }

  /// A log without commits after a rotation loses nothing.
  @Test func aLogThatNeverHeldACommitIsNoLoss() throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([1], for: "flushed")
    try store.flush()
    store.abandon()
    let durable = machine.withAllWritesDurable
    let damaged = try durable.changing(try log(durable)) { $0[40] ^= 1 }
    let report = try salvage(damaged)
    #expect(report.outcome == .salvaged && report.gaps == [] && report.commitsMissing == [])
    #expect(try contents(damaged) == ["flushed": [1]])
  }

  /// Damage elsewhere does not turn an unclosed log into a loss.
  @Test func intactUnclosedLogIsNoLoss() throws {
    let machine = try store()
    let checkpoint = try #require(machine.paths("/checkpoint-").first)
    let report = try salvage(try machine.changing(checkpoint) { $0[4096 + 100] ^= 1 })
    #expect(report.outcome == .salvaged && report.gaps == [], "\(report.gaps)")
  }

  /// An older manifest lists a log as open that was closed and deleted later. Newer files record where this
  /// log ended.
  @Test func logNamedByAnOlderManifestIsNoLoss() throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([1], for: "flushed")
    let older = try #require(machine.disk.image.contents(of: "/store/MANIFEST")).bytes
    try store.flush()
    try store.put([2], for: "logged")
    try store.close()
    let put = try machine.withAllWritesDurable.changing("/store/MANIFEST") { $0 = older }
    #expect(try Manifest(decoding: older.rawSpan, file: "").logs.map { $0.end == nil } == [true])
    let report = try salvage(put)
    #expect(report.outcome == .salvaged && report.gaps == [], "\(report.gaps)")
    #expect(try contents(put) == ["flushed": [1], "logged": [2]])
  }

  /// A crash may leave MANIFEST.new without the log that the manifest names. Such a log never held a commit.
  @Test func logNamedOnlyByTheNextManifestIsNoLoss() throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([1], for: "flushed")
    try store.flush()
    try store.put([2], for: "logged")
    try store.close()
    let durable = machine.withAllWritesDurable
    let bytes = try #require(durable.disk.image.contents(of: "/store/MANIFEST")).bytes
    var next = try Manifest(decoding: bytes.rawSpan, file: "").successor()
    let number = next.nextLogNumber
    next.nextLogNumber = try #require(number.next)
    next.logs.append(
      Manifest.Log(number: number, fileID: RandomID(high: 1, low: 2), capacity: 65_536, end: nil))
    var image = durable.disk.image
    image.replace("/store/MANIFEST.new", with: PagedBytes(next.encoded()))
    let checkpoint = try #require(durable.paths("/checkpoint-").first)
    let damaged = try TestStore(image).changing(checkpoint) { $0[4096 + 100] ^= 1 }
    let report = try salvage(damaged)
    #expect(report.outcome == .salvaged && report.gaps == [], "\(report.gaps)")
  }

  /// Regression: a store had rotated its log, and the manifest with the new log was lost. The missing
  /// commits of the old log went unnoticed, because only the header of the new log mentions them.
  @Test func nextLogRevealsLostCommitsOfThePreviousOne() throws {
    let machine = try store()
    let log = try log(machine)
    var image = machine.disk.image
    let bytes = try #require(image.contents(of: "/store/MANIFEST")).bytes
    let manifest = try Manifest(decoding: bytes.rawSpan, file: "")
    let entry = try #require(manifest.logs.last)
    #expect(log == "/store/\(StoreFile.log(entry.number))")
    let next = LogHeader(
      fileID: RandomID(high: 3, low: 4), storeID: manifest.storeID, number: manifest.nextLogNumber,
      capacity: 65_536,
      previous: LogHeader.LogEnd(fileID: entry.fileID, length: 8192, sequence: SequenceNumber(2)))
    image.replace(
      "/store/\(StoreFile.log(next.number))",
      with: PagedBytes(next.encoded() + [UInt8](repeating: 0, count: 65_536 - 4096)))
    image.delete(log)
    image.delete("/store/MANIFEST")
    let report = try salvage(TestStore(image))
    #expect(report.commitsMissing == [2...2] && report.gaps == [], "\(report)")
  }

  /// Regression: the disk refused the manifest of a rotation, and the store continued with the old log. A
  /// power loss brought back the new log, and a salvage trusted the new log's record of where the old log
  /// ended.
  @Test func unnamedLogIsNotTrustedAboutThePreviousOne() throws {
    let machine = try store()
    let log = try log(machine)
    var image = machine.disk.image
    let bytes = try #require(image.contents(of: "/store/MANIFEST")).bytes
    let manifest = try Manifest(decoding: bytes.rawSpan, file: "")
    let entry = try #require(manifest.logs.last)
    let next = LogHeader(
      fileID: RandomID(high: 3, low: 4), storeID: manifest.storeID, number: manifest.nextLogNumber,
      capacity: 65_536,
      previous: LogHeader.LogEnd(fileID: entry.fileID, length: 4096, sequence: SequenceNumber(1)))
    image.replace(
      "/store/\(StoreFile.log(next.number))",
      with: PagedBytes(next.encoded() + [UInt8](repeating: 0, count: 65_536 - 4096)))
    let checkpoint = try #require(machine.paths("/checkpoint-").first)
    let damaged = try TestStore(image).changing(checkpoint) { $0[4096 + 100] ^= 1 }
    let report = try salvage(damaged)
    #expect(report.gaps == [] && report.commitsMissing == [], "\(report)")
    #expect(try contents(damaged) == ["flushed": [1], "logged": [2]])
    // The unnamed log does not hide the loss of the other log either.
    image.delete(log)
    let lossy = try salvage(TestStore(image))
    #expect(lossy.gaps.map(\.reason) == ["the log that was in use is not there"], "\(lossy)")
  }

  /// Regression: without a manifest, one intact file was enough for a salvage to report no loss.
  @Test(arguments: [false, true]) func withoutAManifestUnreadableLogsAreReported(hasCheckpoint: Bool)
    throws
  {
    let machine = try store()
    let log = try log(machine)
    var random = SeededRandom(seed: 3)
    var image = try machine.changing(log) { $0 = random.bytes($0.count) }.disk.image
    let bytes = try #require(image.contents(of: "/store/MANIFEST")).bytes
    let manifest = try Manifest(decoding: bytes.rawSpan, file: "")
    image.delete("/store/MANIFEST")
    if !hasCheckpoint {
      for path in machine.paths("/checkpoint-") + machine.paths("/segment-") { image.delete(path) }
      let empty = LogHeader(
        fileID: RandomID(high: 3, low: 4), storeID: manifest.storeID, number: manifest.nextLogNumber,
        capacity: 65_536, previous: LogHeader.LogEnd(fileID: .zero, length: 0, sequence: .none))
      image.replace(
        "/store/\(StoreFile.log(empty.number))",
        with: PagedBytes(empty.encoded() + [UInt8](repeating: 0, count: 65_536 - 4096)))
    }
    let report = try salvage(TestStore(image))
    #expect(report.gaps.count == 1 && report.gaps.first?.file == log, "\(report)")
    #expect(report.gaps.first?.reason.hasPrefix("nothing can be read of the log, and no manifest") == true)
    #expect(report.checkpoint == (hasCheckpoint ? .whole : .none))
  }
}
