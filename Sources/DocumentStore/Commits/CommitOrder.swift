// The one order of all commits, and what those leave that are in it and not on stable storage yet.
//
// Invariants:
//   - Times grow with the order, by a microsecond at least, whatever the wall clock does.
//   - A document has as many pending states as commits under way change it, the latest last. Whoever computes a
//     commit builds on the last one, or on the store if there is none; readers see the store alone.
//   - A commit that builds on a pending state names the commit that leaves it as its foundation.
//   - A pending state goes when its commit is settled: readers see it then, or it never happened.

import ByteStore

struct CommitOrder {
  /// What a commit under way makes of one document.
  struct Pending {
    let number: UInt64
    let commit: PendingCommit
    let after: StoredDocument?
  }

  /// The time of the last commit.
  private(set) var lastTime: Int64
  private var nextNumber: UInt64 = 1
  private var pending: [[UInt8]: [Pending]] = [:]
  private var underWay = 0
  /// Whoever needs that no commit is under way; new ones wait meanwhile.
  var quietRequests = 0

  init(lastTime: Int64) { self.lastTime = lastTime }

  var isQuiet: Bool { underWay == 0 }
  var isOpen: Bool { quietRequests == 0 }

  /// Throws, and uses up no time, if the clock says what is none.
  func nextTime(_ clock: any StoreClock) throws(DocumentStoreError) -> StoredTimestamp {
    let microseconds = max(clock.wallMicroseconds(), lastTime + 1)
    guard let time = StoredTimestamp(microseconds: microseconds) else {
      throw .invalidArgument("The clock says \(microseconds) µs since 1970, which is no time to store.")
    }
    return time
  }

  /// What the commits under way leave of a document; nil if none of them changes it.
  func pending(_ key: [UInt8]) -> Pending? {
    pending.isEmpty ? nil : pending[key]?.last { !$0.commit.isRefused }
  }

  /// A commit has got its place. Returns its number.
  mutating func begin(
    _ commit: PendingCommit, _ changes: [CommitChange], at time: StoredTimestamp
  ) -> UInt64 {
    let number = nextNumber
    nextNumber += 1
    underWay += 1
    lastTime = time.microseconds
    for change in changes {
      pending[change.key, default: []].append(Pending(number: number, commit: commit, after: change.after))
    }
    return number
  }

  mutating func settle(_ number: UInt64, _ changes: [CommitChange]) {
    underWay -= 1
    for change in changes {
      pending[change.key]?.removeAll { $0.number == number }
      if pending[change.key]?.isEmpty == true { pending[change.key] = nil }
    }
  }
}
