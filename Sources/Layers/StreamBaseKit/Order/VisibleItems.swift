// The sorted items up to a limit, and the rows that change when the items or the limit change.

import LayerKit

/// The changes of one update: the deleted rows, numbered before the update, and the added rows, numbered
/// after the update.
struct ListStep {
  /// `deleted` and `added` are in ascending order.
  var deleted: [Int] = []
  var added: [Int] = []
  /// The keys of all rows that were deleted, added or moved.
  var touched: [ExactKey] = []
  /// Keys of the update whose items were already listed and have not moved.
  var stayed: [ExactKey] = []
}

struct VisibleItems {
  private var items: SortedItems
  private(set) var limit: Int?

  init(_ order: StreamOrder) { items = SortedItems(order) }

  var order: StreamOrder { items.order }

  var count: Int { min(limit ?? .max, items.count) }

  // MARK: Lookup

  subscript(row: Int) -> BaseItem {
    precondition((0..<count).contains(row), "There is no row \(row) of \(count).")
    return items[row]
  }

  func row(_ key: ExactKey) -> Int? { items.row(key).flatMap { $0 < count ? $0 : nil } }

  func item(_ key: ExactKey) -> BaseItem? { row(key) == nil ? nil : items.item(key) }

  /// Whether this object is the listed item of the key.
  func item(of key: ExactKey, is item: BaseItem) -> Bool { items.item(key) === item }

  /// Whether the key is listed. Keys beyond the limit are listed, too.
  func isListed(_ key: ExactKey) -> Bool { items.item(key) != nil }

  func firstRow(after item: BaseItem) -> Int? {
    let row = items.rows(upTo: order.place(of: item))
    return row < count ? row : nil
  }

  func lastRow(before item: BaseItem) -> Int? {
    let row = min(items.rows(before: order.place(of: item)), count) - 1
    return row < 0 ? nil : row
  }

  mutating func prepareToIterate() { items.prepareToIterate() }

  /// Whether a listed item still belongs in its row. If so, its stored position is updated.
  mutating func staysInPlace(_ key: ExactKey) -> Bool {
    guard let item = items.item(key) else { return false }
    return items.updateInPlace(key, item)
  }

  /// The number of listed items, including those beyond the limit.
  var listedCount: Int { items.count }

  func checkInvariants() { items.checkInvariants() }

  // MARK: Changes

  /// Sets the items of these distinct keys, removes the keys whose item is nil, and sets the limit. The work
  /// is proportional to the number of keys, plus the number of rows that cross a changed limit.
  mutating func update(_ wanted: [(key: ExactKey, item: BaseItem?)], limit: Int?) -> ListStep {
    var step = ListStep()
    var removed: [ExactKey] = []
    var inserted: [(key: ExactKey, item: BaseItem)] = []
    for (key, item) in wanted {
      switch (items.item(key), item) {
      case (nil, nil): continue
      case (nil, let wanted?): inserted.append((key, wanted))
      case (_?, nil): removed.append(key)
      case (_?, let wanted?):
        if items.updateInPlace(key, wanted) {
          step.stayed.append(key)
        } else {
          removed.append(key)
          inserted.append((key, wanted))
        }
      }
    }
    move(removed, inserted, limit: limit, step: &step)
    return step
  }

  private mutating func move(
    _ removed: [ExactKey], _ inserted: [(key: ExactKey, item: BaseItem)], limit: Int?,
    step: inout ListStep
  ) {
    let countBefore = count
    step.deleted = removed.compactMap(row).sorted()
    for key in removed { items.remove(key) }
    items.insert(inserted)
    self.limit = limit
    step.added = inserted.compactMap { row($0.key) }.sorted()
    step.touched = removed + inserted.map(\.key)
    addRowsCrossingLimit(countBefore, Set(inserted.map(\.key)), step: &step)
  }

  /// Adds to `step` the rows that cross the limit although their items did not change.
  private func addRowsCrossingLimit(_ countBefore: Int, _ inserted: Set<ExactKey>, step: inout ListStep) {
    let stayed = countBefore - step.deleted.count
    let kept = count - step.added.count
    if kept < stayed {
      let pushedOut = Self.last(stayed - kept, of: countBefore, without: step.deleted)
      step.deleted = Self.merged(step.deleted, pushedOut)
      var (row, rest) = (count, stayed - kept)
      while rest > 0 {
        let key = ExactKey(items[row].key ?? "")
        row += 1
        guard !inserted.contains(key) else { continue }
        step.touched.append(key)
        rest -= 1
      }
    } else if kept > stayed {
      let pulledIn = Self.last(kept - stayed, of: count, without: step.added)
      step.touched += pulledIn.map { ExactKey(items[$0].key ?? "") }
      step.added = Self.merged(step.added, pulledIn)
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

  private static func merged(_ left: [Int], _ right: [Int]) -> [Int] { (left + right).sorted() }
}
