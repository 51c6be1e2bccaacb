// The faults of a proxy: what it does to each request and its answer.

#if Server
import Harness

/// The treatment of one request.
struct ProxyPlan {
  /// The time before the request goes on to the server.
  var delay = 0
  /// The bytes of the request that reach the server before both connections are cut.
  var cutRequestAfter: Int?
  /// A pause within the request.
  var stallRequest: (after: Int, milliseconds: Int)?
  /// The time after which the request is sent once more, on a connection of its own.
  var duplicateAfter: Int?
  /// The bytes of the answer that reach the client before its connection is cut.
  var cutAnswerAfter: Int?
  /// The time after which the connections are cut, if the answer has not ended.
  var cutAfter: Int?
  /// A pause within the answer.
  var stallAnswer: (after: Int, milliseconds: Int)?
  /// Whether the answer reaches the client in small pieces.
  var trickles = false
  var closing = PolledSocket.Closing.finish

  /// The faults in short, for the record of a history.
  var summary: String {
    var parts: [String] = []
    if delay > 0 { parts.append("delay \(delay) ms") }
    if let cutRequestAfter { parts.append("cut after \(cutRequestAfter) B of the request") }
    if let (count, time) = stallRequest { parts.append("stall after \(count) B of the request, \(time) ms") }
    if let duplicateAfter { parts.append("repeat after \(duplicateAfter) ms") }
    if let cutAnswerAfter { parts.append("cut after \(cutAnswerAfter) B of the answer") }
    if let cutAfter { parts.append("cut after \(cutAfter) ms") }
    if let (count, time) = stallAnswer { parts.append("stall after \(count) B of the answer, \(time) ms") }
    if trickles { parts.append("small pieces") }
    return parts.isEmpty ? "passes" : parts.joined(separator: ", ")
  }
}

/// Chooses the treatment of requests by a seed.
package struct ProxyFaults {
  /// The kinds of faults, for counts.
  package enum Kind: String, CaseIterable, Sendable {
    case delayedRequests, cutRequests, stalledRequests, duplicates, lateDuplicates, lostAnswers, cutAnswers,
      stalledAnswers, cutAfterTime, trickledAnswers
  }

  private var random: SeededRandom
  /// One request in this number has faults; 0 for none.
  package var oneIn: Int
  package private(set) var counts: [Kind: Int] = [:]

  private let fixed: ((SplitRequest) -> ProxyPlan)?

  package init(seed: UInt64, oneIn: Int = 2) {
    random = SeededRandom(seed: seed)
    self.oneIn = oneIn
    fixed = nil
  }

  /// Takes the plans of a test.
  init(seed: UInt64, oneIn: Int, _ plan: @escaping (SplitRequest) -> ProxyPlan) {
    random = SeededRandom(seed: seed)
    self.oneIn = oneIn
    fixed = plan
  }

  private mutating func count(_ kind: Kind) { counts[kind, default: 0] += 1 }

  mutating func plan(for request: SplitRequest) -> ProxyPlan {
    if let fixed { return fixed(request) }
    var plan = ProxyPlan()
    guard oneIn > 0, random.oneIn(oneIn) else { return plan }
    plan.closing = random.oneIn(2) ? .finish : .reset
    if random.oneIn(4) {
      plan.delay = 1 + random.below(12)
      count(.delayedRequests)
    }
    if request.method == "POST", random.oneIn(4) {
      let isLate = random.oneIn(2)
      plan.duplicateAfter = plan.delay + (isLate ? 3 + random.below(40) : 0)
      count(isLate ? .lateDuplicates : .duplicates)
    }
    switch random.below(8) {
    case 0:
      plan.cutRequestAfter = random.below(request.bytes.count)
      count(.cutRequests)
    case 1:
      plan.stallRequest = (random.below(request.bytes.count), 1 + random.below(20))
      count(.stalledRequests)
    case 2:
      plan.cutAnswerAfter = 0
      count(.lostAnswers)
    case 3, 4:
      plan.cutAnswerAfter = 1 + random.below(random.oneIn(3) ? 4000 : 700)
      count(.cutAnswers)
    case 5:
      plan.stallAnswer = (random.below(600), 1 + random.below(40))
      count(.stalledAnswers)
    case 6:
      plan.cutAfter = random.below(40)
      count(.cutAfterTime)
    default:
      plan.trickles = true
      count(.trickledAnswers)
    }
    return plan
  }
}
#endif
