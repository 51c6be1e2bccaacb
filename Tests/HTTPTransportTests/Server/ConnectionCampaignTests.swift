// A few histories of `campaign connections`.

#if Server
import Harness
import Libc
import Testing

@Suite(.timeLimit(.minutes(5))) struct ConnectionCampaignTests {
  /// `DUGOUT_CONNECTION_HISTORIES` sets the number of histories, and `DUGOUT_SEED` the seed.
  private static let histories = variable("DUGOUT_CONNECTION_HISTORIES").flatMap { Int($0) } ?? 100
  private static let seed = variable("DUGOUT_SEED").flatMap { UInt64($0) } ?? 1

  private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  @Test func eachRequestGetsItsAnswerAndEachConnectionItsEnd() {
    let summary = ConnectionCampaign.run(histories: Self.histories, seed: Self.seed)
    #expect(summary.failed == 0, "\(summary.firstFailure ?? "")")
  }

  @Test func aSeedReproducesItsHistories() {
    let traces = (0..<2).map { _ in ConnectionCampaign.run(histories: 3, seed: 7).trace }
    #expect(traces[0] == traces[1])
    #expect(ConnectionCampaign.run(histories: 3, seed: 8).trace != traces[0])
  }
}
#endif
