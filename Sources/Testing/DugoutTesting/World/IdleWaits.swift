// The tasks that wait until a world is idle.

internal import ByteStore

final class IdleWaits: Sendable {
  private typealias Continuation = CheckedContinuation<Void, any Error>

  private struct Wait: Sendable {
    let continuation: Continuation
    /// Returns what the world still waits for; nil if it is idle.
    let remaining: @Sendable () -> String?
  }

  private struct State: Sendable {
    var waits: [(number: Int, wait: Wait)] = []
    var lastNumber = 0
    var isEnded = false
  }

  private let world: WorldScheduler
  private let state = Locked(State())

  init(_ world: WorldScheduler) { self.world = world }

  var isEmpty: Bool { state.withLock { $0.waits.isEmpty } }

  /// Returns when nothing remains. Throws `notIdle` after the limit.
  func wait(within limit: Int64, _ remaining: @escaping @Sendable () -> String?) async throws {
    try await withCheckedThrowingContinuation { (continuation: Continuation) in
      let number: Int? = state.withLock { state in
        guard !state.isEnded else { return nil }
        state.lastNumber += 1
        state.waits.append((state.lastNumber, Wait(continuation: continuation, remaining: remaining)))
        return state.lastNumber
      }
      guard let number else { return continuation.resume(throwing: CancellationError()) }
      world.run(after: limit) { [self] in timeOut(number) }
    }
  }

  /// Resumes the tasks for which nothing remains. Returns whether there was one.
  func wake() -> Bool {
    let done = state.withLock { state in
      let done = state.waits.filter { $0.wait.remaining() == nil }
      state.waits.removeAll { wait in done.contains { $0.number == wait.number } }
      return done
    }
    for (_, wait) in done { wait.continuation.resume() }
    return !done.isEmpty
  }

  private func timeOut(_ number: Int) {
    guard let wait = removed(number) else { return }
    guard let reason = wait.remaining() else { return wait.continuation.resume() }
    wait.continuation.resume(throwing: TestWorldError.notIdle(reason))
  }

  private func removed(_ number: Int) -> Wait? {
    state.withLock { state in
      guard let index = state.waits.firstIndex(where: { $0.number == number }) else { return nil }
      return state.waits.remove(at: index).wait
    }
  }

  /// Ends all waits, and later ones at once, because the world does not ask for them any more.
  func end() {
    state.withLock { $0.isEnded = true }
    fail(CancellationError())
  }

  func fail(_ error: any Error) {
    let waits = state.withLock { state in
      defer { state.waits = [] }
      return state.waits
    }
    for (_, wait) in waits { wait.continuation.resume(throwing: error) }
  }
}
