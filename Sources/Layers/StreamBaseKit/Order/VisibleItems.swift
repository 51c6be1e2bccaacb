// The sorted items up to a limit, and the rows that change when the items or the limit change.

import LayerKit

/// The changes of one update: the deleted rows, numbered before the update, and the added rows, numbered
/// after the update.
struct RowChanges {
  /// `deleted` and `added` are in ascending order.
  var deleted: [Int] = []
  var added: [Int] = []
  /// The keys of all rows that were deleted, added or moved.
  var touched: [ExactKey] = []
  /// Keys of the update whose items were already listed and have not moved.
  var stayed: [ExactKey] = []
}

/// An item with the key under which it is listed, and with its position when it was placed.
struct PlacedItem {
  let key: ExactKey
  let item: BaseItem
  let place: StreamOrder.Place
}

extension StreamOrder: ListOrder {
  func key(of placed: PlacedItem) -> ExactKey { placed.key }

  func isBefore(_ placed: PlacedItem, _ other: PlacedItem) -> Bool {
    areInOrder(placed.place, other.place)
  }

  func haveSamePosition(_ left: PlacedItem, _ right: PlacedItem) -> Bool {
    left.place == right.place
  }
}

struct VisibleItems {
  let order: StreamOrder
  private var items = OrderedList<ExactKey, PlacedItem>()
  /// A copy of all items in an array, for fast iteration. A change discards it.
  private var array: [BaseItem]?
  private(set) var limit: Int?

  init(_ order: StreamOrder) { self.order = order }

  var count: Int { min(limit ?? .max, items.count) }

  // MARK: Lookup

  subscript(row: Int) -> BaseItem {
    precondition((0..<count).contains(row), "There is no row \(row) of \(count).")
    return array?[row] ?? items[row].item
  }

  func row(_ key: ExactKey) -> Int? { items.row(key).flatMap { $0 < count ? $0 : nil } }

  func item(_ key: ExactKey) -> BaseItem? { row(key) == nil ? nil : items.element(key)?.item }

  /// Whether this object is the listed item of the key.
  func item(of key: ExactKey, is item: BaseItem) -> Bool { items.element(key)?.item === item }

  /// Whether the key is listed. Keys beyond the limit are listed, too.
  func isListed(_ key: ExactKey) -> Bool { items.contains(key) }

  func firstRow(after item: BaseItem) -> Int? {
    let place = order.place(of: item)
    let row = items.partition { order.areInOrder(place, $0.place) }
    return row < count ? row : nil
  }

  func lastRow(before item: BaseItem) -> Int? {
    let place = order.place(of: item)
    let row = min(items.partition { !order.areInOrder($0.place, place) }, count) - 1
    return row < 0 ? nil : row
  }

  /// Copies the items into an array, so that iteration is as fast as over an array, until the next change.
  mutating func prepareToIterate() {
    if array == nil { array = items.map(\.item) }
  }

  /// Whether a listed item still belongs in its row. If so, its stored position is updated.
  mutating func staysInPlace(_ key: ExactKey) -> Bool {
    guard let item = items.element(key)?.item else { return false }
    return replaceInPlace(placed(item, key))
  }

  /// The number of listed items, including those beyond the limit.
  var listedCount: Int { items.count }

  /// Traps if an item is not in the row that its stored position requires. Takes linear time.
  func checkInvariants() { items.checkInvariants(in: order) }

  // MARK: Changes

  /// Sets the items of these distinct keys, removes the keys whose item is nil, and sets the limit. The work
  /// is proportional to the number of keys, plus the number of rows that cross a changed limit.
  mutating func update(_ wanted: [(key: ExactKey, item: BaseItem?)], limit: Int?) -> RowChanges {
    let countBefore = count
    var removing: [ExactKey] = []
    var setting: [PlacedItem] = []
    var stayed: [ExactKey] = []
    for (key, item) in wanted {
      guard let item else {
        removing.append(key)
        continue
      }
      let placed = placed(item, key)
      // Decided before any item moves: a moved item could come between this item and its neighbours.
      if replaceInPlace(placed) { stayed.append(key) } else { setting.append(placed) }
    }
    let change = items.update(removing: removing, setting: setting, in: order)
    self.limit = limit
    if !keepsItems(change) { array = nil }
    return rows(of: change, stayed: stayed, countBefore: countBefore)
  }

  /// Replaces the listed item of a key if the new item belongs in the same row. Otherwise changes nothing and
  /// returns false.
  private mutating func replaceInPlace(_ placed: PlacedItem) -> Bool {
    let isSameItem = item(of: placed.key, is: placed.item)
    guard items.replaceInPlace(placed, in: order) else { return false }
    if !isSameItem { array = nil }
    return true
  }

  private func placed(_ item: BaseItem, _ key: ExactKey) -> PlacedItem {
    PlacedItem(key: key, item: item, place: order.place(of: item))
  }

  /// Whether each row has the same item as before the change.
  private func keepsItems(_ change: ListChange<ExactKey, PlacedItem>) -> Bool {
    change.removals.isEmpty && change.insertions.isEmpty && change.movedReplacements.isEmpty
      && change.replacements.allSatisfy { item(of: $0.key, is: $0.element.item) }
  }

  private func rows(
    of change: ListChange<ExactKey, PlacedItem>, stayed: [ExactKey], countBefore: Int
  ) -> RowChanges {
    let moved = change.movedReplacements.map { change.replacements[$0] }
    let removed = change.removals + moved
    let inserted = change.insertions + moved.map(\.key)
    let movedKeys = Set(moved.map(\.key))
    var rows = RowChanges()
    rows.deleted = removed.map(\.row).filter { $0 < countBefore }.sorted()
    rows.added = inserted.compactMap(row).sorted()
    rows.touched = removed.map(\.key) + inserted
    rows.stayed = stayed + change.replacements.map(\.key).filter { !movedKeys.contains($0) }
    addRowsCrossingLimit(countBefore, Set(inserted), rows: &rows)
    return rows
  }

  /// Adds to `rows` the rows that cross the limit although their items did not change.
  private func addRowsCrossingLimit(_ countBefore: Int, _ inserted: Set<ExactKey>, rows: inout RowChanges) {
    let stayed = countBefore - rows.deleted.count
    let kept = count - rows.added.count
    if kept < stayed {
      let pushedOut = Self.last(stayed - kept, of: countBefore, without: rows.deleted)
      rows.deleted = (rows.deleted + pushedOut).sorted()
      var (row, rest) = (count, stayed - kept)
      while rest > 0 {
        let key = items[row].key
        row += 1
        guard !inserted.contains(key) else { continue }
        rows.touched.append(key)
        rest -= 1
      }
    } else if kept > stayed {
      let pulledIn = Self.last(kept - stayed, of: count, without: rows.added)
      rows.touched += pulledIn.map { items[$0].key }
      rows.added = (rows.added + pulledIn).sorted()
    }
  }

  /// Returns the last `number` of the rows below `count` that are not in `others`, in ascending order.
  private static func last(_ number: Int, of count: Int, without others: [Int]) -> [Int] {
    var (rows, others, row) = ([Int](), others[...], count - 1)
    while rows.count < number {
      if others.last == row { others.removeLast() } else { rows.append(row) }
      row -= 1
    }
    return rows.reversed()
  }
}
