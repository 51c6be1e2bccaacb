// The delays between connection attempts.

import DocumentStore
import Testing

@testable import OfflineSync

@Suite struct BackoffTests {
  /// The delays in seconds before randomization: first none, then one second. Each later delay is 1.5 times
  /// the previous delay, up to a minute.
  private static let bases = [
    0, 1, 1.5, 2.25, 3.375, 5.0625, 7.59375, 11.390625, 17.0859375, 25.62890625, 38.443359375,
    57.6650390625, 60, 60, 60,
  ]
  private static let seeds = UInt64(0)..<200

  private static func pauses(_ backoff: inout Backoff, _ count: Int = bases.count) -> [Double] {
    (0..<count).map { _ in Double(backoff.next()) / 1_000_000 }
  }

  private static func pauses(seed: UInt64) -> [Double] {
    var backoff = Backoff(seed: seed)
    return pauses(&backoff)
  }

  private static func isWithinHalf(_ pauses: [Double], of bases: [Double]) -> Bool {
    zip(pauses, bases).allSatisfy { pause, base in
      // Delays are whole microseconds.
      (base * 0.5 - 0.000_001...base * 1.5).contains(pause)
    }
  }

  // MARK: The delays

  @Test func theFirstAttemptIsImmediateAndBackoffGrowsToAMinute() {
    var wrong: [String] = []
    for seed in Self.seeds {
      let pauses = Self.pauses(seed: seed)
      if pauses[0] != 0 || !Self.isWithinHalf(pauses, of: Self.bases) {
        wrong.append("seed \(seed): \(pauses)")
      }
    }
    #expect(wrong == [])
  }

  @Test func backoffsDifferBetweenClientsAndCoverTheRange() {
    let all = Self.seeds.map { Self.pauses(seed: $0) }
    #expect(Set(all).count == all.count)
    var wrong: [String] = []
    for place in [1, 5, Self.bases.count - 1] {
      let parts = all.map { $0[place] / Self.bases[place] }
      if !parts.contains(where: { $0 < 0.6 }) || !parts.contains(where: { $0 > 1.4 }) {
        wrong.append("attempt \(place): \(parts)")
      }
      let mean = parts.reduce(0, +) / Double(parts.count)
      if !(0.9...1.1).contains(mean) { wrong.append("attempt \(place): mean \(mean)") }
    }
    #expect(wrong == [])
    #expect(Self.pauses(seed: 7) == Self.pauses(seed: 7))
  }

  @Test func aSuccessResetsTheBackoff() {
    let wrongSeeds = Self.seeds.filter { seed in
      var backoff = Backoff(seed: seed)
      _ = Self.pauses(&backoff)
      backoff.reset()
      return !Self.isWithinHalf(Self.pauses(&backoff), of: Self.bases)
    }
    #expect(wrongSeeds == [])
  }

  @Test func anOverloadedRemoteGetsTheMaximumBackoffAtOnce() {
    var wrong: [String] = []
    for seed in Self.seeds {
      var backoff = Backoff(seed: seed)
      backoff.wait()
      let pauses = Self.pauses(&backoff, 3)
      if !Self.isWithinHalf(pauses, of: [60, 60, 60]) { wrong.append("seed \(seed): \(pauses)") }
      backoff.reset()
      let next = backoff.next()
      if next != 0 { wrong.append("seed \(seed): \(next) after a reset") }
    }
    #expect(wrong == [])
  }

  // MARK: The streams

  private let path = DocumentPath(unchecked: ["rooms", "a"])
  private let away = RemoteError(.unavailable)

  private func engine() throws -> SyncEngine {
    SyncEngine(
      try LocalStore(try DocumentStore.openInMemory(), user: nil, collector: .lru, client: "client"))
  }

  /// Returns the number of seconds until the engine opens a stream after an event: 0 if it opens the stream
  /// at once, nil if it opens none.
  private func pause(_ engine: SyncEngine, _ event: SyncEvent) throws -> Double? {
    for effect in try engine.handle(event) {
      switch effect {
      case .openWatch, .openWrite: return 0
      case .startTimer(.watchBackoff, let pause), .startTimer(.writeBackoff, let pause):
        return Double(pause) / 1_000_000
      default: break
      }
    }
    return nil
  }

  private func isAbout(_ seconds: Double, _ pause: Double?) -> Bool {
    pause.map { Self.isWithinHalf([$0], of: [seconds]) } ?? false
  }

