// The threads of all transfers, and the limit on concurrent transfers.

import ByteStore
import Foundation

/// A fixed set of threads that all transfers share. The number is fixed because transfers block on disks and
/// the system limits the threads of a process.
package enum TransferLanes {
  /// There are more lanes than cores, because uploads that end at the same time share an fsync.
  private static let lanes = (0..<laneCount).map { number in
    TransferLane("dugout.storage.lane.\(number)", places: places(filesMax: sysconf(Int32(_SC_OPEN_MAX))))
  }
  private static let laneCount = 16
  private static let placesMax = 8
  private static let lastNumber = Locked(0)

  /// Returns the number of slots of each lane for a limit on open files. A negative `filesMax` means that
  /// there is no limit. A transfer has up to three files open, and the store and the rest of the process also
  /// need open files.
  package static func places(filesMax: Int) -> Int {
    guard filesMax >= 0 else { return placesMax }
    return max(1, min(placesMax, (filesMax - 64) / 4 / laneCount))
  }

  static func next() -> TransferLane {
    let number = lastNumber.withLock { lastNumber in
      lastNumber &+= 1
      return lastNumber
    }
    return lanes[number % lanes.count]
  }
}

/// A serial queue with a limited number of slots. A transfer must have a slot while its files are open. Slots
/// are granted in the order of the requests.
final class TransferLane: Sendable {
  let queue: DispatchQueue
  private let state: Locked<State>

  private struct State: Sendable {
    var places: Int
    var waiting: [@Sendable () -> Void] = []
  }

  init(_ label: String, places: Int) {
    queue = DispatchQueue(label: label)
    state = Locked(State(places: places))
  }

  /// Calls `body` on the queue when a slot is free. `leave` returns the slot.
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
