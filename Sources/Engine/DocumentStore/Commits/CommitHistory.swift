// The document changes of recent commits, for validating the transactions that began before them.
//
// Invariants:
//   - No changes are kept while no transaction is open.
//   - Adding and dropping cost little, however long the history is. It consists of parts that are immutable
//     once full and are dropped whole, so a reader can scan a copy of it without the lock.

struct CommitHistory {
  static let bytesMax = 64 << 20

  struct Change: Sendable {
    let number: UInt64
    let key: [UInt8]
    let after: StoredDocument?
  }

  /// A run of changes. The commits of a group complete in any order, so the numbers ascend only roughly.
  struct Part: Sendable {
    fileprivate(set) var changes: [Change] = []
    fileprivate(set) var lastNumber: UInt64 = 0
    fileprivate var bytes = 0
  }

  /// An immutable copy of the history.
  struct Copy: Sendable {
    fileprivate let parts: [Part]
    fileprivate let recent: Part
    /// Number of changes ever added when the copy was created.
    let end: UInt64

    /// Visits the changes of commits with number `floor` or higher, latest first, and skips the first
    /// `begin` changes.
    func forEach(since floor: UInt64, behind begin: UInt64 = 0, _ body: (Change) -> Void) {
      var place = end
      for part in [[recent], parts.reversed()].joined() {
        guard place > begin else { return }
        // A part holds whole commits. The commits in earlier parts began before the last commit of this
        // part, or completed with it.
        let first = place - UInt64(part.changes.count)
        if part.lastNumber >= floor {
          for (offset, change) in part.changes.enumerated().reversed()
          where change.number >= floor && first + UInt64(offset) >= begin { body(change) }
        }
        place = first
      }
    }
  }

  private static let changesPerPart = 256

  private var parts: [Part] = []
  private var recent = Part()
  private var bytes = 0
  private(set) var end: UInt64 = 0
  /// Number of open transactions per floor (the first commit number that they need), in ascending order of
  /// floors.
  private var floors: [(number: UInt64, count: Int)] = []
  /// Approximate number of floors without a transaction that come after a floor with a transaction.
  private var unused = 0
  /// Commits up to this number may have been dropped while a transaction needed them.
  private var droppedThrough: UInt64 = 0

  var copy: Copy { Copy(parts: parts, recent: recent, end: end) }

  mutating func keep(from floor: UInt64) {
    if let last = floors.indices.last, floors[last].number == floor {
      floors[last].count += 1
    } else {
      floors.append((floor, 1))
    }
  }

  /// Closes one transaction with this floor. Returns the parts that no transaction needs any more, because
  /// freeing them can take long and the caller does that without the lock.
  mutating func release(of floor: UInt64) -> [Part] {
    guard let place = place(of: floor) else { return [] }
    floors[place].count -= 1
    let gone = floors.prefix { $0.count == 0 }.count
    floors.removeFirst(gone)
    if gone == 0, floors[place].count == 0 { unused += 1 } else { unused = min(unused, floors.count) }
    if unused > 64, unused > floors.count / 2 {
      floors.removeAll { $0.count == 0 }
      unused = 0
    }
    guard let lowest = floors.first?.number else {
      defer {
        parts = []
        recent = Part()
        bytes = 0
      }
      return parts + [recent]
    }
    return gone > 0 ? drop(parts.prefix { $0.lastNumber < lowest }.count) : []
  }

  private func place(of floor: UInt64) -> Int? {
    var low = 0
    var high = floors.count
    while low < high {
      let middle = (low + high) / 2
      if floors[middle].number < floor { low = middle + 1 } else { high = middle }
    }
    return low < floors.count && floors[low].number == floor ? low : nil
  }

  mutating func add(_ number: UInt64, _ changes: [CommitChange]) -> [Part] {
    guard !floors.isEmpty else { return [] }
    for change in changes {
      recent.changes.append(Change(number: number, key: change.key, after: change.after))
      let size = change.recordBytes + change.key.count + 100
      recent.bytes += size
      bytes += size
    }
    recent.lastNumber = max(recent.lastNumber, number)
    end += UInt64(changes.count)
    if recent.changes.count >= Self.changesPerPart || recent.bytes >= Self.bytesMax / 64 {
      parts.append(recent)
      recent = Part()
    }
    guard bytes > Self.bytesMax else { return [] }
    let half = parts.count / 2 + 1
    let dropped = drop(min(half, parts.count))
    droppedThrough = dropped.reduce(droppedThrough) { max($0, $1.lastNumber) }
    return dropped
  }

  private mutating func drop(_ count: Int) -> [Part] {
    guard count > 0 else { return [] }
    let dropped = Array(parts.prefix(count))
    bytes -= dropped.reduce(0) { $0 + $1.bytes }
    parts.removeFirst(count)
    return dropped
  }

  func reaches(backTo floor: UInt64) -> Bool { floor > droppedThrough }
}
