// Turns of concurrent calls about the same run, so that a batch which arrives twice at once is applied once.
//
// Each document of the ledger has a line of calls, and the first call of a line has its turn. A call that
// needs several documents joins all of their lines at once, so two calls never wait for each other. A call
// that waits is a closure, and holds no thread.

internal import ByteStore
internal import Dispatch
internal import DocumentStore

/// The lines of calls that change documents of the ledger.
final class RunTurns: Sendable {
  /// A call that has its turn or waits for it.
  fileprivate struct Call: Hashable { let number: UInt64 }

  /// The right to change documents. The owner ends it.
  struct Turn: Sendable {
    fileprivate let turns: RunTurns
    fileprivate let call: Call
    fileprivate let paths: Set<DocumentPath>

    func end() { turns.end(self) }
  }

  private struct Line {
    private var calls: [Call] = []
    private var start = 0

    var first: Call? { start < calls.count ? calls[start] : nil }
    var count: Int { calls.count - start }

    mutating func add(_ call: Call) { calls.append(call) }

    mutating func removeFirst() {
      start += 1
      guard start > 16, start > calls.count / 2 else { return }
      calls.removeFirst(start)
      start = 0
    }
  }

  private struct Waiting {
    /// The number of lines in which the call is not the first.
    var missing: Int
    let begin: @Sendable () -> Void
  }

  private struct State {
    var lastNumber: UInt64 = 0
    var lines: [DocumentPath: Line] = [:]
    var waiting: [Call: Waiting] = [:]
  }

  /// The maximum length of a line that a call can join without a thread. One client needs one place.
  static let lineMax = 100

  private let state = Locked(State())
  /// Runs calls that have waited.
  private let queue = DispatchQueue(label: "dugout.authority.turns", attributes: .concurrent)

  /// Runs `body` while no other call has one of these documents. `body` must not ask for more.
  func during<Value, Failure: Error>(
    _ paths: Set<DocumentPath>, _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let isFirst = Locked(false)
    let turn = join(paths, lineMax: .max) {
      isFirst.withLock { $0 = true }
      isFirst.wakeAll()
    }
    guard let turn else { preconditionFailure("A line has no limit for callers that wait.") }
    defer { turn.end() }
    isFirst.withLock(when: { $0 }) { _ in }
    return try body()
  }

  /// Runs `body` when no other call has one of these documents: within this call, or later on another thread.
  /// `body` ends the turn. Returns false, without a call of `body`, if too many calls wait.
  func begin(_ paths: Set<DocumentPath>, _ body: @escaping @Sendable (Turn) -> Void) -> Bool {
    let entrance = Locked(Entrance())
    let turn = join(paths, lineMax: Self.lineMax) { [queue] in
      // The turn is known when `join` has returned.
      guard let turn = entrance.withLock({ $0.open() }) else { return }
      queue.async { body(turn) }
    }
    guard let turn else { return false }
    if entrance.withLock({ $0.enter(turn) }) { body(turn) }
    return true
  }

  /// Where a call learns that it is the first of its lines, before or after it knows its turn.
  private struct Entrance {
    private var isOpen = false
    private var turn: Turn?

    /// Returns the turn of a call that waits.
    mutating func open() -> Turn? {
      isOpen = true
      return turn
    }

    /// Returns whether the call is the first already.
    mutating func enter(_ turn: Turn) -> Bool {
      self.turn = turn
      return isOpen
    }
  }

  // MARK: Lines

  /// Joins the lines of all documents. `begin` is called once, when the call is the first of all of them.
  /// Returns nil if a line is too long.
  private func join(
    _ paths: Set<DocumentPath>, lineMax: Int, begin: @escaping @Sendable () -> Void
  ) -> Turn? {
    let (call, isFirst) = state.withLock { state -> (Call?, Bool) in
      guard paths.allSatisfy({ state.lines[$0].map { $0.count < lineMax } ?? true }) else {
        return (nil, false)
      }
      state.lastNumber += 1
      let call = Call(number: state.lastNumber)
      var missing = 0
      for path in paths {
        if state.lines[path] != nil { missing += 1 }
        state.lines[path, default: Line()].add(call)
      }
      if missing > 0 { state.waiting[call] = Waiting(missing: missing, begin: begin) }
      return (call, missing == 0)
    }
    guard let call else { return nil }
    if isFirst { begin() }
    return Turn(turns: self, call: call, paths: paths)
  }

  private func end(_ turn: Turn) {
    let next = state.withLock { state in
      var next: [@Sendable () -> Void] = []
      for path in turn.paths {
        guard state.lines[path]?.first == turn.call else { continue }
        state.lines[path]?.removeFirst()
        guard let call = state.lines[path]?.first else {
          state.lines[path] = nil
          continue
        }
        state.waiting[call]?.missing -= 1
        if let waiting = state.waiting[call], waiting.missing == 0 {
          state.waiting[call] = nil
          next.append(waiting.begin)
        }
      }
      return next
    }
    for begin in next { begin() }
  }

  /// The number of calls that wait.
  var waitingCount: Int { state.withLock { $0.waiting.count } }
}