  @Test func theWatchBackoffGrowsUntilAMessageArrives() throws {
    let engine = try engine()
    let listen = SyncEvent.listen(ListenerID(1), StructuredQuery(.document(path)), ListenRules())
    #expect(try pause(engine, listen) == 0)
    var wrong: [String] = []
    for base in Self.bases.prefix(5) {
      let closed = try pause(engine, .watchClosed(away))
      if !isAbout(base, closed) { wrong.append("\(base): \(String(describing: closed))") }
      if base > 0, try pause(engine, .timer(.watchBackoff)) != 0 { wrong.append("\(base): not opened") }
    }
    #expect(wrong == [])
    // Opening a stream does not count as a success yet.
    _ = try engine.handle(.watchOpened)
    #expect(isAbout(Self.bases[5], try pause(engine, .watchClosed(away))))
    #expect(try pause(engine, .timer(.watchBackoff)) == 0)
    _ = try engine.handle(.watchOpened)
    _ = try engine.handle(.watchChanged(.target(.added, [TargetID(2)]), .none))
    #expect(try pause(engine, .watchClosed(away)) == 0, "it has heard")
    #expect(isAbout(60, try pause(engine, .watchClosed(RemoteError(.resourceExhausted)))))
    #expect(try pause(engine, .timer(.watchBackoff)) == 0)
    #expect(isAbout(60, try pause(engine, .watchClosed(away))), "it continues from there")
  }

  /// The message comes again with each connection, after others that count as a success.
  @Test func aMessageThatCannotBeReadIsFollowedByALongDelay() throws {
    let engine = try engine()
    let listen = SyncEvent.listen(ListenerID(1), StructuredQuery(.document(path)), ListenRules())
    #expect(try pause(engine, listen) == 0)
    for _ in 0..<3 {
      _ = try engine.handle(.watchOpened)
      _ = try engine.handle(.watchChanged(.target(.added, [TargetID(2)]), .none))
      #expect(isAbout(60, try pause(engine, .watchClosed(RemoteError(.dataLoss)))))
      #expect(try pause(engine, .timer(.watchBackoff)) == 0)
    }
  }

  @Test func theWriteBackoffGrowsUntilAWriteIsAnswered() throws {
    let engine = try engine()
    let time = try #require(StoredTimestamp(microseconds: 1))
    func write() -> SyncEvent { .write([.set(path, StoredMap())], at: time, nil) }
    #expect(try pause(engine, write()) == 0)
    _ = try engine.handle(write())
    var wrong: [String] = []
    for base in Self.bases.prefix(5) {
      let closed = try pause(engine, .writeClosed(away))
      if !isAbout(base, closed) { wrong.append("\(base): \(String(describing: closed))") }
      if base > 0, try pause(engine, .timer(.writeBackoff)) != 0 { wrong.append("\(base): not opened") }
    }
    #expect(wrong == [])
    // A handshake does not count as a success yet.
    _ = try engine.handle(.writeOpened)
    _ = try engine.handle(.handshakeComplete(token: [1]))
    #expect(isAbout(Self.bases[5], try pause(engine, .writeClosed(away))))
    #expect(try pause(engine, .timer(.writeBackoff)) == 0)
    _ = try engine.handle(.writeOpened)
    _ = try engine.handle(.handshakeComplete(token: [1]))
    let version = SnapshotVersion(microseconds: 5)
    _ = try engine.handle(.writeAnswered(version, [WriteResult(version: version)], token: [1]))
    #expect(try pause(engine, .writeClosed(away)) == 0, "one write was answered")
    #expect(isAbout(60, try pause(engine, .writeClosed(RemoteError(.resourceExhausted)))))
    #expect(try pause(engine, .timer(.writeBackoff)) == 0)
    // A rejected write does not count as a connection failure.
    _ = try engine.handle(.writeOpened)
    _ = try engine.handle(.handshakeComplete(token: [1]))
    #expect(try pause(engine, write()) == nil)
    #expect(try pause(engine, .writeClosed(RemoteError(.permissionDenied))) == 0)
  }

  @Test func streamsThatEndWithoutAnErrorHaveTheBackoffToo() throws {
    let engine = try engine()
    let time = try #require(StoredTimestamp(microseconds: 1))
    _ = try engine.handle(.listen(ListenerID(1), StructuredQuery(.document(path)), ListenRules()))
    _ = try engine.handle(.write([.set(path, StoredMap())], at: time, nil))
    for base in Self.bases.prefix(4) {
      _ = try engine.handle(.watchOpened)
      #expect(isAbout(base, try pause(engine, .watchClosed(nil))))
      _ = try engine.handle(.writeOpened)
      _ = try engine.handle(.handshakeComplete(token: [1]))
      #expect(isAbout(base, try pause(engine, .writeClosed(nil))))
      guard base > 0 else { continue }
      #expect(try pause(engine, .timer(.watchBackoff)) == 0)
      #expect(try pause(engine, .timer(.writeBackoff)) == 0)
    }
  }
}
