// The requests that wait for a remote or for other transactions. When the client ends, their waits end.

import ByteStore
import Dispatch
import FirebaseCore
import OfflineSync

/// A set of open requests. Any thread may use it.
final class PendingRequests: Sendable {
  private struct State {
    var ends: [UInt64: @Sendable () -> Void] = [:]
    var count: UInt64 = 0
    var isOver = false
  }

  private let state = Locked(State())

  /// Registers a request and returns its number. `endAll` calls `end` unless the request has been closed by
  /// then. If `endAll` has already run, `end` is called at once.
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

  /// Ends all requests, in the order in which they were opened.
  func endAll() {
    let ends = state.withLock { state in
      state.isOver = true
      defer { state.ends = [:] }
      return state.ends.sorted { $0.key < $1.key }.map(\.value)
    }
    for end in ends { end() }
  }

  /// Returns a closure for the result of a request. `done` is called once: with this result, or, if the
  /// client ends first, on `queue` with an error. If the client ends first, `cancel` is called too, and stops
  /// the request.
  func once<Value: Sendable>(
    on queue: DispatchQueue, _ done: @escaping Answer<Value>,
    cancelling cancel: @escaping @Sendable () -> Void = {}
  ) -> Answer<Value> {
    let waiting = Locked<Answer<Value>?>(done)
    let deliver: Answer<Value> = { result in
      let done = waiting.withLock { waiting in
        defer { waiting = nil }
        return waiting
      }
      done?(result)
    }
    let number = open {
      queue.submit { deliver(.failure(FirestoreErrors.translate(.remote(Self.terminated)))) }
      cancel()
    }
    return { [self] result in
      close(number)
      deliver(result)
    }
  }

  /// The error of a request that was open when the client ended. The driver reports the same error when it
  /// ends.
  static let terminated = RemoteError(.cancelled, "The client has been terminated.")
}
