// Documents with a time to live.

import ByteStore
import Dispatch
import Harness
import Testing

@testable import DocumentStore

/// A wall clock and a monotonic clock that the test sets.
private final class TwoClocks: StoreClock {
  private let times: Locked<(wall: Int64, monotonic: UInt64)>

  init(_ wall: Int64) { times = Locked((wall, 0)) }

  func pass(seconds: Int64) {
    times.withLock { $0 = ($0.wall + seconds * 1_000_000, $0.monotonic + UInt64(seconds) * 1_000_000_000) }
  }

  func jump(seconds: Int64) { times.withLock { $0.wall += seconds * 1_000_000 } }

  func wallMicroseconds() -> Int64 { times.withLock { $0.wall } }
  func monotonicNanoseconds() -> UInt64 { times.withLock { $0.monotonic } }
}

@Suite struct TimeToLiveTests {
  private static let start: Int64 = 1_700_000_000
  private let directory = TemporaryDirectory()
  private let clock = TwoClocks(start * 1_000_000)

  private func open(isSweptByItself: Bool = false) throws -> DocumentStore {
    var options = DocumentStore.Options()
    if !isSweptByItself { options.maintenance = .manual }
    return try DocumentStore.open(
      directory.path, options: options,
      platform: Platform(fileSystem: PosixFileSystem(), clock: clock, random: SystemRandom()))
  }

  private func session(_ id: String, until seconds: Int64, in parent: String = "users") -> Mutation {
    let until = StoredValue.timestamp(timestamp((Self.start + seconds) * 1_000_000))
    return .set(path(parent, "x", "sessions", id), StoredMap([("until", until)]))
  }

  @Test func onlyExpiredDocumentsAreDeleted() throws {
    var store = try open()
    try store.setTimeToLive(field("until"), ofCollectionGroup: "sessions")
    try store.commit([
      session("a", until: 10), session("b", until: 20, in: "teams"), session("c", until: 1000),
      .set(path("users", "x", "sessions", "d"), StoredMap([("until", .integer(5))])),
      .set(path("users", "x", "sessions", "e"), StoredMap()),
      .set(path("users", "x"), StoredMap([("until", .timestamp(timestamp(5)))])),
    ])
    #expect(try store.sweepExpired() == 0)
    clock.pass(seconds: 15)
    #expect(try store.sweepExpired() == 1)
    try store.close()
    store = try open()
    #expect(store.timeToLivePolicies == ["sessions": field("until")])
    clock.pass(seconds: 15)
    #expect(try store.sweepExpired() == 1)
    #expect(store.count == 4)
    try store.setTimeToLive(nil, ofCollectionGroup: "sessions")
    clock.pass(seconds: 10_000)
    #expect(try store.sweepExpired() == 0)
    try store.close()
  }

  @Test func reservedCollectionGroupsCannotHaveATimeToLive() throws {
    let store = try open()
    try store.setTimeToLive(field("until"), ofCollectionGroup: "caf\u{e9}")
    func complaint(_ id: String, _ path: StoredFieldPath = field("until")) -> String? {
      failure(of: { try store.setTimeToLive(path, ofCollectionGroup: id) })?.complaint
    }
    #expect(complaint("cafe\u{301}")?.contains("other bytes") == true)
    #expect(complaint("__objects__")?.contains("reserved") == true)
    #expect(complaint("a/b")?.contains("slash") == true)
    #expect(complaint("")?.contains("empty") == true)
    let long = StoredFieldPath(unchecked: [String(repeating: "n", count: 70_000)])
    #expect(complaint("sessions", long)?.contains("1500 bytes") == true)
    #expect(store.timeToLivePolicies == ["caf\u{e9}": field("until")])
    try store.setTimeToLive(nil, ofCollectionGroup: "caf\u{e9}")
    #expect(store.timeToLivePolicies.isEmpty)
  }

  @Test func aStoredTimeToLiveForAReservedCollectionIsIgnored() throws {
    let policies = ["__objects__": field("until"), "sessions": field("until"), "a/b": field("until")]
    #expect(FeedFormat.policies(FeedFormat.encode(policies)) == ["sessions": field("until")])
  }

  @Test func wallClockJumpTakesEffectOnlyAfterReopening() throws {
    var store = try open()
    try store.setTimeToLive(field("until"), ofCollectionGroup: "sessions")
    try store.commit([session("a", until: 100)])
    clock.jump(seconds: 5000)
    #expect(store.wallClockJump == 5000 * 1_000_000)
    #expect(try store.sweepExpired() == 0)
    clock.pass(seconds: 50)
    #expect(try store.sweepExpired() == 0)
    try store.close()
    store = try open()
    #expect(store.wallClockJump == 0)
    #expect(try store.sweepExpired() == 1)
    try store.close()
  }

