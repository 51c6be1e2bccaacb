// Scripts of simulated clients, from a seed.

import HTTPTransport

struct ClientScript {
  var steps: [ClientStep] = []
  var plans: [RequestPlan] = []
  var answers: any ClientAnswers = HTTP1Answers()
  var expectation = SimulatedClient.Expectation.answers
  /// Whether all requests are answered although the client is refused.
  var answersAll = false

  enum Kind: String, CaseIterable, Sendable {
    case http1, http2, calls
    case silent, slowHead, slowBody, idle, deaf, neverReads, lateCall
    case badEnd, cut, garbage
  }

  static func random(
    _ kind: Kind, firstID: Int, _ limits: HTTPLimits, _ random: inout SeededRandom
  ) -> ClientScript {
    var maker = ScriptMaker(firstID: firstID, limits: limits, random: random)
    let script = maker.make(kind)
    random = maker.random
    return script
  }
}

/// Answers to bytes that are no requests.
struct AnyAnswers: ClientAnswers {
  var answered: [Int] { [] }
  var hasRefusal: Bool { true }
  mutating func expect(_ plan: RequestPlan) {}
  mutating func receive(_ bytes: [UInt8]) throws(NetworkViolation) -> [UInt8] { [] }
  mutating func receiveEnd() throws(NetworkViolation) {}
}
