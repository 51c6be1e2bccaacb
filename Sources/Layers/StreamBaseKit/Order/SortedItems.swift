// Items in order, found by key and by row, in logarithmic time.
//
// Invariants:
//   - Each key is there once; `handles` has the tree's place of each.
//   - The places that the entries noted are in order.
//   - If there is an array, it has the items of the tree.

import FirebaseCore

struct SortedItems {
  struct Entry {
    let item: BaseItem
    let place: StreamOrder.Place
  }

  let order: StreamOrder
  private var tree = RankTree<Entry>()
  private var handles: [ExactKey: RankTree<Entry>.Handle] = [:]
  /// While somebody goes through all of them.
  private var array: [BaseItem]?

  init(_ order: StreamOrder) { self.order = order }

  var count: Int { tree.count }

  // MARK: Looking

  subscript(row: Int) -> BaseItem { array?[row] ?? tree.element(tree.handle(at: row)).item }

  func item(_ key: ExactKey) -> BaseItem? { handles[key].map { tree.element($0).item } }

  func row(_ key: ExactKey) -> Int? { handles[key].map { tree.rank(of: $0) } }

  /// How many there are before the first that comes after the place.
  func rows(upTo place: StreamOrder.Place) -> Int {
    tree.partition { order.areInOrder(place, $0.place) }
  }

  /// How many there are that come before the place.
  func rows(before place: StreamOrder.Place) -> Int {
    tree.partition { !order.areInOrder($0.place, place) }
  }

  /// Makes going through all of them as fast as with an array, until the next change.
  mutating func prepareToIterate() {
    guard array == nil else { return }
    var items: [BaseItem] = []
    items.reserveCapacity(count)
    tree.forEach { items.append($0.item) }
    array = items
  }

  // MARK: Changing

  /// Items that are not there, each with its key.
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
    precondition(handles[key] == nil, "the key \(key.text) is there already")
    handles[key] = tree.insert(entry, at: row)
  }

  mutating func remove(_ key: ExactKey) {
    guard let handle = handles.removeValue(forKey: key) else { return }
    array = nil
    tree.remove(handle)
  }

  /// Lets `item` stand for the key, if it belongs where that is. If it belongs elsewhere, nothing happens, and the
  /// answer is false.
  mutating func settle(_ key: ExactKey, _ item: BaseItem) -> Bool {
    guard let handle = handles[key] else { return false }
    let entry = tree.element(handle)
    let place = order.place(of: item)
    if place == entry.place, item === entry.item { return true }
    guard place == entry.place || fits(place, tree.rank(of: handle)) else { return false }
    tree.replace(handle, with: Entry(item: item, place: place))
    if item !== entry.item { array = nil }
    return true
  }

  private func fits(_ place: StreamOrder.Place, _ row: Int) -> Bool {
    if row > 0, order.areInOrder(place, tree.element(tree.handle(at: row - 1)).place) { return false }
    guard row + 1 < count else { return true }
    return !order.areInOrder(tree.element(tree.handle(at: row + 1)).place, place)
  }

  // MARK: Invariants

  /// Traps if something is not where it was noted. Linear.
  func checkInvariants() {
    tree.checkInvariants()
    precondition(handles.count == count, "a key without an item")
    var last: Entry?
    tree.forEach { entry in
      if let last { precondition(order.areInOrder(last.place, entry.place), "items out of order") }
      last = entry
    }
  }
}
