// The locks of one document, and its wait queue.

/// A transaction, or a commit without one.
struct LockOwner: Hashable, Sendable {
  /// Distinguishes owners.
  let number: UInt64
  /// The number of the first attempt of a transaction. Smaller is older.
  let age: UInt64

  func isOlder(than other: LockOwner) -> Bool { (age, number) < (other.age, other.number) }
}

enum LockMode: Sendable {
  case shared
  case exclusive

  func conflicts(with other: LockMode) -> Bool { self == .exclusive || other == .exclusive }
}

/// The locks of one document, and the requests that wait for it. Requests that no longer wait stay in the
/// heaps for a while, so the caller says which entries are of use.
struct LockQueue {
  struct Hold {
    var mode: LockMode
    var end: UInt64
  }

  /// A request that waits. Entries are in the order of age.
  struct Entry: Comparable {
    let owner: LockOwner
    let number: UInt64

    static func < (first: Entry, second: Entry) -> Bool {
      (first.owner.age, first.owner.number, first.number)
        < (second.owner.age, second.owner.number, second.number)
    }
  }

  /// The requests that wait at a document for the same reason. If one of them waits, all later ones do.
  enum Kind: Int, CaseIterable {
    /// Its owner holds no locks.
    case holdsNothing
    /// Its owner holds locks, and wants this mode.
    case exclusive
    case shared
  }

  private(set) var holds: [LockOwner: Hold] = [:]
  private var exclusiveHoldCount = 0
  /// The number of requests that wait and want a lock of the document.
  var waitingCount = 0
  /// The requests that wait, by their modes.
  private var sharedWaiting = LazyHeap<Entry>()
  private var exclusiveWaiting = LazyHeap<Entry>()
  /// The requests that are blocked at this document, by their kinds.
  private var blocked = Array(repeating: LazyHeap<Entry>(), count: Kind.allCases.count)

  var isEmpty: Bool { holds.isEmpty && waitingCount == 0 }

  // MARK: Holders

  mutating func hold(_ hold: Hold, by owner: LockOwner) {
    removeHold(of: owner)
    holds[owner] = hold
    if hold.mode == .exclusive { exclusiveHoldCount += 1 }
  }

  @discardableResult mutating func removeHold(of owner: LockOwner) -> Bool {
    guard let hold = holds.removeValue(forKey: owner) else { return false }
    if hold.mode == .exclusive { exclusiveHoldCount -= 1 }
    return true
  }

  func hasHolder(conflictingWith mode: LockMode) -> Bool {
    mode == .exclusive ? !holds.isEmpty : exclusiveHoldCount > 0
  }

  func hasHolder(olderThan owner: LockOwner, conflictingWith mode: LockMode) -> Bool {
    guard hasHolder(conflictingWith: mode) else { return false }
    return holds.contains { $0.key.isOlder(than: owner) && mode.conflicts(with: $0.value.mode) }
  }

  // MARK: Requests

  mutating func add(_ entry: Entry, _ mode: LockMode, where waits: (Entry) -> Bool) {
    waitingCount += 1
    switch mode {
    case .shared: sharedWaiting.insert(entry, where: waits)
    case .exclusive: exclusiveWaiting.insert(entry, where: waits)
    }
  }

  /// The oldest request that waits and conflicts with a mode.
  mutating func firstWaiting(conflictingWith mode: LockMode, where waits: (Entry) -> Bool) -> Entry? {
    let exclusive = exclusiveWaiting.first(where: waits)
    guard mode == .exclusive, let shared = sharedWaiting.first(where: waits) else { return exclusive }
    return exclusive.map { min($0, shared) } ?? shared
  }

  mutating func block(_ entry: Entry, _ kind: Kind, where isBlocked: (Entry) -> Bool) {
    blocked[kind.rawValue].insert(entry, where: isBlocked)
  }

  mutating func firstBlocked(_ kind: Kind, where isBlocked: (Entry) -> Bool) -> Entry? {
    blocked[kind.rawValue].first(where: isBlocked)
  }
}
