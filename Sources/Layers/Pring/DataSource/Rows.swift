// The objects of a data source in their order, found by their ids.
//
// Each row keeps what its place follows from: the order that somebody asked for, else the key by which the query sorts,
// and then its number, which grows as rows arrive. So the row of an id is found by halving, and a new place as well.

private import FirebaseCore
import FirebaseFirestore

struct Rows<T: Document> {
  struct Row {
    var element: T
    /// Of the document that led to the element.
    var id: String
    /// Bytes that sort as the query does.
    var key: [UInt8]?
    var number: Int
  }

  private(set) var elements: [T] = []
  private var rows: [Row] = []
  private var known: [ExactKey: Row] = [:]
  private var lastNumber = 0
  let order: ElementOrder

  init(_ elements: [T] = [], _ order: ElementOrder) {
    self.order = order
    for element in elements { append(element) }
  }

  var count: Int { rows.count }

  func contains(_ id: String) -> Bool { known[ExactKey(id)] != nil }

  func element(_ id: String) -> T? { known[ExactKey(id)]?.element }

  /// Behind all others, in order or not, unless it is there.
  mutating func append(_ element: T) {
    guard known[ExactKey(element.id)] == nil else { return }
    lastNumber += 1
    let row = Row(element: element, id: element.id, key: nil, number: lastNumber)
    rows.append(row)
    elements.append(element)
    known[ExactKey(row.id)] = row
  }

  /// Nil if there is no such row.
  func index(of id: String) -> Int? {
    guard let row = known[ExactKey(id)] else { return nil }
    let index = place(of: row)
    if index < rows.count, rows[index].number == row.number { return index }
    // Elements that were changed in place, or put in by hand, are anywhere.
    return rows.firstIndex { $0.number == row.number }
  }

  /// Returns where it is.
  mutating func insert(_ element: T, _ id: String, _ key: [UInt8]?) -> Int {
    lastNumber += 1
    return insert(Row(element: element, id: id, key: key, number: lastNumber))
  }

  private mutating func insert(_ row: Row) -> Int {
    let index = place(of: row)
    rows.insert(row, at: index)
    elements.insert(row.element, at: index)
    known[ExactKey(row.id)] = row
    return index
  }

  /// Returns where it was.
  mutating func remove(_ id: String) -> Int? {
    guard let index = index(of: id) else { return nil }
    rows.remove(at: index)
    elements.remove(at: index)
    known[ExactKey(id)] = nil
    return index
  }

  /// Returns where it is now. Between equals, it stays in its turn.
  mutating func replace(_ id: String, with element: T, _ key: [UInt8]?) -> (old: Int, new: Int)? {
    guard let row = known[ExactKey(id)], let old = remove(id) else { return nil }
    return (old, insert(Row(element: element, id: id, key: key, number: row.number)))
  }

  /// The first place with nothing before it that belongs behind it.
  private func place(of row: Row) -> Int {
    var (low, high) = (0, rows.count)
    while low < high {
      let middle = (low + high) / 2
      if areInOrder(rows[middle], row) { low = middle + 1 } else { high = middle }
    }
    return low
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
