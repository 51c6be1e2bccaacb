// Small runs of the crash campaign and of the corruption matrix. The campaign program runs large ones.

import ByteStore
import Harness
import Testing

struct CrashCampaignTests {
  @Test func noCrashAndNoFaultLosesAnything() {
    let summary = CrashCampaign.run(states: 1_200, seed: 4, commitsWaiting: commitsWaiting)
    #expect(summary.findings.isEmpty, "\(summary)")
    #expect(summary.states >= 1_200)
    let missing = DiskOperation.allCases.filter { summary.crashes[$0, default: 0] == 0 }
    #expect(missing.isEmpty, "no crash before any of them")
    // Background jobs run, and some of them run between the steps of other jobs.
    #expect(Maintenance.Job.allCases.filter { summary.jobs[$0, default: 0] <= 10 } == [])
    #expect(summary.overlaps > 10)
  }

  @Test func sameSeedGivesTheSameCampaign() {
    let runs = (1...2).map { _ in
      CrashCampaign.run(states: 250, seed: 3, commitsWaiting: commitsWaiting).description
    }
    #expect(runs[0] == runs[1])
  }

  @Test func sameSeedGivesTheSameTrace() {
    #expect(trace(seed: 5) == trace(seed: 5))
    #expect(trace(seed: 5) != trace(seed: 6))
  }

  private func trace(seed: UInt64) -> String {
    CrashCampaign.trace(ofWorkload: seed, commitsWaiting: commitsWaiting)
  }

  /// Jobs have their own threads, but only the scheduler decides which of them runs.
  @Test func sameSeedGivesTheSameTraceWithJobsInTheBackground() {
    let seeds = 1...16 as ClosedRange<UInt64>
    #expect(seeds.filter { trace(seed: $0) != trace(seed: $0) } == [])
    #expect(seeds.count { CrashCampaign.schedulesBackgroundJobs(inWorkload: $0) } > 2)
  }

  /// Regression: two commits both needed a recycled log file and each prepared one. The second
  /// preparation deleted the first file, which was already in use as a log.
  @Test func campaignDetectsTwoRecycledLogsAtOnce() {
    let runs = (1...5 as ClosedRange<UInt64>).lazy.map { seed in
      CrashCampaign.run(
        states: 3_000, seed: seed, stop: .atFirstFinding, commitsWaiting: commitsWaiting,
        breaking: .oneRecycledLogAtATime)
    }
    #expect(runs.contains { !$0.findings.isEmpty })
  }

  @Test func brokenRuleIsFoundAndShrunkToAScript() throws {
    let summary = CrashCampaign.run(
      states: 300, seed: 1, commitsWaiting: commitsWaiting, breaking: .syncBeforeAcknowledging)
    let failure = try #require(summary.failures[.lostCommit])
    #expect(failure.scenario.stepCount <= 2)
    #expect(failure.trace.contains("write /store/log-0000000001"))
  }

  private let commitsWaiting: CommitsWaiting = { $0.commitsWaiting }
}

struct CorruptionMatrixTests {
  @Test func noDamageGoesUndetected() {
    let summary = CorruptionMatrix.run(flips: .random(120), seed: 1)
    #expect(summary.harm == 0, "\(summary)")
    #expect(summary.byPart.filter { $0.counts.all <= 100 }.map { $0.name } == [], "hardly damaged")
    #expect(summary.byPart.filter { $0.counts.detected == 0 }.map { $0.name } == [], "no damage was noticed")
  }
}

struct LargeMatrixTests {
  @Test func bitFlipsInAPartlyReadStoreAreDetected() {
    let summary = LargeMatrix.run(flips: 300, bytes: 1 << 20, flipsPerCheck: 100, seed: 1)
    #expect(summary.harm == 0, "\(summary)")
    #expect(summary.total.detected > 150, "\(summary)")
    #expect(summary.checks == 3)
    let blind = LargeMatrix.run(flips: 100, bytes: 1 << 20, seed: 1, breaking: .checkPages)
    #expect(blind.harm > 0, "a store that checks no page reads wrong bytes, undetected")
  }
}

struct WrongWriteTests {
  @Test func misdirectedWritesAreDetectedBeforeLogsAreDeleted() {
    let summary = WrongWrites.run(rounds: 40, seed: 1)
    #expect(summary.failures == 0, "\(summary)")
    #expect(summary.noticed > 20, "\(summary)")
  }
}

struct MutantTests {
  /// Rules whose violation shows in only a few states. `campaign mutants` is an optimised build; it covers
  /// all rules with more states.
  private static let rare: Set<Rule> = [
    .writeManifestBeforeDeletingOnOpen, .keepReserve, .laterFrameIsNoDamage, .noMarkerAfterPoison,
    .syncDirectoryAfterCreating, .oneRecycledLogAtATime, .neverRetrySync, .checkBodies, .rewriteOnOpen,
  ]
  /// Rules whose violation shows only in damaged stores.
  private static let ofDamage: Set<Rule> = [
    .laterDurableFrameIsDamage, .watermarkWhenIdle, .recordEndWhenClosing,
  ]

  @Test(arguments: Set(Rule.allCases).subtracting(Rule.contentRules).subtracting(rare).subtracting(ofDamage))
  func brokenRuleIsNoticed(rule: Rule) {
    // As in `campaign mutants`, the formation of commit groups must not depend on the load of the machine.
    let isNoticed =
      CrashCampaign.firstFailure(
        statesMax: rule == .poison ? 1200 : 400, seed: 1, commitsWaiting: { $0.commitsWaiting },
        breaking: rule) != nil
      || WrongWrites.run(rounds: 20, seed: 1, breaking: rule).failures > 0
    #expect(isNoticed, "no harness noticed that \(rule) was broken")
  }

  @Test(arguments: ofDamage) func brokenRuleIsNoticedInADamagedStore(rule: Rule) {
    let matrix = CorruptionMatrix.run(flips: .random(50), seed: 1, breaking: rule, stopsAtFirst: true)
    #expect(matrix.harm > 0, "no damage noticed that \(rule) was broken")
  }
}
