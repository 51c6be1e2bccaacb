// Where the parts of a map and of an array lie in a record. Nothing is taken on trust: what is found lies
// within the bytes, or there is no layout.
//
//   map     := own:varint count:varint table entry{count}       own = width code; entries carry their names
//            | shaped:varint table value{slots}                 shaped = (shape + 1) << 2 | width code
//   array   := counted:varint table value{count}                counted = count << 2 | width code
//   entry   := nameBytes:varint name value
//   table   := number{count - 1}                                of 1, 2 or 4 bytes: width codes 0, 1 and 2
//
// The table of entries has where each but the first begins, counted from the first: one is found by bisection.
// A table of values has how long each but the last is: where a slot begins is a sum, eight numbers at a time.
//
// Inlined into callers in other modules, as is all that walks over a record.

@frozen @usableFromInline
struct RecordLayout {
  /// Of the shape, in the bytes of all shapes; 0 if entries carry their names.
  @usableFromInline let shape: Int
  @usableFromInline let count: Int
  /// Bytes of a number in the table.
  @usableFromInline let width: Int
  @usableFromInline let table: Int
  /// Where the first value or entry begins, and the last one ends.
  @usableFromInline let first: Int
  @usableFromInline let end: Int

  /// The layout of a map without fields.
  @inlinable
  init() {
    shape = 0
    count = 0
    width = 1
    table = 0
    first = 0
    end = 0
  }

  @inlinable
  init?(mapIn bytes: RawSpan, from start: Int, to end: Int, shapes: RawSpan) {
    guard let (head, next) = bytes.varint(at: start, before: end) else { return nil }
    if head > 3 {
      let shape = ShapeBytes.place(of: head >> 2 - 1, in: shapes)
      guard shape > 0 else { return nil }
      self.init(shape, ShapeBytes.count(shape, in: shapes), code: head & 3, table: next, end: end)
    } else {
      guard let (count, next) = bytes.varint(at: next, before: end) else { return nil }
      self.init(0, count, code: head, table: next, end: end)
    }
  }

  @inlinable
  init?(arrayIn bytes: RawSpan, from start: Int, to end: Int) {
    guard let (head, next) = bytes.varint(at: start, before: end) else { return nil }
    self.init(0, head >> 2, code: head & 3, table: next, end: end)
  }

  @inlinable
  init?(_ shape: Int, _ count: Int, code: Int, table: Int, end: Int) {
    guard code < 3 else { return nil }
    self.shape = shape
    self.count = count
    width = 1 << code
    self.table = table
    first = count > 1 ? table + (count - 1) << code : table
    self.end = end
    // Each has a byte at least, its tag.
    guard first + count <= end, count > 0 || first == end else { return nil }
  }

  // MARK: Values

  /// Where value `index` ends, which begins at `start`; nil if not within.
  @inlinable @inline(__always)
  func end(ofValue index: Int, from start: Int, in bytes: RawSpan) -> Int? {
    guard index + 1 < count else { return start < end ? end : nil }
    // A layout has compared its table with the bytes.
    let length = unsafe bytes.uncheckedNumber(at: table + index * width, width: width)
    return length > 0 && length < end - start ? start + length : nil
  }

  /// The value of a slot; nil if the table leads out of the map.
  @inlinable
  func range(ofValue index: Int, in bytes: RawSpan) -> Range<Int>? {
    let start = first + bytes.sum(of: index, numbersAt: table, width: width)
    guard start < end, let end = end(ofValue: index, from: start, in: bytes) else { return nil }
    return start..<end
  }

  // MARK: Entries

  @inlinable
  func range(ofEntry index: Int, in bytes: RawSpan) -> Range<Int>? {
    let start = index == 0 ? first : first + bytes.number(at: table + (index - 1) * width, width: width)
    let end = index + 1 < count ? first + bytes.number(at: table + index * width, width: width) : end
    return start < end && end <= self.end ? start..<end : nil
  }

  /// The name of an entry, and the value behind it.
  @inlinable
  static func parts(ofEntry entry: Range<Int>, in bytes: RawSpan) -> (name: Range<Int>, value: Range<Int>)? {
    guard let (size, start) = bytes.varint(at: entry.lowerBound, before: entry.upperBound),
      size < entry.upperBound - start
    else { return nil }
    return (start..<start + size, start + size..<entry.upperBound)
  }

  // MARK: Names

  @frozen @usableFromInline
  enum Found {
    case value(Range<Int>)
    case absent
    case damaged
  }

  /// The value of a name in a map.
  func find(_ name: RawSpan, in bytes: RawSpan, shapes: RawSpan) -> Found {
    if shape > 0 {
      guard let slot = ShapeBytes.slot(of: name, shape, in: shapes) else { return .absent }
      return range(ofValue: slot, in: bytes).map(Found.value) ?? .damaged
    }
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      guard let entry = range(ofEntry: middle, in: bytes), let parts = Self.parts(ofEntry: entry, in: bytes)
      else { return .damaged }
      let order = bytes.extracting(parts.name).compare(with: name)
      if order == 0 { return .value(parts.value) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return .absent
  }
}

// MARK: -

/// All shapes as bytes, so that a view of a document can borrow them. They are ours, and as they should be.
///
///     bytes := count:u32 place:u32{count} shape*          by id; a place of 0 is no shape
///     shape := count:u32 end:u32{count} name*             names in the order of their bytes, ends from the first
@usableFromInline
enum ShapeBytes {
  /// 0 if there is no such shape.
  @inlinable @inline(__always)
  static func place(of id: Int, in shapes: RawSpan) -> Int {
    guard shapes.byteCount >= 4, id < shapes.number(at: 0, width: 4) else { return 0 }
    return shapes.number(at: 4 + 4 * id, width: 4)
  }

  @inlinable @inline(__always)
  static func count(_ shape: Int, in shapes: RawSpan) -> Int { shapes.number(at: shape, width: 4) }

  @inlinable @inline(__always)
  static func name(_ slot: Int, _ shape: Int, in shapes: RawSpan) -> Range<Int> {
    let names = shape + 4 + 4 * count(shape, in: shapes)
    let start = slot == 0 ? 0 : shapes.number(at: shape + 4 * slot, width: 4)
    return names + start..<names + shapes.number(at: shape + 4 + 4 * slot, width: 4)
  }

  /// The place of a name. The caller vouches for the shape, its count and the slot.
  @unsafe @inlinable @inline(__always)
  static func uncheckedName(_ slot: Int, _ shape: Int, _ count: Int, in shapes: RawSpan) -> Range<Int> {
    let ends = shape &+ 4
    let names = ends &+ 4 &* count
    let start = unsafe slot == 0 ? 0 : shapes.uncheckedNumber(at: ends &+ 4 &* (slot &- 1), width: 4)
    let end = unsafe shapes.uncheckedNumber(at: ends &+ 4 &* slot, width: 4)
    return unsafe Range(uncheckedBounds: (names &+ start, names &+ end))
  }

  static func slot(of name: RawSpan, _ shape: Int, in shapes: RawSpan) -> Int? {
    var low = 0
    var high = count(shape, in: shapes)
    while low < high {
      let middle = (low + high) / 2
      let order = shapes.extracting(Self.name(middle, shape, in: shapes)).compare(with: name)
      if order == 0 { return middle }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return nil
  }
}
