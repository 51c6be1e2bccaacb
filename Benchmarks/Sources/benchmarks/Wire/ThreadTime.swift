// Time that a thread has spent on a processor. Other programs on the machine do not count.

import Foundation

enum ThreadTime {
  /// The processor time of the current thread in nanoseconds.
  static func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// The nanoseconds of a call of `body`, which is called `count` times. The results are added up, so that no
  /// call can be left out.
  static func perCall(_ count: Int, _ body: () throws -> Int) throws -> (nanoseconds: Double, sum: Int) {
    var sum = 0
    let start = now()
    for _ in 0..<count { sum &+= try body() }
    return (Double(now() - start) / Double(count), sum)
  }
}
