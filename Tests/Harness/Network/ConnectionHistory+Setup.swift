// The limits of a history, and the events that are counted.

#if Server
import HTTPTransport

extension ConnectionHistory {
  static func limits(_ random: inout SeededRandom) -> HTTPLimits {
    var limits = HTTPLimits()
    limits.firstByteSeconds = 6 + random.below(6)
    limits.headerSeconds = limits.firstByteSeconds + random.below(3)
    limits.idleSeconds = 30 + random.below(10)
    limits.pingSeconds = 8 + random.below(5)
    limits.pingAnswerSeconds = 3 + random.below(5)
    limits.unreadSeconds = 10 + random.below(5)
    limits.pauseBytes = [1000, 10_000, 64 * 1024][random.below(3)]
    return limits
  }

  /// Lowers a limit, so that clients that do nothing wrong exceed it.
  static func tighten(_ limits: inout HTTPLimits, _ random: inout SeededRandom) {
    switch random.below(6) {
    case 0: limits.connectionsMax = 1 + random.below(3)
    case 1: limits.streamsMax = 1 + random.below(3)
    case 2:
      limits.messageBytesMax = random.below(2000)
      limits.bodyBytesMax = limits.messageBytesMax
    case 3: limits.unsentBytesMax = random.below(50_000)
    case 4: limits.heldBytesMax = 64 * 1024 * (1 + random.below(3))
    default: limits.heldBytesPerConnectionMax = 64 * 1024 * (1 + random.below(3))
    }
  }

  /// The names of the events that a long run must have.
  static let events: [String] = {
    let refusals: [Refusal] = [
      .connections, .descriptors, .firstByteTimeout, .headerTimeout, .bodyRate, .idle, .unread, .messageSize,
      .streams, .heldBytes, .pingTimeout, .malformed, .deadline,
    ]
    return ClientScript.Kind.allCases.map(\.rawValue) + refusals.map(name) + [
      "answered", "cancelled", "unplanned", "drains",
    ]
  }()

  private static func name(of refusal: Refusal) -> String { "refused.\(refusal.rawValue)" }

  var counts: [String: Int] {
    var counts: [String: Int] = [:]
    for (kind, client) in zip(kinds, clients) {
      counts[kind.rawValue, default: 0] += 1
      counts["answered", default: 0] += client.answers.answered.count
    }
    for (refusal, count) in observer.refusals { counts[Self.name(of: refusal), default: 0] += count }
    counts["cancelled"] = handler.records.values.count { $0.isCancelled }
    counts["unplanned"] = handler.unplannedCount
    counts["drains"] = drainsEarly && drained != nil ? 1 : 0
    counts["steps"] = steps
    return counts
  }
}
#endif
