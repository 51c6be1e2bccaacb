// The seed of a test.

internal import Foundation
internal import OfflineSync

/// The seed that decides everything random in a test world.
public enum TestSeed {
  /// The name of the environment variable that replays one seed: `DUGOUT_TEST_SEED=17 swift test`.
  public static let variable = "DUGOUT_TEST_SEED"

  /// The seed of the current task; nil outside a test with the trait `.seeds(_:)` of DugoutTestingTrait.
  public static var ofTask: UInt64? { seedOfTask }

  @TaskLocal package static var seedOfTask: UInt64?

  /// The seed in the environment variable; nil if it is not set, or not a number from 0 to 2^64 - 1.
  public static var ofEnvironment: UInt64? { (try? parsed(environment)) ?? nil }

  private static var environment: String? { ProcessInfo.processInfo.environment[variable] }

  /// Throws `invalidSeed` if the environment variable is set, but is not a seed.
  package static func checkEnvironment() throws(TestWorldError) { _ = try parsed(environment) }

  /// Returns the seed in a value of the environment variable; nil if there is no value.
  package static func parsed(_ text: String?) throws(TestWorldError) -> UInt64? {
    guard let text else { return nil }
    guard let seed = UInt64(text) else { throw .invalidSeed(text) }
    return seed
  }

  /// The seed of a world that is given none: that of the task, or that of the environment, or 1.
  public static var current: UInt64 { ofTask ?? ofEnvironment ?? 1 }
}

/// Random numbers that a seed decides.
///
/// ```swift
/// var random = SeededGenerator(seed: 7)
/// let sides = (0..<3).map { _ in Int.random(in: 1...6, using: &random) }
/// ```
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var source: SplitMix64

  /// Creates a generator. Generators with equal seeds return equal numbers.
  public init(seed: UInt64) { source = SplitMix64(seed: seed) }

  public mutating func next() -> UInt64 { source.next() }
}
