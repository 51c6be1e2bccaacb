// A list that keeps its elements in an order, finds them by key, and reports what an update changed.
//
// An order compares what its elements recorded when they were placed, because objects can change in place. If
// the order compares the objects themselves, it names the elements that have changed since they were placed.
// A search that meets such a stale element places it again.
//
// The types of the lists are public only because the compiler specializes inlinable code of other modules
// only if it is public. No product contains the module LayerKit.

/// The order of the elements of an `OrderedList`.
public protocol ListOrder<Key, Element> {
  associatedtype Key
  associatedtype Element

  func key(of element: Element) -> Key

  /// Whether `element` belongs before `other`.
  func isBefore(_ element: Element, _ other: Element) throws -> Bool

  /// Whether two elements certainly have the same position, so that one can replace the other without a
  /// comparison with their neighbours.
  func haveSamePosition(_ left: Element, _ right: Element) -> Bool

  /// Whether the element has changed since it was placed, so that it may be out of order.
  func isStale(_ element: Element) -> Bool

  /// Returns the element with a position that follows from its present content.
  func placedAgain(_ element: Element) -> Element
}

extension ListOrder {
  @inlinable public func haveSamePosition(_ left: Element, _ right: Element) -> Bool { false }
  @inlinable public func isStale(_ element: Element) -> Bool { false }
  @inlinable public func placedAgain(_ element: Element) -> Element { element }
}

/// An edit of one row. Undoing edits in reverse order gives the list before them.
public enum ListEdit<Element> {
  case inserted(Int)
  case removed(Int, Element)
  case replaced(Int, Element)

  /// Returns the list before these edits. `list` is the list after the edits, and `value` converts the
  /// elements that the edits removed to the values of `list`.
  public static func undo<Value>(
    _ edits: [ListEdit<Element>], in list: [Value], value: (Element) -> Value
  ) -> [Value] {
    var list = list
    for edit in edits.reversed() {
      switch edit {
      case .inserted(let row): list.remove(at: row)
      case .removed(let row, let element): list.insert(value(element), at: row)
      case .replaced(let row, let element): list[row] = value(element)
      }
    }
    return list
  }
}

/// The changes of one update. `row` is a row of the list before the update. To find the rows after the
/// update, look up the keys.
public struct ListChange<Key: Hashable, Element> {
  public typealias Removal = (key: Key, row: Int, element: Element)

  public var removals: [Removal] = []
  /// The replaced elements, in the order of the update. A replaced element can have moved to another row.
  public var replacements: [Removal] = []
  /// The positions in `replacements` of the elements that had to be removed and inserted again.
  public var movedReplacements: [Int] = []
  /// The keys of the inserted elements, in the order of the update.
  public var insertions: [Key] = []
  /// The keys of elements that were placed again because they were stale. An update can also have replaced
  /// or inserted these elements.
  public var placedAgain: Set<Key> = []

  @inlinable public init() {}
}

public struct OrderedList<Key: Hashable, Element> {
  @usableFromInline var rows: KeyedList<Key, Element>
  @usableFromInline var edits: [ListEdit<Element>] = []
  @usableFromInline let recordsEdits: Bool

  /// Creates an empty list. If `recordsEdits` is true, `takeEdits` returns each edit.
  @inlinable public init(recordsEdits: Bool = false) {
    rows = KeyedList()
    self.recordsEdits = recordsEdits
  }

  /// Creates a list of these elements, which are already in order.
  @inlinable public init(
    _ elements: [Element], recordsEdits: Bool = false, in order: some ListOrder<Key, Element>
  ) {
    rows = KeyedList(elements) { order.key(of: $0) }
    self.recordsEdits = recordsEdits
  }

  // MARK: Finding

  @inlinable public var count: Int { rows.count }

  @inlinable public subscript(row: Int) -> Element { rows[row] }

  @inlinable public func contains(_ key: Key) -> Bool { rows.contains(key) }

  @inlinable public func element(_ key: Key) -> Element? { rows.element(key) }

  @inlinable public func row(_ key: Key) -> Int? { rows.row(key) }

  @inlinable public func forEach(_ body: (Element) throws -> Void) rethrows { try rows.forEach(body) }

