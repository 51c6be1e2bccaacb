// What was read last, in the order of reading, until somebody asks the cache.
//
// Invariants:
//   - `count` is the number of documents in `readings[start...]`; what is before `start` is gone.
//   - Without its oldest reading, the journal would have less than `countMax` documents.
//
// What a query found is one reading: to note it takes one step, however many documents it is.

import FirebaseFirestore

/// Documents that were read together; a query's may be none.
enum Readings {
  case one(DocumentSnapshot)
  case many([QueryDocumentSnapshot])

  var count: Int {
    switch self {
    case .one: 1
    case .many(let snapshots): snapshots.count
    }
  }
}

struct ReadJournal {
  private let countMax: Int
  private var readings: [Readings] = []
  private var start = 0
  private(set) var count = 0
  /// What is there and what is gone.
  var slots: Int { readings.count }

  init(countMax: Int) { self.countMax = countMax }

  mutating func add(_ new: Readings) {
    guard new.count > 0 else { return }
    readings.append(new)
    count += new.count
    while count - readings[start].count >= countMax { removeOldest() }
    guard start > readings.count / 2 else { return }
    readings.removeFirst(start)
    start = 0
  }

  private mutating func removeOldest() {
    count -= readings[start].count
    readings[start] = .many([])
    start += 1
  }

  /// All, the oldest first; the journal is empty afterwards.
  mutating func take() -> ArraySlice<Readings> {
    defer { self = ReadJournal(countMax: countMax) }
    return readings[start...]
  }
}
