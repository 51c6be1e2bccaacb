// The proxy that cuts, delays, loses and repeats.

import Harness
import Testing

@testable import ServerHarness

#if Server
@Suite struct FaultyProxyTests {
  /// The result of one request through a proxy whose plan is given.
  private struct Outcome {
    var body: [UInt8] = []
    var end: String?
    var isOver: Bool { end != nil }
  }

  private func exchange(
    _ plan: ProxyPlan, times: Int = 1, of body: String = "0123456789"
  ) throws -> (outcomes: [Outcome], requests: Int) {
    let loop = PollLoop()
    let server = try ScriptedChannelServer(loop) { _ in .whole(200, body) }
    let proxy = try FaultyProxy(
      loop: loop, upstreamPort: server.port, faults: ProxyFaults(seed: 1, oneIn: 1) { _ in plan })
    defer { proxy.close() }
    let connection = ChannelConnection(loop, port: proxy.port)
    var outcomes: [Outcome] = []
    for _ in 0..<times {
      var outcome = Outcome()
      connection.send("POST", "/x?SID=1&RID=2", body: Array("count=0".utf8)) { event in
        switch event {
        case .head: break
        case .body(let piece): outcome.body += piece
        case .end: outcome.end = "end"
        case .lost: outcome.end = "lost"
        case .malformed(let violation): outcome.end = violation.description
        }
      }
      #expect(loop.run(seconds: 5) { outcome.isOver })
      outcomes.append(outcome)
    }
    #expect(loop.run(seconds: 5) { proxy.hasSentDuplicates })
    return (outcomes, server.requests.count)
  }

  @Test func requestsPassOneAfterTheOther() throws {
    let (outcomes, requests) = try exchange(ProxyPlan(), times: 3)
    #expect(outcomes.allSatisfy { $0.end == "end" && $0.body.count == 10 })
    #expect(requests == 3)
  }

  @Test(arguments: [0, 10, 60]) func aCutRequestDoesNotReachTheServer(count: Int) throws {
    let (outcomes, requests) = try exchange(ProxyPlan(cutRequestAfter: count))
    #expect(outcomes[0].end == "lost")
    #expect(requests == 0)
  }

  @Test(arguments: [0, 10, 41]) func aCutAnswerEndsEarly(count: Int) throws {
    let (outcomes, requests) = try exchange(ProxyPlan(cutAnswerAfter: count))
    #expect(outcomes[0].end == "lost")
    #expect(requests == 1)
  }

  @Test(arguments: [0, 5]) func aRepeatedRequestReachesTheServerTwice(time: Int) throws {
    let (outcomes, requests) = try exchange(ProxyPlan(duplicateAfter: time))
    #expect(outcomes[0].end == "end")
    #expect(requests == 2)
  }

  @Test func stallsAndPiecesChangeNothing() throws {
    var plans = [ProxyPlan(delay: 3), ProxyPlan(stallRequest: (20, 3)), ProxyPlan(trickles: true)]
    for count in [0, 1, 20, 45, 100] { plans.append(ProxyPlan(stallAnswer: (count, 3))) }
    for plan in plans {
      let (outcomes, requests) = try exchange(plan, times: 2)
      #expect(outcomes.allSatisfy { $0.end == "end" && $0.body.count == 10 }, "\(plan)")
      #expect(requests == 2)
    }
  }

  @Test func sessionsOfLostAnswersAreKnown() throws {
    let loop = PollLoop()
    let server = try ScriptedChannelServer(loop) { _ in ScriptedChannelServer.opened }
    let proxy = try FaultyProxy(
      loop: loop, upstreamPort: server.port,
      faults: ProxyFaults(seed: 1, oneIn: 1) { _ in ProxyPlan(cutAnswerAfter: 0) })
    defer { proxy.close() }
    let connection = ChannelConnection(loop, port: proxy.port)
    var isLost = false
    connection.send("POST", "/a/b?RID=2", body: []) { if case .lost = $0 { isLost = true } }
    #expect(loop.run(seconds: 5) { isLost && proxy.hasSentDuplicates && !proxy.sessions.isEmpty })
    #expect(proxy.sessions == ["s1": "/a/b"])
    proxy.moveUpstream(to: server.port + 1)
    #expect(proxy.sessions.isEmpty)
    #expect(proxy.earlierSessions == ["s1": "/a/b"])
  }

  @Test func theSeedDecides() {
    let request = SplitRequest(
      method: "POST", target: "/", bytes: [UInt8](repeating: 65, count: 300))
    func plans(_ seed: UInt64) -> [String] {
      var faults = ProxyFaults(seed: seed)
      return (0..<50).map { _ in "\(faults.plan(for: request))" }
    }
    #expect(plans(1) == plans(1))
    #expect(plans(1) != plans(2))
  }

  @Test func everyKindOfFaultIsReached() {
    let request = SplitRequest(
      method: "POST", target: "/", bytes: [UInt8](repeating: 65, count: 300))
    var faults = ProxyFaults(seed: 1)
    for _ in 0..<1000 { _ = faults.plan(for: request) }
    #expect(ProxyFaults.Kind.allCases.allSatisfy { faults.counts[$0, default: 0] > 0 })
  }
}
#endif
