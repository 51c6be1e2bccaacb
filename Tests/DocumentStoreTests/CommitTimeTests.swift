// Commit times strictly increase, whatever the wall clock does (P15).
//
// The rule is: time = max(wall clock, last time + 1 µs).

import ByteStore
import DocumentStore
import Harness
import StoreTools
import Testing

@Suite struct CommitTimeTests {
  private let directory = TemporaryDirectory()
  private let place = path("rooms", "eros")
  private let start: Int64 = 1_700_000_000_000_000
  private let year: Int64 = 365 * 86_400 * 1_000_000

  private var write: [Mutation] { [.set(place, StoredMap())] }

  @Test func commitTimeIsTheClockTime() throws {
    let clock = HandClock(start)
    let store = try DocumentStore.open(directory, clock)
    #expect(try store.commit(write) == timestamp(start))
    clock.set(start + 1)
    #expect(try store.commit(write) == timestamp(start + 1))
    clock.set(start + 50 * year)
    #expect(try store.commit(write) == timestamp(start + 50 * year))
    try store.close()
  }

  @Test func commitsUnderAStoppedClockAreAMicrosecondApart() throws {
    let store = try DocumentStore.open(directory, HandClock(start))
    let times = try (0..<20).map { _ in try store.commit(write) }
    #expect(times == (0..<20).map { timestamp(start + Int64($0)) })
    try store.close()
  }

  @Test func commitTimesAdvanceByMicrosecondsAfterTheClockJumpsBack() throws {
    let clock = HandClock(start)
    let store = try DocumentStore.open(directory, clock)
    try store.commit(write)
    clock.set(start - 30 * year)
    let times = try (1...3).map { _ in try store.commit(write) }
    #expect(times == (1...3).map { timestamp(start + Int64($0)) })
    clock.set(start + 3)
    #expect(try store.commit(write) == timestamp(start + 4))
    clock.set(start + 10)
    #expect(try store.commit(write) == timestamp(start + 10))
    try store.close()
  }

  /// A store that was set back must not give out times again that its readers have seen.
  @Test func commitsAreLaterThanATimeToWhichTheStoreWasRaised() throws {
    let clock = HandClock(start)
    let store = try DocumentStore.open(directory, clock)
    #expect(store.lastCommitTime == nil)
    try store.commit(write)
    #expect(store.raiseCommitTime(to: timestamp(start + year)) == timestamp(start))
    #expect(store.lastCommitTime == timestamp(start), "it becomes the time of a commit with the next one")
    #expect(store.raiseCommitTime(to: timestamp(start)) == timestamp(start + year), "it never goes back")
    #expect(try store.commit(write) == timestamp(start + year + 1))
    try store.close()
    let later = try DocumentStore.open(directory, clock)
    #expect(try later.commit(write) == timestamp(start + year + 2))
    clock.set(start + 2 * year)
    #expect(try later.commit(write) == timestamp(start + 2 * year))
    try later.close()
  }

