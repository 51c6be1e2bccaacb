// The objects of a data source, ordered and indexed by id.
//
// A row contains the values that determine its position. Rows are compared by the order that the app has set.
// If the app has set no order, they are compared by the query's sort key. Equal rows are in the order of
// their numbers, and each new row gets a greater number.

import FirebaseFirestore
import LayerKit

/// A type-erased row, so that the compiler specializes one list for all element types.
struct Row {
  let id: ExactKey
  let element: Any
  /// Bytes that compare in the order of the query.
  let key: [UInt8]?
  let number: Int
}

struct Rows<T: Document> {
  private(set) var elements: [T] = []
  private var rows = OrderedList<ExactKey, Row>()
  private var lastNumber = 0
  private let order: ElementOrder

  init(_ elements: [T] = [], _ order: ElementOrder) {
    self.order = order
    for element in elements { append(element) }
  }

  var count: Int { elements.count }

  /// Appends an element at the end, even out of order, unless its id is already in the list.
  mutating func append(_ element: T) {
    let id = ExactKey(element.id)
    guard !rows.contains(id) else { return }
    rows.append(Row(id: id, element: element, key: nil, number: nextNumber()), in: order)
    elements.append(element)
  }

  /// Returns the index of the row with this id; nil if there is none.
  func index(of id: String) -> Int? { rows.row(ExactKey(id)) }

  /// Inserts an element at its position in the order. Returns its index.
  mutating func insert(_ element: T, _ id: String, key: [UInt8]?) -> Int {
    insert(Row(id: ExactKey(id), element: element, key: key, number: nextNumber()), element)
  }

  /// Removes the row with this id. Returns its former index; nil if there is no such row.
  mutating func remove(_ id: String) -> Int? {
    guard let index = rows.remove(ExactKey(id), in: order)?.row else { return nil }
    elements.remove(at: index)
    return index
  }

  /// Replaces the element of the row with this id. The row keeps its number, and therefore its position among
  /// equal rows. Returns nil if there is no such row.
  mutating func replace(_ id: String, with element: T, key: [UInt8]?) -> (old: Int, new: Int)? {
    guard let number = rows.element(ExactKey(id))?.number, let old = remove(id) else { return nil }
    return (old, insert(Row(id: ExactKey(id), element: element, key: key, number: number), element))
  }

  private mutating func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  private mutating func insert(_ row: Row, _ element: T) -> Int {
    let index = rows.insert(row, in: order)
    elements.insert(element, at: index)
    return index
  }
}

extension ElementOrder: ListOrder {
  func key(of row: Row) -> ExactKey { row.id }

  /// An app's order may not be strict. A new row comes after every row that the order puts before it.
  func isBefore(_ row: Row, _ other: Row) -> Bool {
    row.number != other.number && !areInOrder(other, row)
  }

  private func areInOrder(_ left: Row, _ right: Row) -> Bool {
    if !isNone {
      if areInIncreasingOrder(left.element, right.element) { return true }
      if areInIncreasingOrder(right.element, left.element) { return false }
    } else if let left = left.key, let right = right.key, left != right {
      return left.lexicographicallyPrecedes(right)
    }
    return left.number < right.number
  }
}
