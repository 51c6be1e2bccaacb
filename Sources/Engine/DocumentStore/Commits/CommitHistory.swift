// The document changes of recent commits. They are used to validate transactions that began before these
// commits.
//
// Invariants:
// - No changes are kept while no transaction is open.
// - Adding and dropping changes is cheap, however long the history is. The history consists of parts that
//   become immutable once they are full. A part is only dropped as a whole, so a reader can scan a copy of
//   the history without the lock.

struct CommitHistory {
  static let bytesMax = 64 << 20

  struct Change: Sendable {
    let number: UInt64
    let key: [UInt8]
    let after: StoredDocument?
  }

  /// A run of consecutively added changes. The commits of a group complete in any order, so the commit
  /// numbers in a part ascend only approximately.
  struct Part: Sendable {
    fileprivate(set) var changes: [Change] = []
    fileprivate(set) var lastNumber: UInt64 = 0
    fileprivate var bytes = 0
  }

  /// An immutable copy of the history.
  struct Copy: Sendable {
    fileprivate let parts: [Part]
    fileprivate let recent: Part
    /// The number of changes that had ever been added when the copy was created.
    let end: UInt64

    /// Visits the changes of commits whose number is at least `floor`, latest first. Skips the first `begin`
    /// changes that were ever added.
    func forEach(since floor: UInt64, behind begin: UInt64 = 0, _ body: (Change) -> Void) {
      var place = end
      for part in [[recent], parts.reversed()].joined() {
        guard place > begin else { return }
        // A part holds whole commits. Each commit in an earlier part began before the last commit of this
        // part, or completed together with it.
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
  /// The number of open transactions for each floor, in ascending order of floors. The floor of a transaction
  /// is the number of the first commit whose changes it needs.
  private var floors: [(number: UInt64, count: Int)] = []
  /// The approximate number of floors that have no open transaction any more but follow a floor that has one.
  private var unused = 0
  /// The number of the last commit that may have been dropped while a transaction still needed it. Earlier
  /// commits may have been dropped as well.
  private var droppedThrough: UInt64 = 0

  var copy: Copy { Copy(parts: parts, recent: recent, end: end) }

  mutating func keep(from floor: UInt64) {
    if let last = floors.indices.last, floors[last].number == floor {
      floors[last].count += 1
    } else {
      floors.append((floor, 1))
    }
  }

  /// Closes one transaction with this floor. Returns the parts that no transaction needs any more. The caller
  /// frees them after it has released the lock, because freeing them can take long.
  mutating func release(of floor: UInt64) -> [Part] {
    guard let place = place(of: floor) else { return [] }
    floors[place].count -= 1
    let emptyCount = floors.prefix { $0.count == 0 }.count
    floors.removeFirst(emptyCount)
    if emptyCount == 0, floors[place].count == 0 { unused += 1 } else { unused = min(unused, floors.count) }
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
    return emptyCount > 0 ? drop(parts.prefix { $0.lastNumber < lowest }.count) : []
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
