// The objects of a data source, ordered and indexed by id.
//
// A row contains the values that determine its position. Rows are compared by the order that the app has set.
// If the app has set no order, they are compared by the query's sort key. Equal rows are in the order of
// their numbers, and each new row gets a greater number.

import FirebaseFirestore
import LayerKit

/// A type-erased row, so that the compiler specializes one tree for all element types.
private struct Row {
  let element: Any
  /// Bytes that compare in the order of the query.
  let key: [UInt8]?
  let number: Int
}

struct Rows<T: Document> {
  private(set) var elements: [T] = []
  private var rows = KeyedList<ExactKey, Row>()
  private var lastNumber = 0
  private let order: ElementOrder

  init(_ elements: [T] = [], _ order: ElementOrder) {
    self.order = order
    for element in elements { append(element) }
  }

  var count: Int { elements.count }

  /// Appends an element at the end, even out of order, unless its id is already in the list.
  mutating func append(_ element: T) {
    guard !rows.contains(ExactKey(element.id)) else { return }
    insert(Row(element: element, key: nil, number: nextNumber()), element, id: element.id, at: count)
  }

  /// Returns the index of the row with this id; nil if there is none.
  func index(of id: String) -> Int? { rows.row(ExactKey(id)) }

  /// Inserts an element at its position in the order. Returns its index.
  mutating func insert(_ element: T, _ id: String, key: [UInt8]?) -> Int {
    insert(Row(element: element, key: key, number: nextNumber()), element, id: id)
  }

  /// Removes the row with this id. Returns its former index; nil if there is no such row.
  mutating func remove(_ id: String) -> Int? {
    guard let index = rows.remove(ExactKey(id))?.row else { return nil }
    elements.remove(at: index)
    return index
  }

  /// Replaces the element of the row with this id. The row keeps its number, and therefore its position among
  /// equal rows. Returns nil if there is no such row.
  mutating func replace(_ id: String, with element: T, key: [UInt8]?) -> (old: Int, new: Int)? {
    guard let number = rows.element(ExactKey(id))?.number, let old = remove(id) else { return nil }
    return (old, insert(Row(element: element, key: key, number: number), element, id: id))
  }

  private mutating func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  private mutating func insert(_ row: Row, _ element: T, id: String) -> Int {
    let index = rows.partition { !areInOrder($0, row) }
    insert(row, element, id: id, at: index)
    return index
  }

  private mutating func insert(_ row: Row, _ element: T, id: String, at index: Int) {
    rows.insert(row, for: ExactKey(id), atRow: index)
    elements.insert(element, at: index)
  }

  private func areInOrder(_ left: Row, _ right: Row) -> Bool {
    if !order.isNone {
      if order.areInIncreasingOrder(left.element, right.element) { return true }
      if order.areInIncreasingOrder(right.element, left.element) { return false }
    } else if let left = left.key, let right = right.key, left != right {
      return left.lexicographicallyPrecedes(right)
    }
    return left.number < right.number
  }
}
