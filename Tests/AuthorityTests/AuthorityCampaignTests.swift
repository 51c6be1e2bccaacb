// A few histories of `campaign authority`, and replays of one.

import Foundation
import Harness
import Testing

@Suite struct AuthorityCampaignTests {
  /// `DUGOUT_AUTHORITY_HISTORIES` sets the number of histories, and `DUGOUT_SEED` the seed.
  private static let histories = variable("DUGOUT_AUTHORITY_HISTORIES").flatMap { Int($0) } ?? 30
  private static let seed = variable("DUGOUT_SEED").flatMap { UInt64($0) } ?? 1

  private static func variable(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }

  @Test func clientsShowTheAuthoritysDocumentsAndEachWriteCountsOnce() {
    let summary = AuthorityCampaign.run(
      histories: Self.histories, seed: Self.seed,
      history: Self.variable("DUGOUT_AUTHORITY_HISTORY").flatMap { Int($0) })
    #expect(summary.failed == 0, "\(summary.failures) \(summary.firstFailure ?? "")")
    if Self.histories >= 30 { #expect(summary.neverReached == []) }
  }

  @Test func aSeedReproducesItsHistory() {
    let traces = (0..<2).map { _ in AuthorityCampaign.run(histories: 1, seed: 7).trace }
    #expect(traces[0] == traces[1])
  }
}
