// The trait that runs a test for many seeds.

private import DugoutTesting
private import Synchronization
public import Testing

/// Runs a test once for each of several seeds, and says how to replay the seed that fails.
///
/// ```swift
/// @Test(.seeds(100)) func bothPhonesAgree() async throws {
///   try await TestWorld.run { world in
///     let phone = try world.client("phone")
///     world.network.setFaults(.flaky)
///     try await phone.firestore.document("notes/1").setData(["text": "milk"])
///     try await world.checkConvergence(of: "notes")
///   }
/// }
/// ```
///
/// The first failing seed ends the test. Each of its issues, and a line of output, names the command that
/// runs this seed alone. If the environment variable `DUGOUT_TEST_SEED` is set, only that seed runs.
public struct SeedsTrait: TestTrait, TestScoping {
  /// The seeds in order.
  public let seeds: [UInt64]

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try TestSeed.checkEnvironment()
    for seed in TestSeed.ofEnvironment.map({ [$0] }) ?? seeds {
      let replay = Self.replay(seed, test)
      let hasIssue = Flag()
      let handler = IssueHandlingTrait.compactMapIssues { issue in
        guard Self.isFailure(issue) else { return issue }
        hasIssue.raise()
        var issue = issue
        issue.comments.append(Comment(rawValue: replay))
        return issue
      }
      do {
        try await TestSeed.$seedOfTask.withValue(seed) {
          try await handler.provideScope(for: test, testCase: testCase, performing: function)
        }
      } catch {
        print(replay)
        throw SeedFailure(seed: seed, error: error, replay: replay)
      }
      if hasIssue.isRaised { return print(replay) }
    }
  }

  private static func isFailure(_ issue: Issue) -> Bool {
    #if compiler(>=6.3)
    issue.isFailure
    #else
    true
    #endif
  }

  private static func replay(_ seed: UInt64, _ test: Test) -> String {
    // `swift test --filter` takes names without parentheses, for example NoteTests/bothPhonesAgree.
    let name = test.id.nameComponents.map { $0.prefix { $0 != "(" } }.joined(separator: "/")
    return "Seed \(seed) of \(test.name) fails. Replay it with: "
      + "\(TestSeed.variable)=\(seed) swift test --filter '\(name)'"
  }
}

extension Trait where Self == SeedsTrait {
  /// Runs the test for the seeds from 1 to `count`.
  public static func seeds(_ count: Int) -> SeedsTrait {
    SeedsTrait(seeds: Array(1...UInt64(max(1, count))))
  }

  /// Runs the test for these seeds, for example those that have once failed.
  /// Traps if there are none, because such a test would pass without running.
  public static func seeds(_ seeds: [UInt64]) -> SeedsTrait {
    precondition(!seeds.isEmpty, "a test needs at least one seed")
    return SeedsTrait(seeds: seeds)
  }
}

/// The error of a test that failed with a seed.
public struct SeedFailure: Error, CustomStringConvertible {
  /// The seed.
  public let seed: UInt64
  /// The error that the test threw.
  public let error: any Error
  let replay: String

  public var description: String { "\(error)\n\(replay)" }
}

private final class Flag: Sendable {
  private let raised = Atomic(false)

  var isRaised: Bool { raised.load(ordering: .relaxed) }

  func raise() { raised.store(true, ordering: .relaxed) }
}
