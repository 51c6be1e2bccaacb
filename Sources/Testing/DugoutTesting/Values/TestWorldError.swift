// The errors of a world.

/// The reason why a test cannot go on, or why its clients do not agree.
public enum TestWorldError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The clients did not become idle within the time. The string says what they still wait for.
  case notIdle(String)
  /// The clients and the authority do not agree. Each string names one difference.
  case diverged([String])
  /// The test waits for something that will not happen. The string says what the clients wait for.
  case stalled(String)
  /// Two clients of one world have the same name.
  case nameInUse(String)
  /// The environment variable `DUGOUT_TEST_SEED` has this value, which is not a seed.
  case invalidSeed(String)

  public var description: String {
    switch self {
    case .notIdle(let reason): "The world is not idle: \(reason)"
    case .diverged(let differences):
      "The clients and the authority do not agree:\n" + differences.joined(separator: "\n")
    case .stalled(let reason): "The test waits for something that will not happen. \(reason)"
    case .nameInUse(let name): "The world already has a client \"\(name)\". Give each client its own name."
    case .invalidSeed(let text):
      "\(TestSeed.variable) is \"\(text)\". A seed is a whole number from 0 to \(UInt64.max)."
    }
  }
}
