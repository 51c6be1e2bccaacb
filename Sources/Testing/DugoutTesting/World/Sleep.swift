// One sleep of a task in a world.

internal import ByteStore

/// A sleep, which ends once: at its deadline, when its task is cancelled, or when the world ends.
final class Sleep: Sendable {
  typealias Continuation = CheckedContinuation<Void, any Error>

  private struct State: Sendable {
    var continuation: Continuation?
    var wait: Int?
    /// The result of a sleep that ended before it began.
    var result: Result<Void, any Error>?
  }

  private let world: WorldScheduler
  private let state = Locked(State())

  init(_ world: WorldScheduler) { self.world = world }

  func begin(_ continuation: Continuation, until deadline: Int64) {
    let wait = world.beginWait { [self] in end(.failure(CancellationError())) }
    let early = state.withLock { state in
      if state.result == nil { (state.continuation, state.wait) = (continuation, wait) }
      return state.result
    }
    if let early {
      world.endWait(wait)
      return continuation.resume(with: early)
    }
    world.run(after: deadline - world.now()) { [self] in end(.success(())) }
  }

  func end(_ result: Result<Void, any Error>) {
    let (continuation, wait) = state.withLock { state in
      state.result = state.result ?? result
      defer { (state.continuation, state.wait) = (nil, nil) }
      return (state.continuation, state.wait)
    }
    if let wait { world.endWait(wait) }
    continuation?.resume(with: result)
  }
}
