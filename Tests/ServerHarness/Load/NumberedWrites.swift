// The numbers of a sequence of writes, as its client knows them. Each write replaces the one before it.
//
//   acknowledged ≤ the number that the store has ≤ attempted

#if Server
import Harness

/// The numbers of one sequence. A write with number n leaves the state of number n, as a whole.
struct NumberedWrites {
  private(set) var acknowledged = 0
  private(set) var attempted = 0

  /// The number of a new write.
  mutating func begin() -> Int {
    attempted += 1
    return attempted
  }

  mutating func acknowledge(_ number: Int) { acknowledged = max(acknowledged, number) }

  /// The last write has certainly not been executed.
  mutating func withdraw(_ number: Int) {
    if number == attempted, number > acknowledged { attempted -= 1 }
  }

  /// Takes the number that the store has. From now on it counts as acknowledged, because every client has
  /// been able to see it.
  mutating func adopt(_ found: Int, of name: String) throws {
    guard (acknowledged...attempted).contains(found) else {
      throw Violation(
        "\(name) is at \(found), and \(acknowledged) of \(attempted) writes were acknowledged")
    }
    acknowledged = found
    attempted = found
  }
}

extension GRPCEnd {
  /// The knowledge of a client about a write that was not acknowledged.
  enum Outcome {
    case notExecuted
    case unknown
    /// The server must not have answered in this way.
    case unexpected
  }

  /// `expected` are the codes with which the server may refuse a write.
  func outcome(expected: Set<Int> = []) -> Outcome {
    switch origin {
    case .notBegun: return .notExecuted
    case .connection: return .unknown
    case .http, .reset: return .unexpected
    // This client cancels nothing, so the server has not answered in time.
    case .client: return .unexpected
    case .status:
      // The server is overloaded.
      if code == 8 { return .notExecuted }
      // The server is stopping.
      if code == 14 { return .unknown }
      return expected.contains(code) ? .notExecuted : .unexpected
    }
  }
}

/// Fields whose content follows from a number.
enum NumberedFields {
  /// Usually short, and sometimes of several pages, so that logs and segments grow.
  static func text(_ seed: UInt64, _ number: Int) -> String {
    let mixed = SeededRandom.seed(seed, UInt64(number))
    let length = mixed % 40 == 0 ? 20_000 + Int(mixed >> 50) : 10 + Int(mixed >> 56)
    let word = String(mixed, radix: 36)
    return String(String(repeating: word, count: length / word.count + 1).prefix(length))
  }
}
#endif
