// Who waits for a remote, so that at the end all of them hear that nothing comes any more.

import Dispatch
import FirebaseCore
import OfflineSync

/// Usable from any thread.
final class OpenQuestions: Sendable {
  private struct State {
    var ends: [UInt64: @Sendable () -> Void] = [:]
    var count: UInt64 = 0
    var isOver = false
  }

  private let state = Guarded(State())

  /// `end` is called when all is over, unless the question is closed before; at once if that is so already.
  func open(_ end: @escaping @Sendable () -> Void) -> UInt64 {
    let (number, isOver) = state.withLock { state in
      state.count += 1
      if !state.isOver { state.ends[state.count] = end }
      return (state.count, state.isOver)
    }
    if isOver { end() }
    return number
  }

  func close(_ number: UInt64) { state.withLock { $0.ends[number] = nil } }

  /// In the order in which they were opened.
  func endAll() {
    let ends = state.withLock { state in
      state.isOver = true
      defer { state.ends = [:] }
      return state.ends.sorted { $0.key < $1.key }.map(\.value)
    }
    for end in ends { end() }
  }

  /// What tells `done` once: the answer, or, on `queue`, that all is over. Then `giveUp` is called, too: nobody goes on
  /// asking.
  func once<Value: Sendable>(
    on queue: DispatchQueue, _ done: @escaping FirestoreClient.Answer<Value>,
    givingUp giveUp: @escaping @Sendable () -> Void = {}
  ) -> FirestoreClient.Answer<Value> {
    let waiting = Guarded<FirestoreClient.Answer<Value>?>(done)
    let tell: FirestoreClient.Answer<Value> = { result in
      let done = waiting.withLock { waiting in
        defer { waiting = nil }
        return waiting
      }
      done?(result)
    }
    let number = open {
      queue.async { tell(.failure(FirestoreErrors.translate(.remote(Self.terminated)))) }
      giveUp()
    }
    return { [self] result in
      close(number)
      tell(result)
    }
  }

  /// What the driver says at its own end.
  static let terminated = RemoteError(.cancelled, "The client has been terminated.")
}
