// The threads of all transfers, and how many transfers are at work at a time.

import Foundation

/// A fixed number of them, however many transfers there are: the system has only so many threads for all queues of a
/// process, and a transfer waits for disks.
package enum TransferLanes {
  /// Uploads that end together share a sync, so there are more of them than there are cores.
  private static let lanes = (0..<laneCount).map { number in
    TransferLane("dugout.storage.lane.\(number)", places: places(filesMax: sysconf(Int32(_SC_OPEN_MAX))))
  }
  private static let laneCount = 16
  private static let placesMax = 8
  private static let made = Guarded(0)

  /// Of each lane, if a process may have so many files open; less than none is no limit. A transfer has up to three, and
  /// the store and the rest of the process need some, too.
  package static func places(filesMax: Int) -> Int {
    guard filesMax >= 0 else { return placesMax }
    return max(1, min(placesMax, (filesMax - 64) / 4 / laneCount))
  }

  static func next() -> TransferLane {
    let number = made.withLock { made in
      made &+= 1
      return made
    }
    return lanes[number % lanes.count]
  }
}

/// A thread, and places for transfers that have files open. Who finds none waits for one, in order.
final class TransferLane: Sendable {
  let queue: DispatchQueue
  private let state: Guarded<State>

  private struct State: Sendable {
    var places: Int
    var waiting: [@Sendable () -> Void] = []
  }

  init(_ label: String, places: Int) {
    queue = DispatchQueue(label: label)
    state = Guarded(State(places: places))
  }

  /// Has `body` called on the queue, once there is a place. `leave` gives it back.
  func enter(_ body: @escaping @Sendable () -> Void) {
    let isNow = state.withLock { state in
      guard state.places > 0 else {
        state.waiting.append(body)
        return false
      }
      state.places -= 1
      return true
    }
    if isNow { queue.async(execute: body) }
  }

  func leave() {
    let next = state.withLock { state -> (@Sendable () -> Void)? in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.places += 1
      return nil
    }
    if let next { queue.async(execute: next) }
  }
}
