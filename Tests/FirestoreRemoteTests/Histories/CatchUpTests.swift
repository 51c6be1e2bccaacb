// A client that was away for a month comes to the state of its server, in both ways.

import Foundation
import Harness
import ServerHarness
import Testing

#if Server
@Suite struct CatchUpTests {
  @Test func aClientThatWasAwayForAMonthGetsChangesAndNotTheWholeAnswer() async throws {
    let directory = TemporaryDirectory()
    try directory.create()
    let path = directory.path
    let outcomes = try await withCheckedThrowingContinuation {
      (ended: CheckedContinuation<[CatchUpRun.Outcome], any Error>) in
      Thread.detachNewThread {
        ended.resume(
          with: Result {
            var plan = CatchUpPlan()
            (plan.documents, plan.changes, plan.writes) = (4_000, 1_200, 60)
            let run = CatchUpRun(plan, in: path, client: CatchUpClient.run)
            try run.prepare()
            return try CatchUpWay.allCases.map(run.comeBack)
          })
      }
    }
    let (resumed, whole) = (outcomes[0].client, outcomes[1].client)
    #expect(resumed.documents > 3_900)
    #expect(resumed.digest == whole.digest)
    #expect(resumed.bytesReceived > 0)
    #expect(resumed.bytesReceived * 2 < whole.bytesReceived)
    withExtendedLifetime(directory) {}
  }
}
#endif
