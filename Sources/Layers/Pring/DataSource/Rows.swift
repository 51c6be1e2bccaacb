// The objects of a data source in order, found by their ids.
//
// A row keeps the values that determine its place: the order that the user asked for, else the key by which
// the query sorts, and then its number, which grows as rows arrive.

import FirebaseFirestore
import LayerKit

/// A row of a data source of any type, so that the compiler creates one tree for all of them.
private struct Row {
  let element: Any
  /// Bytes that sort as the query does.
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

  /// Appends an element, in order or not, unless its id is there.
  mutating func append(_ element: T) {
    guard !rows.contains(ExactKey(element.id)) else { return }
    insert(Row(element: element, key: nil, number: nextNumber()), element, id: element.id, at: count)
  }

  /// Nil if there is no row of the id.
  func index(of id: String) -> Int? { rows.row(ExactKey(id)) }

  /// Inserts an element in order. Returns its index.
  mutating func insert(_ element: T, _ id: String, key: [UInt8]?) -> Int {
    insert(Row(element: element, key: key, number: nextNumber()), element, id: id)
  }

  /// Returns the index where the element was.
  mutating func remove(_ id: String) -> Int? {
    guard let index = rows.remove(ExactKey(id))?.row else { return nil }
    elements.remove(at: index)
    return index
  }

  /// Replaces the element of an id. The row keeps its number, and so its turn among equals.
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
