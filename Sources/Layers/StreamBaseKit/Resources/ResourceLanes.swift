// The order of writes to one record.
//
// Invariants:
//   - The turns of a lane are in the order in which their writes were requested.
//   - At most one turn of a lane reads and issues its write at a time. A read therefore includes all writes
//     that earlier turns have issued.
//   - A turn that is over stays in its lane until all earlier turns are over. The earlier turns need it to
//     determine which fields later turns have written.
//   - No turn waits for the write of another user, because that user may not be signed in. Such a write
//     completes when its user has signed in again. Its changes count from then on.

/// The lanes, which order the writes of each record. A write begins when the previous write of the record was
/// issued. A write that was refused because of concurrent changes is retried when the results of all later
/// pending writes of the same user are known. The retry precedes the writes that still wait in the lane.
/// Writes of different records do not wait for each other.
final class ResourceLanes: @unchecked Sendable {
  // Unchecked, because only the callback queue uses it.

  /// The fields that a write changes.
  enum Written {
    case fields(Set<String>)
    case all

    fileprivate func with(_ other: Written) -> Written {
      guard case .fields(let left) = self, case .fields(let right) = other else { return .all }
      return .fields(left.union(right))
    }
  }

  /// One write, from its request to its end.
  final class Turn {
    fileprivate let path: String
    fileprivate let number: Int
    /// The fields that the write changes. Nil before the write is issued, and after it has failed.
    fileprivate var written: Written?
    fileprivate var isOver = false
    /// The owner of the write; nil until the owner is known.
    fileprivate var owner: Owner?

    fileprivate init(_ path: String, _ number: Int) {
      self.path = path
      self.number = number
    }

    /// Returns whether the write may belong to this user. Returns true while the owner is unknown.
    func mayBelongTo(_ user: String?) -> Bool { owner.map { $0 == Owner(user: user) } ?? true }

    fileprivate func mayHaveSameOwner(as other: Turn) -> Bool {
      other.owner.map { mayBelongTo($0.user) } ?? true
    }
  }

  fileprivate struct Owner: Equatable {
    /// The id of the user. Nil means that there is no user.
    let user: String?
  }

  typealias Body = (_ leave: @escaping () -> Void) -> Void

  private struct Lane {
    var isBusy = false
    var waiting: [(turn: Turn, body: Body)] = []
    var turns: [Turn] = []
    /// Refused turns that were not resumed yet.
    var refused: [Refused] = []
  }

  /// A refused turn that waits for its retry.
  private final class Refused {
    let turn: Turn
    var later: Set<Int>
    let body: Body
    let whenFree: () -> Void

    init(_ turn: Turn, turnsAfter later: Set<Int>, _ body: @escaping Body, _ whenFree: @escaping () -> Void) {
      (self.turn, self.later, self.body, self.whenFree) = (turn, later, body, whenFree)
    }
  }

  private var lanes: [String: Lane] = [:]
  private var count = 0

  /// Whether no write is pending.
  var isEmpty: Bool { lanes.isEmpty }

  /// The number of refused writes that wait for other writes or for their user before they are retried.
  var refusedCount: Int { lanes.values.reduce(0) { $0 + $1.refused.count } }

  /// The lanes of each database. All bases of a database share them.
  static let shared = PerDatabase { ResourceLanes() }

  // MARK: Waiting

  /// Appends a new turn to the lane of a path.
  func turn(at path: String) -> Turn {
    count += 1
    let turn = Turn(path, count)
    lanes[path, default: Lane()].turns.append(turn)
    return turn
  }

  /// Runs `body` when the lane is free for the turn, which may be at once. `body` must call `leave` when the
  /// next turn may begin.
  func enter(_ turn: Turn, _ body: @escaping Body) {
    guard var lane = lanes.removeValue(forKey: turn.path) else { return }
    if lane.isBusy {
      let index = lane.waiting.lastIndex { $0.turn.number < turn.number }.map { $0 + 1 } ?? 0
      lane.waiting.insert((turn, body), at: index)
      lanes[turn.path] = lane
    } else {
      lane.isBusy = true
      lanes[turn.path] = lane
      run(turn.path, body)
    }
  }

  private func run(_ path: String, _ body: Body) {
    body { [self] in
      guard lanes[path]?.waiting.isEmpty == false, let next = lanes[path]?.waiting.removeFirst() else {
        lanes[path]?.isBusy = false
        removeEmptyLane(path)
        return
      }
      run(path, next.body)
    }
  }

