// The order of writes to one record.
//
// Invariants:
//   - The turns of a lane are in the order in which their writes were asked for.
//   - At most one of them is being read for and issued at a time: what one reads has all that those before it wrote.
//   - One that is over stays known until all before it are over, so that these can tell what was written behind them.

/// Of the writes of one record, each begins when the one before has been issued. One that was refused because of what
/// others did goes back to its place: before those that wait, and behind nothing that came later and may still happen.
/// Writes of different records do not wait for each other.
final class ResourceLanes: @unchecked Sendable {
  // Unchecked: belongs to the callback queue.

  /// What a write changes.
  enum Written {
    case fields(Set<String>)
    case all

    fileprivate func with(_ other: Written) -> Written {
      guard case .fields(let left) = self, case .fields(let right) = other else { return .all }
      return .fields(left.union(right))
    }
  }

  /// One write, from when it is asked for to its end.
  final class Turn {
    fileprivate let path: String
    fileprivate let number: Int
    /// While it is under way, and if it has happened.
    fileprivate var written: Written?
    fileprivate var isOver = false

    fileprivate init(_ path: String, _ number: Int) {
      self.path = path
      self.number = number
    }
  }

  typealias Body = (_ leave: @escaping () -> Void) -> Void

  private struct Lane {
    var isTaken = false
    var waiting: [(turn: Turn, body: Body)] = []
    var turns: [Turn] = []
    /// Refused, until it is known what becomes of these later ones.
    var refused: [(turn: Turn, later: Set<Int>, body: Body)] = []
  }

  private var lanes: [String: Lane] = [:]
  private var count = 0

  /// Nothing is under way.
  var isEmpty: Bool { lanes.isEmpty }

  /// The same for all bases of a database.
  static let shared = PerDatabase { ResourceLanes() }

  // MARK: Waiting

  /// A new turn behind all others.
  func turn(at path: String) -> Turn {
    count += 1
    let turn = Turn(path, count)
    lanes[path, default: Lane()].turns.append(turn)
    return turn
  }

  /// Runs `body` when it is the turn's turn, at once if nothing else is. It calls what it is given when the next one may
  /// begin.
  func enter(_ turn: Turn, _ body: @escaping Body) {
    guard var lane = lanes.removeValue(forKey: turn.path) else { return }
    if lane.isTaken {
      let place = lane.waiting.lastIndex { $0.turn.number < turn.number }.map { $0 + 1 } ?? 0
      lane.waiting.insert((turn, body), at: place)
      lanes[turn.path] = lane
    } else {
      lane.isTaken = true
      lanes[turn.path] = lane
      run(turn.path, body)
    }
  }

  private func run(_ path: String, _ body: Body) {
    body { [self] in
      guard lanes[path]?.waiting.isEmpty == false, let next = lanes[path]?.waiting.removeFirst() else {
        lanes[path]?.isTaken = false
        forget(path)
        return
      }
      run(path, next.body)
    }
  }

  // MARK: What becomes of it

  /// The write is on its way.
  func issue(_ turn: Turn, _ written: Written) { turn.written = written }

  /// It has happened, or never will.
  func end(_ turn: Turn, hasHappened: Bool) {
    turn.isOver = true
    if !hasHappened { turn.written = nil }
    settle(turn)
  }

  /// It is to be tried again. `body` waits until it is known what becomes of later ones that are on their way: if they
  /// were refused too, they come behind it, and if not, they count.
  func refuse(_ turn: Turn, _ body: @escaping Body) {
    turn.written = nil
    let later = behind(turn).filter { $0.written != nil && !$0.isOver }
    settle(turn)
    if later.isEmpty {
      enter(turn, body)
    } else {
      lanes[turn.path]?.refused.append((turn, Set(later.map(\.number)), body))
    }
  }

  /// What was written by those that came later, and may have happened.
  func written(after turn: Turn) -> Written? {
    behind(turn).compactMap(\.written).reduce(nil) { $0?.with($1) ?? $1 }
  }

  /// Whether one that came before may still happen.
  func isBehindOthers(_ turn: Turn) -> Bool {
    lanes[turn.path]?.turns.first { !$0.isOver }.map { $0 !== turn } ?? false
  }

  private func behind(_ turn: Turn) -> ArraySlice<Turn> {
    guard let turns = lanes[turn.path]?.turns, let place = turns.firstIndex(where: { $0 === turn }) else {
      return []
    }
    return turns[(place + 1)...]
  }

  private func settle(_ turn: Turn) {
    guard var lane = lanes.removeValue(forKey: turn.path) else { return }
    lane.turns.removeFirst(lane.turns.prefix { $0.isOver }.count)
    for index in lane.refused.indices { lane.refused[index].later.remove(turn.number) }
    let free = lane.refused.filter { $0.later.isEmpty }
    lane.refused.removeAll { $0.later.isEmpty }
    lanes[turn.path] = lane
    for (turn, _, body) in free { enter(turn, body) }
    forget(turn.path)
  }

  private func forget(_ path: String) {
    guard let lane = lanes[path], !lane.isTaken, lane.turns.isEmpty else { return }
    lanes[path] = nil
  }
}
