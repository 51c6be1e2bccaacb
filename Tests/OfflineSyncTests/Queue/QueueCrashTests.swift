// A crash before any call to the disk, while writes are taken, answered and cancelled: the queue loses nothing, nothing
// that has ended comes back, and no number of a batch is used twice.

import Harness
import Testing

@Suite struct QueueCrashTests {
  @Test func everyReturnedWriteIsQueuedUntilAnswered() {
    let summary = QueueCrashes.run(states: 360, seed: 1)
    #expect(summary.failed == 0, "\(summary.firstFailure ?? "")")
    #expect(summary.states == 360)
    #expect(summary.neverReached.isEmpty, "\(summary.neverReached)")
  }
}
