// A crash before any disk call while writes are queued, answered and cancelled.
//
// The queue loses no write, no completed batch reappears, and no batch number is used twice.

import Harness
import Testing

@Suite struct QueueCrashTests {
  @Test func everyReturnedWriteStaysQueuedUntilAnswered() {
    let summary = QueueCrashes.run(states: 360, seed: 1)
    #expect(summary.failed == 0, "\(summary.firstFailure ?? "")")
    #expect(summary.states == 360)
    #expect(summary.neverReached.isEmpty, "\(summary.neverReached)")
  }
}