  @inlinable public func map<Result>(_ transform: (Element) throws -> Result) rethrows -> [Result] {
    try rows.map(transform)
  }

  /// Returns the number of elements before the first element that satisfies `isAfter`. All elements after
  /// the first must satisfy `isAfter`, too.
  @inlinable public func partition(by isAfter: (Element) throws -> Bool) rethrows -> Int {
    try rows.partition(by: isAfter)
  }

  /// Whether any key is listed more than once. Only `append` and `init` add a key that is already listed.
  @inlinable public var hasDuplicateKeys: Bool { rows.hasDuplicates }

  // MARK: Edits

  /// Returns the edits since the last call, and drops them.
  @inlinable public mutating func takeEdits() -> [ListEdit<Element>] {
    defer { edits = [] }
    return edits
  }

  @inlinable mutating func record(_ edit: @autoclosure () -> ListEdit<Element>) {
    if recordsEdits { edits.append(edit()) }
  }

  // MARK: One element

  /// Appends an element, in order or not. This edit is not recorded.
  @inlinable public mutating func append(_ element: Element, in order: some ListOrder<Key, Element>) {
    rows.insert(element, for: order.key(of: element), atRow: count)
  }

  /// Inserts an element before the first element that belongs after it, and returns its row.
  @discardableResult
  @inlinable public mutating func insert(_ element: Element, in order: some ListOrder<Key, Element>) -> Int {
    var placedAgain: Set<Key> = []
    return insert(element, in: order, placedAgain: &placedAgain)
  }

  /// Inserts an element. Adds the keys of the stale elements that were placed again to `placedAgain`.
  @discardableResult
  @inlinable mutating func insert(
    _ element: Element, in order: some ListOrder<Key, Element>, placedAgain: inout Set<Key>
  ) -> Int {
    while true {
      let (row, stale) = search(element, in: order)
      // Each element is placed again only once. Otherwise an element that does not equal itself would be
      // stale forever.
      let new = stale.isEmpty ? [] : stale.filter { !placedAgain.contains($0) }
      if new.isEmpty {
        rows.insert(element, for: order.key(of: element), atRow: row)
        record(.inserted(row))
        return row
      }
      placedAgain.formUnion(new)
      for key in new {
        guard let removed = remove(key, in: order) else { continue }
        insert(order.placedAgain(removed.element), in: order, placedAgain: &placedAgain)
      }
    }
  }

  /// Returns the row in which the element belongs, and the stale elements that the search met. If the order
  /// throws, the element belongs at the end, and no element counts as stale.
  @inlinable func search(
    _ element: Element, in order: some ListOrder<Key, Element>
  ) -> (row: Int, stale: [Key]) {
    var stale: [Key] = []
    let row = try? rows.partition { other in
      if order.isStale(other) { stale.append(order.key(of: other)) }
      return try order.isBefore(element, other)
    }
    return (row ?? count, row == nil ? [] : stale)
  }

  /// Removes the element with a key. Returns the element and its former row. If the key is listed more than
  /// once, removes all its elements and returns the last one.
  @discardableResult
  @inlinable public mutating func remove(
    _ key: Key, in order: some ListOrder<Key, Element>
  ) -> (row: Int, element: Element)? {
    for duplicate in duplicates(of: key, in: order) {
      let removed = rows.remove(duplicate)
      record(.removed(removed.row, removed.element))
    }
    guard let removed = rows.remove(key) else { return nil }
    record(.removed(removed.row, removed.element))
    return removed
  }

  /// Returns the handles of all elements with this key except the last one, which lookups find. Scans the
  /// list only if it has duplicate keys.
  @inlinable func duplicates(
    of key: Key, in order: some ListOrder<Key, Element>
  ) -> [KeyedList<Key, Element>.Handle] {
    guard hasDuplicateKeys, let last = rows.handle(key) else { return [] }
    return (0..<count).map { rows.handle(atRow: $0) }
      .filter { $0 != last && order.key(of: rows.element($0)) == key }
  }

