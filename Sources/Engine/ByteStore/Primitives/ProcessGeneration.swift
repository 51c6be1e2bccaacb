// Detects whether the process was forked after a store was opened, at the cost of one load.

import Libc
import Synchronization

/// A count of the forks that led to this process since an ancestor opened its first store. A child process
/// shares files and locks with its parent and must use neither (docs/reliability.md, C10).
enum ProcessGeneration {
  private static let forks = Atomic<UInt64>(0)

  private static let isWatching: Bool = pthread_atfork(nil, nil, { countFork() }) == 0

  private static func countFork() { forks.wrappingAdd(1, ordering: .relaxed) }

  static var current: UInt64 {
    precondition(isWatching, "the process has no memory left to watch its forks")
    return forks.load(ordering: .relaxed)
  }
}
