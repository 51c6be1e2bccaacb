// The order of writes to one record.
//
// Invariants:
//   - The turns of a lane are in the order in which their writes were asked for.
//   - At most one of them is being read for and issued at a time: what one reads has all that those before it
//     wrote.
//   - One that is over stays known until all before it are over, so that these can tell what was written
//     behind them.
//   - Nobody waits for the write of another user, who may be away: it is answered when that user is back. It
//     counts once it has happened.

/// Of the writes of one record, each begins when the one before has been issued. One that was refused because
/// of what others did goes back to its place: before those that wait, and behind nothing that came later and
/// may still happen. Writes of different records do not wait for each other.
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
    /// Whose write it is, once that is known.
    fileprivate var owner: Owner?

    fileprivate init(_ path: String, _ number: Int) {
      self.path = path
      self.number = number
    }

    /// True as long as nobody knows better.
    func isOf(_ user: String?) -> Bool { owner.map { $0 == Owner(user: user) } ?? true }

    fileprivate func isOfOwner(of other: Turn) -> Bool { other.owner.map { isOf($0.user) } ?? true }
  }

  fileprivate struct Owner: Equatable {
    /// Nil is nobody.
    let user: String?
  }

  typealias Body = (_ leave: @escaping () -> Void) -> Void

  private struct Lane {
    var isTaken = false
    var waiting: [(turn: Turn, body: Body)] = []
    var turns: [Turn] = []
    /// Those that were refused, until they are resumed.
    var refused: [Refused] = []
  }

  /// One refusal, which waits.
  private final class Refused {
    let turn: Turn
    var later: Set<Int>
    let body: Body
    let whenFree: () -> Void

    init(_ turn: Turn, behind later: Set<Int>, _ body: @escaping Body, _ whenFree: @escaping () -> Void) {
      (self.turn, self.later, self.body, self.whenFree) = (turn, later, body, whenFree)
    }
  }

  private var lanes: [String: Lane] = [:]
  private var count = 0

  /// Nothing is under way.
  var isEmpty: Bool { lanes.isEmpty }

  /// How many writes wait to be tried again, or for their user.
  var refusedCount: Int { lanes.values.reduce(0) { $0 + $1.refused.count } }

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

  /// Runs `body` when it is the turn's turn, at once if nothing else is. It calls what it is given when the
  /// next one may begin.
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

  /// Whose write it is. Others do not wait for it then.
  func note(_ turn: Turn, isOf user: String?) {
    turn.owner = Owner(user: user)
    relieve(turn) { !$0.isOfOwner(of: turn) }
  }

  /// It is to be tried again. It waits until it is known what becomes of later ones of its user that are on
  /// their way: if they were refused too, they come behind it, and if not, they count. Then `whenFree` is
  /// called, and `resume` runs `body` when it is its turn.
  func refuse(_ turn: Turn, _ body: @escaping Body, whenFree: @escaping () -> Void) {
    turn.written = nil
    let later = behind(turn).filter { $0.written != nil && !$0.isOver && $0.isOfOwner(of: turn) }
    lanes[turn.path]?.refused.append(Refused(turn, behind: Set(later.map(\.number)), body, whenFree))
    settle(turn)
    if later.isEmpty { whenFree() }
  }

  /// The user of the write is here: those of that user that wait for no other go on, in their order.
  func resume(_ turn: Turn) {
    let free = lanes[turn.path]?.refused.filter { $0.later.isEmpty && $0.turn.isOfOwner(of: turn) } ?? []
    lanes[turn.path]?.refused.removeAll { refused in free.contains { $0 === refused } }
    for refused in free.sorted(by: { $0.turn.number < $1.turn.number }) { enter(refused.turn, refused.body) }
  }

  /// It is not tried again. False if it does not wait for that.
  func withdraw(_ turn: Turn) -> Bool {
    guard let place = lanes[turn.path]?.refused.firstIndex(where: { $0.turn === turn }) else { return false }
    lanes[turn.path]?.refused.remove(at: place)
    return true
  }

  /// What was written by those that came later, and has happened, or may happen before the user changes.
  func written(after turn: Turn) -> Written? {
    let counted = behind(turn).filter { $0.isOver || $0.isOfOwner(of: turn) }
    return counted.compactMap(\.written).reduce(nil) { $0?.with($1) ?? $1 }
  }

  /// Whether one of its user that came before may still happen.
  func isBehindOthers(_ turn: Turn) -> Bool {
    lanes[turn.path]?.turns.prefix { $0 !== turn }.contains { !$0.isOver && $0.isOfOwner(of: turn) } ?? false
  }

  private func behind(_ turn: Turn) -> ArraySlice<Turn> {
    guard let turns = lanes[turn.path]?.turns, let place = turns.firstIndex(where: { $0 === turn }) else {
      return []
    }
    return turns[(place + 1)...]
  }

  private func settle(_ turn: Turn) {
    guard let over = lanes[turn.path]?.turns.prefix(while: { $0.isOver }) else { return }
    lanes[turn.path]?.turns.removeFirst(over.count)
    relieve(turn) { _ in true }
    forget(turn.path)
  }

  /// Those of the refused that fulfil the condition do not wait for it any more.
  private func relieve(_ turn: Turn, _ condition: (Turn) -> Bool) {
    let relieved = lanes[turn.path]?.refused.filter {
      condition($0.turn) && $0.later.remove(turn.number) != nil && $0.later.isEmpty
    }
    for refused in relieved ?? [] { refused.whenFree() }
  }

  private func forget(_ path: String) {
    guard let lane = lanes[path], !lane.isTaken, lane.turns.isEmpty else { return }
    lanes[path] = nil
  }
}
