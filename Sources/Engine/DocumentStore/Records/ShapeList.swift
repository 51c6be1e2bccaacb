// The shapes of a database by id, in pages.
//
// A new shape makes a new table of all shapes, because readers keep theirs. One array would be copied, with a
// retain of every shape. Of this list, only one page and the references to the others are copied.

struct ShapeList: Sendable {
  private static let pageBits = 6
  private static let pageCount = 1 << pageBits

  /// All pages but the last are full.
  private var pages: [[Shape?]] = []
  private(set) var count = 0

  /// Adds a shape under its id. The ids in front of it that are not used have no shape.
  mutating func add(_ shape: Shape) {
    while count < shape.id { append(nil) }
    if shape.id < count {
      pages[shape.id >> Self.pageBits][shape.id & (Self.pageCount - 1)] = shape
    } else {
      append(shape)
    }
  }

  private mutating func append(_ shape: Shape?) {
    if count & (Self.pageCount - 1) == 0 { pages.append([]) }
    pages[count >> Self.pageBits].append(shape)
    count += 1
  }
}

extension ShapeList: RandomAccessCollection {
  var startIndex: Int { 0 }
  var endIndex: Int { count }

  @inline(__always)
  subscript(id: Int) -> Shape? { pages[id >> Self.pageBits][id & (Self.pageCount - 1)] }
}
