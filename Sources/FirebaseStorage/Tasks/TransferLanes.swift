// The threads of all transfers.

import Foundation

/// A fixed number of them, however many transfers there are: the system has only so many threads for all queues of a
/// process, and a transfer waits for disks.
enum TransferLanes {
  /// Uploads that end together share a sync, so there are more of them than there are cores.
  private static let lanes = (0..<16).map { DispatchQueue(label: "dugout.storage.lane.\($0)") }
  private static let made = Guarded(0)

  static func next() -> DispatchQueue {
    let number = made.withLock { made in
      made &+= 1
      return made
    }
    return lanes[number % lanes.count]
  }
}