  // MARK: Results

  /// Records that the write was issued, and which fields it changes.
  func issue(_ turn: Turn, _ written: Written) { turn.written = written }

  /// Ends a turn. `hasHappened` is false if the write has failed for good.
  func end(_ turn: Turn, hasHappened: Bool) {
    turn.isOver = true
    if !hasHappened { turn.written = nil }
    advanceLane(turn)
  }

  /// Records the owner of a turn. Refused turns of other users no longer wait for this turn.
  func note(_ turn: Turn, isOwnedBy user: String?) {
    turn.owner = Owner(user: user)
    unblockRefused(turn) { !$0.mayHaveSameOwner(as: turn) }
  }

  /// Records that a write was refused and must be retried. The turn first waits for the results of the later
  /// writes of its user that were already issued. If such a write is refused, it is retried after this turn.
  /// If it succeeds, its fields count as written. When all results are known, `whenFree` is called. After
  /// `resume`, `body` runs when the lane is free for the turn.
  func refuse(_ turn: Turn, _ body: @escaping Body, whenFree: @escaping () -> Void) {
    turn.written = nil
    let later = turnsAfter(turn).filter { $0.written != nil && !$0.isOver && $0.mayHaveSameOwner(as: turn) }
    lanes[turn.path]?.refused.append(Refused(turn, turnsAfter: Set(later.map(\.number)), body, whenFree))
    advanceLane(turn)
    if later.isEmpty { whenFree() }
  }

  /// Resumes the refused turns of the user of `turn`, in their order, except those that still wait for
  /// another turn. The caller must ensure that this user is the current user.
  func resume(_ turn: Turn) {
    let free =
      lanes[turn.path]?.refused.filter { $0.later.isEmpty && $0.turn.mayHaveSameOwner(as: turn) } ?? []
    lanes[turn.path]?.refused.removeAll { refused in free.contains { $0 === refused } }
    for refused in free.sorted(by: { $0.turn.number < $1.turn.number }) { enter(refused.turn, refused.body) }
  }

  /// Removes a refused turn, so that it is not retried. Returns false if the turn does not wait for a retry.
  func withdraw(_ turn: Turn) -> Bool {
    guard let index = lanes[turn.path]?.refused.firstIndex(where: { $0.turn === turn }) else { return false }
    lanes[turn.path]?.refused.remove(at: index)
    return true
  }

  /// Returns the fields that later turns have written. Pending writes of the same user are included, because
  /// they may be committed before the user changes.
  func written(after turn: Turn) -> Written? {
    let counted = turnsAfter(turn).filter { $0.isOver || $0.mayHaveSameOwner(as: turn) }
    return counted.compactMap(\.written).reduce(nil) { $0?.with($1) ?? $1 }
  }

  /// Returns whether an earlier write of the same user is still pending.
  func hasPendingPredecessor(_ turn: Turn) -> Bool {
    lanes[turn.path]?.turns.prefix { $0 !== turn }.contains { !$0.isOver && $0.mayHaveSameOwner(as: turn) }
      ?? false
  }

  private func turnsAfter(_ turn: Turn) -> ArraySlice<Turn> {
    guard let turns = lanes[turn.path]?.turns, let index = turns.firstIndex(where: { $0 === turn }) else {
      return []
    }
    return turns[(index + 1)...]
  }

  private func advanceLane(_ turn: Turn) {
    guard let over = lanes[turn.path]?.turns.prefix(while: { $0.isOver }) else { return }
    lanes[turn.path]?.turns.removeFirst(over.count)
    unblockRefused(turn) { _ in true }
    removeEmptyLane(turn.path)
  }

  ///  Ends the wait for `turn` of each refused turn that satisfies the condition.
  private func unblockRefused(_ turn: Turn, _ condition: (Turn) -> Bool) {
    let unblocked = lanes[turn.path]?.refused.filter {
      condition($0.turn) && $0.later.remove(turn.number) != nil && $0.later.isEmpty
    }
    for refused in unblocked ?? [] { refused.whenFree() }
  }

  private func removeEmptyLane(_ path: String) {
    guard let lane = lanes[path], !lane.isBusy, lane.turns.isEmpty else { return }
    lanes[path] = nil
  }
}
