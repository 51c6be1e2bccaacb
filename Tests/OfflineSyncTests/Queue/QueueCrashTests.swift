// A crash before any call to the disk, while writes are taken, answered and cancelled: the queue loses nothing, nothing
// that has ended comes back, and no number of a batch is used twice.

import Harness
import Testing

@Suite struct QueueCrashTests {
  @Test(arguments: [1, 2] as [UInt64])
  func everyWriteThatReturnedIsInTheQueueUntilItIsAnswered(seed: UInt64) {
    let summary = QueueCrashes.run(states: 400, seed: seed)
    #expect(summary.failed == 0, "\(summary.firstFailure ?? "")")
    #expect(summary.states >= 400)
    #expect(summary.neverReached.isEmpty, "\(summary.neverReached)")
  }
}