  @Test func sweepsAreBatchedAndNotifyListenersAndTheFeed() throws {
    let store = try open()
    try store.setTimeToLive(field("until"), ofCollectionGroup: "sessions")
    try store.commit((0..<250).map { session("s\($0)", until: 1) })
    let consumer = try store.feedConsumer("a")
    clock.pass(seconds: 2)
    #expect(try (0..<4).map { _ in try store.sweepExpired() } == [100, 100, 50, 0])
    #expect(try consumer.read().map(\.changes.count) == [100, 100, 50])
    #expect(store.count == 0)
    try store.close()
  }

  /// Guards against an unreadable expired document that stops the sweeps of all collection groups.
  @Test func unreadableDocumentsAreSkippedAndReported() throws {
    var store = try open()
    try store.setTimeToLive(field("until"), ofCollectionGroup: "sessions")
    try store.setTimeToLive(field("until"), ofCollectionGroup: "tokens")
    try store.commit((0..<5).map { session("s\($0)", until: $0 == 2 ? 1 : 2) })
    let token = path("users", "x", "tokens", "t")
    try store.commit([
      .set(token, StoredMap([("until", .timestamp(timestamp((Self.start + 1) * 1_000_000)))]))
    ])
    // The first sweep builds the index on the expiry time.
    #expect(try store.sweepExpired() == 0)
    store = try damage(path("users", "x", "sessions", "s2"), of: store)
    clock.pass(seconds: 5)
    store.runExpirySweeps()
    #expect(store.count == 1)
    #expect(store.timeToLiveReports["sessions"]?.unreadable == 1)
    #expect(store.timeToLiveReports["tokens"]?.unreadable == 0)
    #expect(try store.document(at: token) == nil)
    #expect(store.unreadableExpired(ofFirst: 10)["tokens"] == .some(.some(0)))
    try store.commit([.delete(path("users", "x", "sessions", "s2"))])
    #expect(try store.sweepExpired() == 0)
    #expect(store.timeToLiveReports["sessions"] == TimeToLiveReport())
    try store.close()
  }

  private func damage(_ path: DocumentPath, of store: DocumentStore) throws -> DocumentStore {
    try store.close()
    let bytes = try ByteStore.open(directory.path)
    let key = DocumentKey.encode(path)
    let record = try #require(try bytes.value(for: key))
    var batch = Batch(stamp: bytes.lastStamp + 1)
    try batch.put(Array(record.prefix(9)) + [0xFF], for: key)
    try bytes.commit(batch)
    try bytes.close()
    return try open()
  }

  @Test func aSweepContinuesUntilNothingIsLeft() throws {
    let store = try open()
    try store.setTimeToLive(field("until"), ofCollectionGroup: "sessions")
    try store.commit((0..<250).map { session("s\($0)", until: 1) })
    clock.pass(seconds: 2)
    store.runExpirySweeps()
    #expect(store.count == 0)
    try store.close()
  }

  /// Waits until sweeps have left at most `count` documents in the collection group `sessions`. A listener
  /// reports each sweep that deletes documents.
  private func waitForSweeps(of store: DocumentStore, leaving count: Int) async throws {
    let (states, state) = AsyncStream.makeStream(of: Result<LiveSnapshot, DocumentStoreError>.self)
    let registration = try store.listen(
      to: StructuredQuery(.collectionGroup("sessions")), on: DispatchQueue(label: "dugout.test.sweeps")
    ) { result in state.yield(result) }
    defer { registration.remove() }
    for await result in states {
      if try result.get().documents.count <= count { return }
    }
    throw CancellationError()
  }

  @Test(.timeLimit(.minutes(5)))
  func storeSweepsAutomaticallyAfterSettingAPolicyAndAfterOpening() async throws {
    var store = try open(isSweptByItself: true)
    try store.commit([session("a", until: 10), session("b", until: 20)])
    clock.pass(seconds: 15)
    try store.setTimeToLive(field("until"), ofCollectionGroup: "sessions")
    try await waitForSweeps(of: store, leaving: 1)
    #expect(store.count == 1)
    try store.close()
    clock.pass(seconds: 15)
    store = try open(isSweptByItself: true)
    try await waitForSweeps(of: store, leaving: 0)
    #expect(store.count == 0)
    try store.close()
  }
}