  @Test func commitTimesIncreaseAcrossCloseOrCrash() throws {
    let clock = HandClock(start)
    var times: [StoredTimestamp] = []
    var updateTimes: [StoredTimestamp?] = []
    var lastTimes: [StoredTimestamp?] = []
    var store: DocumentStore? = try DocumentStore.open(directory, clock)
    for round in 0..<6 {
      for commit: [Mutation] in [write, [.delete(place)], [], write] {
        times.append(try #require(try store?.commit(commit)))
      }
      updateTimes.append(try store?.document(at: place)?.updateTime)
      lastTimes.append(times.last)
      clock.set(start - Int64(round) * year)
      if round % 2 == 0 { try store?.close() }
      store = try DocumentStore.abandonAndOpen(&store, directory, clock)
    }
    try store?.close()
    #expect(times == (0..<24).map { timestamp(start + Int64($0)) })
    #expect(updateTimes == lastTimes)
  }

  @Test func emptyCommitAdvancesTheTime() throws {
    let clock = HandClock(start)
    let store = try DocumentStore.open(directory, clock)
    #expect(try store.commit([]) == timestamp(start))
    try store.close()
    clock.set(0)
    let again = try DocumentStore.open(directory, clock)
    #expect(try again.commit(write) == timestamp(start + 1))
    try again.close()
  }

  @Test(arguments: [-1, .min] as [Int64]) func aClockBefore1970IsRejected(time: Int64) throws {
    let clock = HandClock(time)
    let store = try DocumentStore.open(directory, clock)
    let first = try store.commit(write)
    #expect(first > timestamp(0))
    #expect(try store.commit(write) > first)
    try store.close()
    let again = try DocumentStore.open(directory, clock)
    #expect(try again.commit(write) == timestamp(first.microseconds + 2))
    try again.close()
  }

  @Test func aClockBeyondTheYear9999FailsCommitsWithoutDamage() throws {
    let clock = HandClock(start)
    let store = try DocumentStore.open(directory, clock)
    let times: [Int64] = [253_402_300_800_000_000, .max]
    let accepted = times.filter { time in
      clock.set(time)
      return failure { try store.commit(write) }?.complaint == nil
    }
    #expect(accepted == [])
    #expect(try store.document(at: place) == nil)
    clock.set(start)
    #expect(try store.commit(write) == timestamp(start))
    try store.close()
  }

  /// Guards against an unusable store: a commit in the last microsecond of 9999 leaves no later commit time.
  /// Therefore a clock in the year 9999 is rejected.
  @Test func aClockInTheYear9999IsRejected() throws {
    let yearBegins: Int64 = 253_370_764_800_000_000
    let clock = HandClock(yearBegins - 1)
    var store = try DocumentStore.open(directory, clock)
    #expect(try store.commit(write) == timestamp(yearBegins - 1))
    let accepted = [yearBegins, 253_402_300_799_999_999].filter { time in
      clock.set(time)
      return failure { try store.commit(write) }?.complaint == nil
    }
    #expect(accepted == [])
    clock.set(start)
    var times: [StoredTimestamp] = []
    for _ in 0..<3 {
      times.append(try store.commit(write))
      try store.close()
      store = try DocumentStore.open(directory, clock)
    }
    try store.close()
    #expect(times == (0..<3).map { timestamp(yearBegins + Int64($0)) })
  }

  /// If the last commit has the last valid time, the store opens and can be read, but no further commit is
  /// possible.
  @Test func storeOpensAfterACommitWithTheLastPossibleTime() throws {
    let clock = HandClock(start)
    let filled = try DocumentStore.open(directory, clock)
    try filled.commit(write)
    try filled.close()
    let bytes = try ByteStore.open(directory.path)
    try bytes.commit(Batch(stamp: UInt64(StoredTimestamp.last.microseconds)))
    try bytes.close()
    var updateTimes: [StoredTimestamp?] = []
    var complaints: [String] = []
    for _ in 0..<2 {
      let store = try DocumentStore.open(directory, clock)
      updateTimes.append(try store.document(at: place)?.updateTime)
      complaints.append(failure { try store.commit(write) }?.description ?? "")
      try store.close()
    }
    let expected: [StoredTimestamp?] = [timestamp(start), timestamp(start)]
    #expect(updateTimes == expected)
    let wrong = complaints.filter { !$0.contains("9999-12-31T23:59:59.999999Z") || !$0.contains("export") }
    #expect(wrong == [])
    #expect(try DocumentStore.check(directory.path).isSound)
  }

  /// A forged file can contain any stamp; adding a microsecond to it must not crash the process.
  @Test(arguments: [UInt64(Int64.max), UInt64(Int64.max) + 1, .max, 253_402_300_800_000_000])
  func anInvalidStampIsCorruption(stamp: UInt64) async {
    await #expect(processExitsWith: .success) { [stamp] in
      let directory = TemporaryDirectory()
      let bytes = try ByteStore.open(directory.path)
      try bytes.commit(Batch(stamp: stamp))
      try bytes.close()
      do throws(DocumentStoreError) {
        let store = try DocumentStore.open(directory.path)
        try store.commit([.set(path("a", "b"), StoredMap())])
        preconditionFailure("an invalid commit time was accepted")
      } catch {
        guard case .corrupted(let evidence) = error else { preconditionFailure("\(error)") }
        precondition(evidence.file?.hasPrefix(directory.path) == true)
      }
    }
  }

  @Test func everyServerTimestampOfACommitIsItsCommitTime() throws {
    let clock = HandClock(start)
    let store = try DocumentStore.open(directory, clock)
    try store.commit(write)
    clock.set(start - year)
    let stamp = { FieldTransform(StoredFieldPath(unchecked: $0), .serverTimestamp) }
    let paths = (0..<5).map { path("rooms", "room\($0)") }
    let time = try store.commit(
      paths.flatMap { path in
        [
          Mutation.set(path, StoredMap(), transforms: [stamp(["old"])]),
          Mutation.set(path, StoredMap(), transforms: [stamp(["at"]), stamp(["in", "a", "map"])]),
        ]
      })
    let inner = StoredMap([("a", .map(StoredMap([("map", .timestamp(time))])))])
    let fields = StoredMap([("at", .timestamp(time)), ("in", .map(inner))])
    let documents = try paths.compactMap { try store.document(at: $0) }
    let expected = paths.map { path in
      StoredDocument(path: path, createTime: time, updateTime: time, fields: fields)
    }
    #expect(documents == expected)
    try store.close()
  }
}
