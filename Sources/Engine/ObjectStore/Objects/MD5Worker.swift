// Computes MD5 of an incoming content in the background.
//
// All uploads share a few threads. If none of these threads gets to run, the thread that delivers the content
// computes the digest. So an upload never waits for a thread that the system may not provide.

import ByteStore
import Dispatch
import DocumentStore

/// Pieces must come from one thread at a time.
final class MD5Worker: Sendable {
  /// Maximum number of pieces in memory per content.
  private static let piecesMax = 8
  /// Smaller pieces are hashed in the calling thread.
  private static let bytesMin = 4096

  private static let queues = (0..<4).map { DispatchQueue(label: "dugout.objects.md5.\($0)") }
  private static let created = Locked(0)

  private struct State {
    var stream = MD5Stream()
    var pieces: [[UInt8]] = []
    /// Whether a thread is hashing pieces outside the lock.
    var isHashing = false
  }

  private let queue: DispatchQueue
  private let state = Locked(State())

  init() {
    let number = Self.created.withLock { created in
      created &+= 1
      return created
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

  /// MD5 of all pieces so far.
  var digest: [UInt8] {
    work()
    return state.withLock { $0.stream.digest }
  }

  /// Returns when all pieces that were added before the call are hashed.
  private func work() {
    let (work, before) = state.withLock(when: { !$0.isHashing }) { state in
      defer {
        state.isHashing = true
        state.pieces = []
      }
      return (state.pieces, state.stream)
    }
    var stream = before
    for piece in work { stream.update(piece.rawSpan) }
    let result = stream
    state.withLock { state in
      state.stream = result
      state.isHashing = false
    }
    state.wakeAll()
  }
}
