// The trait that runs a test for many seeds.

import DugoutTesting
import DugoutTestingTrait
import Synchronization
import Testing

@Suite struct SeedsTraitTests {
  private struct Broken: Error {}

  @Test(.seeds(5)) func eachSeedIsTheSeedOfTheWorld() async throws {
    let seed = try #require(TestSeed.ofTask)
    #expect((1...5).contains(seed) || TestSeed.ofEnvironment == seed)
    #expect(try await TestWorld.run { $0.seed } == seed)
  }

  @Test func theFirstFailingSeedEndsTheTestAndNamesItsReplay() async throws {
    let test = try #require(Test.current)
    let tried = Mutex<[UInt64]>([])
    let trait = SeedsTrait.seeds([4, 8, 15, 16])
    await #expect {
      try await trait.provideScope(for: test, testCase: nil) {
        tried.withLock { $0.append(TestSeed.current) }
        if TestSeed.current == 8 { throw Broken() }
      }
    } throws: { error in
      let failure = error as? SeedFailure
      return failure?.seed == 8 && failure?.error is Broken
        && "\(error)".contains(
          "DUGOUT_TEST_SEED=8 swift test --filter "
            + "'SeedsTraitTests/theFirstFailingSeedEndsTheTestAndNamesItsReplay'")
    }
    #expect(tried.withLock { $0 } == (TestSeed.ofEnvironment == nil ? [4, 8] : []))
  }

  /// An outer handler takes the issue away after the trait has handled it.
  @Test func anIssueNamesItsReplayAndEndsTheTest() async throws {
    let test = try #require(Test.current)
    let tried = Mutex<[UInt64]>([])
    let comments = Mutex<[String]>([])
    let outer = IssueHandlingTrait.compactMapIssues { issue in
      comments.withLock { $0 = issue.comments.map(\.rawValue) }
      return nil
    }
    try await outer.provideScope(for: test, testCase: nil) {
      try await SeedsTrait.seeds([7, 8, 9]).provideScope(for: test, testCase: nil) {
        tried.withLock { $0.append(TestSeed.current) }
        if TestSeed.current == 8 { Issue.record("broken") }
      }
    }
    #expect(tried.withLock { $0 } == (TestSeed.ofEnvironment == nil ? [7, 8] : [TestSeed.current]))
    #expect(comments.withLock { $0.first } == "broken")
    #expect(comments.withLock { $0.last }?.contains("DUGOUT_TEST_SEED=8 swift test --filter") == true)
  }

  @Test func aValueThatIsNoSeedIsAnErrorThatSaysSo() throws {
    #expect(try TestSeed.parsed("18446744073709551615") == .max)
    #expect(try TestSeed.parsed(nil) == nil)
    for text in ["", "abc", "-1", "1.5", "18446744073709551616", " 1"] {
      #expect(throws: TestWorldError.invalidSeed(text)) { try TestSeed.parsed(text) }
    }
    #expect(TestWorldError.invalidSeed("abc").description.hasPrefix("DUGOUT_TEST_SEED is \"abc\"."))
  }

  @Test func aGeneratorRepeatsItsNumbers() {
    var (first, second) = (SeededGenerator(seed: 9), SeededGenerator(seed: 9))
    #expect((0..<10).map { _ in first.next() } == (0..<10).map { _ in second.next() })
  }
}
