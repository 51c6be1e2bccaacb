// What recent commits made of documents, for transactions that began before them.

/// Nothing is kept while no transaction is open.
struct CommitHistory {
  static let bytesMax = 64 << 20

  private struct Entry {
    let number: UInt64
    let key: [UInt8]
    let after: StoredDocument?
    let bytes: Int
  }

  /// In the order of their numbers.
  private var entries: [Entry] = []
  private var bytes = 0
  /// How many open transactions need commits from a number on.
  private var floors: [UInt64: Int] = [:]
  /// Commits up to this one may have been dropped while someone needed them.
  private var droppedThrough: UInt64 = 0

  mutating func keep(from floor: UInt64) { floors[floor, default: 0] += 1 }

  mutating func letGo(of floor: UInt64) {
    guard let count = floors[floor] else { return }
    floors[floor] = count > 1 ? count - 1 : nil
    guard count == 1 else { return }
    guard let lowest = floors.keys.min() else {
      entries = []
      bytes = 0
      return
    }
    if floor < lowest { drop(entries.prefix { $0.number < lowest }.count) }
  }

  mutating func add(_ number: UInt64, _ changes: [CommitChange]) {
    guard !floors.isEmpty else { return }
    // Commits of a group are settled in any order.
    var place = entries.count
    while place > 0, entries[place - 1].number > number { place -= 1 }
    let added = changes.map {
      Entry(number: number, key: $0.key, after: $0.after, bytes: $0.recordBytes + $0.key.count + 100)
    }
    entries.insert(contentsOf: added, at: place)
    bytes += added.reduce(0) { $0 + $1.bytes }
    guard bytes > Self.bytesMax else { return }
    let half = entries.count / 2 + 1
    droppedThrough = max(droppedThrough, entries[half - 1].number)
    drop(half)
  }

  private mutating func drop(_ count: Int) {
    bytes -= entries.prefix(count).reduce(0) { $0 + $1.bytes }
    entries.removeFirst(count)
  }

  func reaches(backTo floor: UInt64) -> Bool { floor > droppedThrough }

  /// The last state of each document that commits changed from a number on.
  func latest(since floor: UInt64) -> [[UInt8]: StoredDocument?] {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].number < floor { low = middle + 1 } else { high = middle }
    }
    var latest: [[UInt8]: StoredDocument?] = [:]
    for entry in entries[low...] { latest[entry.key] = .some(entry.after) }
    return latest
  }
}
