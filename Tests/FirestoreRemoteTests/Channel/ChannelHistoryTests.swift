// Histories of the client's state machine and the server's, over a network with faults.

#if Server
@testable import FirestoreRemote
import FirestoreService
import Foundation
import Harness
import OfflineSync
import Testing

@Suite struct ChannelHistoryTests {
  /// `DUGOUT_SEED` sets the first seed.
  private static let seed = number("DUGOUT_SEED") ?? 1
  /// `DUGOUT_CALL_HISTORIES` sets how many histories each test has.
  private static let count = number("DUGOUT_CALL_HISTORIES") ?? 25

  private static func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }

  private static func sent(_ number: Int) -> [UInt8] { Array(#"{"sent":\#(number)}"#.utf8) }
  private static func answer(_ number: Int) -> [UInt8] {
    Array(#"{"answer":\#(number),"text":"\#(String(repeating: "é😀", count: number % 7))"}"#.utf8)
  }

  /// Both sides send messages over a network with faults, which are over after a while.
  private static func history(
    _ seed: UInt64, method: String = "Listen", count: Int = 40, faults: ChannelWorld.Faults
  ) -> ChannelWorld {
    var settings = ChannelSettings()
    (settings.openAttemptsMax, settings.attemptsMax) = (1000, 1000)
    var world = ChannelWorld(method: method, seed: seed, settings: settings, faults: faults)
    for number in 0..<count {
      world.after(Int64(number) * 400_000) { $0.receive(.send(sent(number))) }
      world.after(Int64(number) * 500_000 + 10_000_000) { world in
        guard let session = world.session else { return }
        world.deliver(.message(answer(world.answerCount)), to: session)
        world.answerCount += 1
      }
    }
    world.run(until: 40_000_000)
    world.faults = ChannelWorld.Faults()
    world.faults.buffers = faults.buffers
    world.run(until: 400_000_000)
    return world
  }

  private static let lossy = ChannelWorld.Faults(
    lostRequests: 5, repeatedRequests: 4, lostAnswers: 5, cutAnswers: 5)

  @Test(arguments: ["Listen", "Write"])
  func messagesArriveOnceAndInOrderDespiteFaults(method: String) {
    for seed in Self.seed..<Self.seed + Self.count {
      let world = Self.history(seed, method: method, faults: Self.lossy)
      guard let id = world.session, let session = world.server.sessions[id] else {
        Issue.record("seed \(seed): no session")
        continue
      }
      #expect(session.received == (0..<40).map(Self.sent), "seed \(seed)")
      #expect(world.messages == (0..<world.answerCount).map(Self.answer), "seed \(seed)")
      #expect(world.answerCount > 0, "seed \(seed)")
      #expect(world.client.phase == .open, "seed \(seed)")
    }
  }

  @Test func aSessionOfWritesThatTheClientDoesNotKnowHasNoWrites() {
    for seed in Self.seed..<Self.seed + Self.count {
      let world = Self.history(seed, method: "Write", faults: Self.lossy)
      for (id, session) in world.server.sessions where id != world.session {
        #expect(session.received == [Self.sent(0)], "seed \(seed)")
      }
    }
  }

  @Test func aProxyThatHoldsAnswersBackIsFound() {
    for seed in Self.seed..<Self.seed + 30 {
      var faults = ChannelWorld.Faults()
      faults.buffers = true
      let world = Self.history(seed, faults: faults)
      #expect(world.buffering == 1 && world.client.back.polls, "seed \(seed)")
      #expect(world.messages.count > 20, "seed \(seed)")
      #expect(world.session.map { world.server.sessions[$0]?.received } == (0..<40).map(Self.sent))
    }
  }

  @Test func anUndisturbedStreamDoesNotPoll() {
    let world = Self.history(Self.seed, faults: ChannelWorld.Faults())
    #expect(world.buffering == 0 && !world.client.back.polls)
    // One request for each message, one that opens, and one back channel.
    #expect(world.requestCount <= 42)
  }

  @Test(arguments: [RemoteError(.permissionDenied, "no"), nil])
  func theEndOfTheCallArrivesDespiteFaults(error: RemoteError?) {
    for seed in Self.seed..<Self.seed + Self.count {
      var world = Self.history(seed, count: 3, faults: Self.lossy)
      guard let session = world.session else { continue }
      world.faults = Self.lossy
      world.deliver(.ended(error), to: session)
      world.run(until: 600_000_000)
      #expect(world.delivered.last == .closed(error), "seed \(seed)")
      #expect(world.delivered.filter { $0.isEnd }.count == 1, "seed \(seed)")
      #expect(world.server.sessions[session]?.isForgotten == true, "seed \(seed)")
    }
  }

  @Test func closingEndsTheSessionInTheServer() {
    for seed in Self.seed..<Self.seed + Self.count {
      var world = ChannelWorld(method: "Listen", seed: seed, faults: ChannelWorld.Faults())
      world.receive(.send(Self.sent(0)))
      world.run(until: Int64(world.random.below(200_000)))
      world.receive(.close)
      world.run(until: world.now + 2_000_000)
      #expect(world.client.phase == .over, "seed \(seed)")
      #expect(world.delivered == [], "seed \(seed)")
      #expect(world.server.sessions.values.allSatisfy { $0.isForgotten }, "seed \(seed)")
    }
  }
}

extension ChannelWorld {
  /// The id of the client's session.
  fileprivate var session: String? { client.session }
}
#endif
