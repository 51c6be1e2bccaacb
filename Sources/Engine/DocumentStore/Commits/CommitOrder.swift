// The one order of all commits, and what those leave that are in it and not on stable storage yet.
//
// Invariants:
//   - Times grow with the order, by a microsecond at least, whatever the wall clock does. A clock that is in the last year
//     that has times is not believed, so that each store has times left for the commits that come after.
//   - A document has as many pending states as commits under way change it, the latest last. Whoever computes a
//     commit builds on the last one, or on the store if there is none; readers see the store alone.
//   - A commit that builds on a pending state names the commit that leaves it as its foundation.
//   - A pending state goes when its commit is settled: readers see it then, or it never happened.
//   - While a transaction is open, what commits made of documents since it began is kept, within a budget. A
//     transaction that began before what had to be dropped cannot be validated any more.

import ByteStore

struct CommitOrder {
  /// What a commit under way makes of one document.
  struct Pending {
    let number: UInt64
    let commit: PendingCommit
    let after: StoredDocument?
  }

  /// Of one document; hardly ever is there more than the last.
  private struct PendingStates {
    var last: Pending
    var earlier: [Pending] = []

    /// The latest one that may still happen.
    var top: Pending? {
      last.commit.isRefused ? earlier.last { !$0.commit.isRefused } : last
    }

    func forEachPossible(_ body: (Pending) -> Void) {
      for state in earlier where !state.commit.isRefused { body(state) }
      if !last.commit.isRefused { body(last) }
    }

    mutating func append(_ state: Pending) {
      guard state.number != last.number else { return }
      earlier.append(last)
      last = state
    }

    /// False if nothing is left.
    mutating func remove(_ isOver: (Pending) -> Bool) -> Bool {
      earlier.removeAll(where: isOver)
      guard isOver(last) else { return true }
      guard let next = earlier.popLast() else { return false }
      last = next
      return true
    }
  }

  /// The time of the last commit.
  private(set) var lastTime: Int64
  private var nextNumber: UInt64 = 1
  private var pending: [RecordKey: PendingStates] = [:]
  /// Their numbers, in order.
  private var underWay: [UInt64] = []
  private var history = CommitHistory()
  /// For the records of the next commit, as much as those before it took: they are encoded under the lock that keeps
  /// this. Memory that is new costs more to touch than what is written to it. Keys of values lie there, too, once the
  /// records are out of it.
  private var recordRoom: [UInt8] = []
  /// More is not kept between commits.
  private static let recordRoomBytesMax = 2 << 20
  var feed: FeedLedger
  /// Whoever needs that no commit is under way; new ones wait meanwhile.
  var quietRequests = 0
  /// Threads that wait for commits to be settled.
  var settlingAwaited = 0

  init(lastTime: Int64, feed: FeedLedger) {
    self.lastTime = lastTime
    self.feed = feed
  }

  var isQuiet: Bool { underWay.isEmpty }
  var isOpen: Bool { quietRequests == 0 }
  var lastNumber: UInt64 { nextNumber - 1 }

  func isSettled(through number: UInt64) -> Bool { underWay.first.map { $0 > number } ?? true }

  /// 9999-01-01T00:00:00Z: from here on, times are only for commits after one that has an earlier time.
  private static let clockEnd: Int64 = 253_370_764_800_000_000

  /// Throws, and uses up no time, if the clock says what is none, or if there is none left.
  func nextTime(_ clock: any StoreClock) throws(DocumentStoreError) -> StoredTimestamp {
    let wall = clock.wallMicroseconds()
    guard wall < Self.clockEnd else {
      throw .invalidArgument(
        "The clock says \(wall) µs since 1970, and commits are taken before the year 9999. Set the clock. Nothing was "
          + "written.")
    }
    guard let time = StoredTimestamp(microseconds: max(wall, lastTime + 1)) else {
      throw .failedPrecondition(
        "The last commit of the store has the last time that there is, 9999-12-31T23:59:59.999999Z, so that none can come "
          + "after it. Reading goes on: export the documents, and import them into a new store. Nothing was written."
      )
    }
    return time
  }

  /// What the commits under way leave of a document; nil if none of them changes it.
  func pending(_ key: [UInt8]) -> Pending? {
    pending.isEmpty ? nil : pending[RecordKey(key)]?.top
  }

  /// A commit has got its place. Returns its number.
  mutating func begin(
    _ commit: PendingCommit, _ changes: [CommitChange], at time: StoredTimestamp
  ) -> UInt64 {
    let number = nextNumber
    nextNumber += 1
    underWay.append(number)
    lastTime = time.microseconds
    for place in changes.indices {
      let state = Pending(number: number, commit: commit, after: changes[place].after)
      pending[RecordKey(changes[place].key), default: PendingStates(last: state)].append(state)
    }
    return number
  }

  /// What the history lets go of is the answer.
  mutating func settle(
    _ number: UInt64, _ changes: [CommitChange], hasHappened: Bool
  ) -> [CommitHistory.Part] {
    if let place = underWay.firstIndex(of: number) { underWay.remove(at: place) }
    // What can be seen of this one hides what those before it made, settled or not.
    let isOver = { (state: Pending) in hasHappened ? state.number <= number : state.number == number }
    for change in changes.indices {
      guard let place = pending.index(forKey: RecordKey(changes[change].key)) else { continue }
      if !pending.values[place].remove(isOver) { pending.remove(at: place) }
    }
    return hasHappened ? history.add(number, changes) : []
  }

  mutating func takeRecordRoom() -> [UInt8] {
    var room: [UInt8] = []
    swap(&room, &recordRoom)
    return room
  }

  mutating func giveBack(recordRoom room: consuming [UInt8]) {
    recordRoom = room.capacity <= Self.recordRoomBytesMax ? room : []
  }

  // MARK: Transactions

  /// The number from which on commits may be missing in a snapshot that is taken after this.
  mutating func openTransaction() -> UInt64 {
    let floor = underWay.first ?? nextNumber
    history.keep(from: floor)
    return floor
  }

  mutating func closeTransaction(_ floor: UInt64) -> [CommitHistory.Part] { history.letGo(of: floor) }

  /// What came and is under way, for `TransactionCheck`.
  var changes: (history: CommitHistory.Copy, pending: [CommitHistory.Change]) {
    (history.copy, statesUnderWay)
  }

  /// All that may still happen.
  private var statesUnderWay: [CommitHistory.Change] {
    var changes: [CommitHistory.Change] = []
    changes.reserveCapacity(pending.count)
    for (key, states) in pending {
      states.forEachPossible {
        changes.append(CommitHistory.Change(number: $0.number, key: key.bytes, after: $0.after))
      }
    }
    return changes
  }

  /// What is different from when it was read.
  func conflict(_ check: inout TransactionCheck?, since floor: UInt64) -> String? {
    guard history.reaches(backTo: floor) else { return "it has been open for too long" }
    return check?.decide(history.copy, pending: statesUnderWay)
  }
}
