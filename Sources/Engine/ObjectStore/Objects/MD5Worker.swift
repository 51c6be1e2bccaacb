// MD5 of a content on its way, computed beside whoever brings it.
//
// However many uploads there are, they share a few threads for it. If none of those comes round, whoever brings the
// pieces computes: nobody ever waits for a thread that the system might not have.

import ByteStore
import Dispatch
import DocumentStore

/// Pieces come from one thread at a time.
final class MD5Worker: Sendable {
  /// So many pieces at most are in memory for it.
  private static let piecesMax = 8
  /// Smaller ones are not worth another thread.
  private static let bytesMin = 4096

  private static let queues = (0..<4).map { DispatchQueue(label: "dugout.objects.md5.\($0)") }
  private static let made = Locked(0)

  private struct State {
    var stream = MD5Stream()
    var pieces: [[UInt8]] = []
    /// Someone computes outside of the lock.
    var isAtWork = false
  }

  private let queue: DispatchQueue
  private let state = Locked(State())

  init() {
    let number = Self.made.withLock { made in
      made &+= 1
      return made
    }
    queue = Self.queues[number % Self.queues.count]
  }

  func update(_ bytes: [UInt8]) {
    let waiting = state.withLock { state in
      state.pieces.append(bytes)
      return state.pieces.count
    }
    if bytes.count < Self.bytesMin || waiting >= Self.piecesMax {
      work()
    } else {
      queue.async { [self] in work() }
    }
  }

  /// Of everything so far.
  var digest: [UInt8] {
    work()
    return state.withLock { $0.stream.digest }
  }

  /// Returns when nothing waits any more that had come before.
  private func work() {
    let (work, before) = state.withLock(when: { !$0.isAtWork }) { state in
      defer {
        state.isAtWork = true
        state.pieces = []
      }
      return (state.pieces, state.stream)
    }
    var stream = before
    for piece in work { stream.update(piece.rawSpan) }
    let result = stream
    state.withLock { state in
      state.stream = result
      state.isAtWork = false
    }
    state.wakeAll()
  }
}
