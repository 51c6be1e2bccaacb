// Items in sorted order. Lookup by key and by row takes logarithmic time.
//
// Invariants:
//   - The entries are sorted by their stored positions.
//   - The array, if it exists, contains the item of each row.

import LayerKit

struct SortedItems {
  struct Entry {
    let item: BaseItem
    let place: StreamOrder.Place
  }

  let order: StreamOrder
  private var rows = KeyedList<ExactKey, Entry>()
  /// A copy of all items in an array, for fast iteration. A change discards it.
  private var array: [BaseItem]?

  init(_ order: StreamOrder) { self.order = order }

  var count: Int { rows.count }

  // MARK: Lookup

  subscript(row: Int) -> BaseItem { array?[row] ?? rows[row].item }

  func item(_ key: ExactKey) -> BaseItem? { rows.element(key)?.item }

  func row(_ key: ExactKey) -> Int? { rows.row(key) }

  /// Returns the number of items at or before a position.
  func rows(upTo place: StreamOrder.Place) -> Int {
    rows.partition { order.areInOrder(place, $0.place) }
  }

  /// Returns the number of items before a position.
  func rows(before place: StreamOrder.Place) -> Int {
    rows.partition { !order.areInOrder($0.place, place) }
  }

  /// Copies the items into an array, so that iteration is as fast as over an array, until the next change.
  mutating func prepareToIterate() {
    if array == nil { array = rows.map(\.item) }
  }

  // MARK: Changes

  /// Inserts items. Traps if a key already exists.
  mutating func insert(_ items: [(key: ExactKey, item: BaseItem)]) {
    guard !items.isEmpty else { return }
    array = nil
    var entries = items.map { (key: $0.key, entry: Entry(item: $0.item, place: order.place(of: $0.item))) }
    guard count == 0 else {
      for (key, entry) in entries { insert(entry, key, at: rows(upTo: entry.place)) }
      return
    }
    entries.sort { order.areInOrder($0.entry.place, $1.entry.place) }
    for (key, entry) in entries { insert(entry, key, at: count) }
  }

  private mutating func insert(_ entry: Entry, _ key: ExactKey, at row: Int) {
    precondition(!rows.contains(key), "the key \(key.text) exists already")
    rows.insert(entry, for: key, atRow: row)
  }

  mutating func remove(_ key: ExactKey) {
    if rows.remove(key) != nil { array = nil }
  }

  /// Replaces the item of a key by `item` if `item` belongs in the same row. Otherwise changes nothing and
  /// returns false.
  mutating func updateInPlace(_ key: ExactKey, _ item: BaseItem) -> Bool {
    guard let old = rows.element(key), let row = rows.row(key) else { return false }
    let entry = Entry(item: item, place: order.place(of: item))
    if entry.place == old.place, item === old.item { return true }
    guard entry.place == old.place || rows.fits(entry, atRow: row, areInOrder: areInOrder) else {
      return false
    }
    rows.replace(key, with: entry)
    if item !== old.item { array = nil }
    return true
  }

  private func areInOrder(_ left: Entry, _ right: Entry) -> Bool { order.areInOrder(left.place, right.place) }

  /// Traps if an item is not in the row that its stored position requires. Takes linear time.
  func checkInvariants() { rows.checkInvariants(areInOrder: areInOrder) }
}
