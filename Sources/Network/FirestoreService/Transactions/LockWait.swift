// A wait for locks, for callers that go on at once if it ends at once.

internal import ByteStore
internal import OfflineSync

/// A wait for locks that can end at once, or later on another thread.
final class LockWait: Sendable {
  struct End: Sendable { let error: RemoteError? }

  private struct State {
    var end: End?
    var resume: (@Sendable (End) -> Void)?
  }

  private let state = Locked(State())

  var ended: End? { state.withLock { $0.end } }

  func end(_ error: RemoteError?) {
    let end = End(error: error)
    let resume = state.withLock { state in
      state.end = end
      return state.resume.take()
    }
    resume?(end)
  }

  func whenEnded(_ resume: @escaping @Sendable (End) -> Void) {
    let ended: End? = state.withLock { state in
      if state.end == nil { state.resume = resume }
      return state.end
    }
    if let ended { resume(ended) }
  }
}
