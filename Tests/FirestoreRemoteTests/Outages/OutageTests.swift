// The times within which a client notices that its server is away, and that it is back.

#if Server
import Foundation
import Harness
import Testing

@Suite struct OutageTests {
  /// `DUGOUT_SEED` sets the first seed.
  private static let seed = number("DUGOUT_SEED") ?? 1
  /// `DUGOUT_CALL_HISTORIES` sets how many histories each test has.
  private static let count = number("DUGOUT_CALL_HISTORIES") ?? 8

  private static func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }

  private static let second = OutageWorld.second

  /// The listener is told within this time. A server that is only silent could be slow. Its stream ends after
  /// 45 seconds, or 50 if it is polled, and the client counts as offline 10 seconds later. Without a network,
  /// the next connection may also fail once, after 10 seconds.
  private static func noticeMax(_ kind: OutageNetwork.Condition) -> Int64 {
    kind == .killed ? 15 * second : kind == .stopped ? 62 * second : 72 * second
  }

  /// The listener is up to date within this time after an outage. The delay before an attempt grows with the
  /// time of the outage, to at most 90 seconds.
  private static func returnMax(_ kind: OutageNetwork.Condition, after outage: Int64) -> Int64 {
    let delay = min(90 * second, outage * 3 / 2 + 2 * second) + 4 * second
    // A request on a connection that has died has to fail first.
    return kind == .unreachable ? max(delay, 45 * second) + 22 * second : delay
  }

  @Test(arguments: [OutageNetwork.Condition.killed, .stopped, .unreachable])
  func anOutageIsNoticedInTime(kind: OutageNetwork.Condition) throws {
    for seed in Self.seed..<Self.seed + Self.count {
      let world = try OutageWorld(seed: seed)
      // One in four clients has no session when the first outage begins.
      try world.live(for: world.random.oneIn(4) ? Int64(world.random.below(300_000)) : 60 * Self.second)
      for round in 1...4 {
        let outage = Int64(1 + world.random.below(world.random.oneIn(3) ? 10 : 150)) * Self.second
        let start = world.now
        world.network.change(to: kind)
        if world.random.oneIn(2) { world.network.changeDocument() }
        if world.random.oneIn(3) { try world.watchAnother() }
        let noticed = world.time(max: outage) { world.seen?.isFromCache == true }
        if outage > Self.noticeMax(kind) {
          #expect((noticed ?? .max) <= Self.noticeMax(kind), "seed \(seed), round \(round)")
        }
        world.play(for: start + outage - world.now)
        // A server that was stopped may be killed before it runs again.
        if world.random.oneIn(2) { world.network.change(to: .killed) }
        world.network.change(to: .running)
        // Without a change, a client that has noticed nothing would count as one that is back.
        world.network.changeDocument()
        let back = world.time(max: 400 * Self.second) { world.isSynced }
        let backMax = Self.returnMax(kind, after: outage)
        #expect((back ?? .max) <= backMax, "seed \(seed), round \(round): back after \(outage)")
        try world.live(for: Int64(1 + world.random.below(90)) * Self.second)
        #expect(world.time(max: Self.second) { world.isSynced } != nil, "seed \(seed), round \(round)")
      }
    }
  }
}
#endif