  /// Replaces the element with the same key if the new element belongs in the same row. Otherwise changes
  /// nothing and returns false.
  @inlinable public mutating func replaceInPlace(
    _ element: Element, in order: some ListOrder<Key, Element>
  ) -> Bool {
    let key = order.key(of: element)
    guard !hasDuplicateKeys, let row = rows.row(key) else { return false }
    let old = rows[row]
    guard order.haveSamePosition(old, element) || fits(element, inRow: row, in: order) else { return false }
    rows.replace(key, with: element)
    record(.replaced(row, old))
    return true
  }

  /// Whether an element belongs between the neighbours of a row. If the order throws, the element fits.
  @inlinable func fits(_ element: Element, inRow row: Int, in order: some ListOrder<Key, Element>) -> Bool {
    (try? rows.fits(element, atRow: row) { try order.isBefore($0, $1) }) ?? true
  }

  // MARK: Several elements

  /// Removes the elements with these keys, replaces those elements of `elements` whose keys are listed, and
  /// inserts the others. All keys differ. Takes logarithmic time for each key.
  @discardableResult
  @inlinable public mutating func update(
    removing keys: [Key], setting elements: [Element], in order: some ListOrder<Key, Element>
  ) -> ListChange<Key, Element> {
    var change = ListChange<Key, Element>()
    var replacing: [Element] = []
    var inserting: [Element] = []
    // Rows before the update can be looked up only before the first edit.
    for key in keys {
      guard let row = row(key) else { continue }
      change.removals.append((key, row, self[row]))
    }
    for element in elements {
      let key = order.key(of: element)
      if let row = row(key) {
        change.replacements.append((key, row, self[row]))
        replacing.append(element)
      } else {
        change.insertions.append(key)
        inserting.append(element)
      }
    }
    for removal in change.removals { remove(removal.key, in: order) }
    for (index, element) in replacing.enumerated() where !replaceInPlace(element, in: order) {
      change.movedReplacements.append(index)
      remove(change.replacements[index].key, in: order)
      insert(element, in: order, placedAgain: &change.placedAgain)
    }
    if count == 0 {
      fill(inserting, in: order)
    } else {
      for element in inserting { insert(element, in: order, placedAgain: &change.placedAgain) }
    }
    return change
  }

  /// Fills the empty list by sorting the elements, which is faster than inserting them one by one. The result
  /// differs only if the order is not strict or throws for some elements.
  @inlinable mutating func fill(_ elements: [Element], in order: some ListOrder<Key, Element>) {
    let sorted = Self.sortedIndices(elements, in: order).map { elements[$0] }
    rows = KeyedList(sorted) { order.key(of: $0) }
    for row in sorted.indices { record(.inserted(row)) }
  }

  /// Sorts the list with positions that follow from the present content of the elements.
  @inlinable public mutating func sort(in order: some ListOrder<Key, Element>) -> [Key] {
    replaceAll(sorting: map { order.placedAgain($0) }, in: order)
  }

  /// Replaces the content of the list by sorting these elements. Moves as few elements as possible, and
  /// returns the keys of those that moved. If the order throws, none moves. Drops the recorded edits, because
  /// sorting is not an edit.
  @inlinable public mutating func replaceAll(
    sorting elements: [Element], in order: some ListOrder<Key, Element>
  ) -> [Key] {
    let sorted = Self.sortedIndices(elements, in: order)
    rows = KeyedList(sorted.map { elements[$0] }) { order.key(of: $0) }
    edits = []
    let unmoved = Set(LongestRise.places(in: sorted))
    return sorted.indices.filter { !unmoved.contains($0) }.map { order.key(of: elements[sorted[$0]]) }
  }

  /// Returns the indices of the elements in order. If the order throws, they keep their present order.
  @inlinable public static func sortedIndices(
    _ elements: [Element], in order: some ListOrder<Key, Element>
  ) -> [Int] {
    let indices = Array(elements.indices)
    return (try? indices.sorted { try order.isBefore(elements[$0], elements[$1]) }) ?? indices
  }

  // MARK: Invariants

  /// Traps if the list is damaged or out of order. Takes linear time.
  public func checkInvariants(in order: some ListOrder<Key, Element>) {
    rows.checkInvariants { (try? order.isBefore($1, $0)) != true }
  }
}
