// Runs one thread at a time and switches at random between steps, so that a seed reproduces an interleaving.
//
//   - A thread keeps its turn until it reaches a pause point. Pause points are between two steps of the
//     store, and tests can add others.
//   - A running thread never waits for a paused thread, because the store holds no lock at a pause point. If
//     a step of the store has to wait for another thread, the store reports this and the thread pauses.

import ByteStore
package import DocumentStore

package final class SeededTurns: StorePauses {
  private struct State {
    var random: SeededRandom
    var turn: Int?
    /// The numbers of the threads that have not ended, in ascending order.
    var alive: [Int] = []
    var trace: [String] = []
    var reached: Set<StorePoint> = []
  }

  private let state: Locked<State>

  package init(seed: UInt64) { state = Locked(State(random: SeededRandom(seed: seed))) }

  /// The trace, with one line for each step.
  package var trace: [String] { state.withLock { $0.trace } }
  package var reached: Set<StorePoint> { state.withLock { $0.reached } }

  /// Runs each task on a thread, one thread at a time. Returns when all threads have ended.
  package func run(_ tasks: [@Sendable () -> Void]) {
    state.withLock { $0.alive = Array(tasks.indices) }
    let threads = tasks.enumerated().map { number, task in
      WorkerThread { [self] in
        state.withLock(when: { $0.turn == number }) { _ in }
        task()
        state.withLock { state in
          state.trace.append("\(number) ends")
          state.alive.removeAll { $0 == number }
          Self.pass(&state)
        }
        state.wakeAll()
      }
    }
    state.withLock(Self.pass)
    state.wakeAll()
    for thread in threads { thread.join() }
  }

  private static func pass(_ state: inout State) {
    state.turn = state.alive.isEmpty ? nil : state.alive[state.random.below(state.alive.count)]
  }

  /// Records that the current thread has reached `point`, and passes the turn to a random thread. Has no
  /// effect before and after the run.
  package func pause(at point: StorePoint) {
    let number = state.withLock { state -> Int? in
      guard let number = state.turn else { return nil }
      state.trace.append("\(number) \(point.rawValue)")
      state.reached.insert(point)
      Self.pass(&state)
      return number
    }
    guard let number else { return }
    state.wakeAll()
    state.withLock(when: { $0.turn == number }) { _ in }
  }

  /// Adds a note by the current thread to the trace.
  package func note(_ what: String) {
    state.withLock { state in state.trace.append("\(state.turn.map(String.init) ?? "-") \(what)") }
  }
}
