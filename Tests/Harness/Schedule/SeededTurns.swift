// Threads of which one runs at a time: where two steps meet, dice say whose turn comes next. So a seed repeats how they
// met, step by step, and the trace tells it.
//
//   - A thread has its turn until it comes to a point between two steps of the store, or to one of its own.
//   - It waits for nobody who is paused: the store takes no lock across a point, and tells where others have to go on
//     first.

import ByteStore
package import DocumentStore

package final class SeededTurns: StorePauses {
  private struct State {
    var random: SeededRandom
    var turn: Int?
    /// Those that have not ended, in order.
    var alive: [Int] = []
    var trace: [String] = []
    var reached: Set<StorePoint> = []
  }

  private let state: Locked<State>

  package init(seed: UInt64) { state = Locked(State(random: SeededRandom(seed: seed))) }

  /// What happened, one line for each step.
  package var trace: [String] { state.withLock { $0.trace } }
  package var reached: Set<StorePoint> { state.withLock { $0.reached } }

  /// Returns when all have ended.
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

  /// Does nothing before and after the run.
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

  /// Something of whoever has the turn, for the trace.
  package func note(_ what: String) {
    state.withLock { state in state.trace.append("\(state.turn.map(String.init) ?? "-") \(what)") }
  }
}
