// The layout of maps and arrays in a record.
//
// All bounds are checked: parts lie within the bytes, or there is no layout.
//
//   map     := own:varint count:varint table entry{count}       own = width code; entries carry their names
//            | shaped:varint table value{slots}                 shaped = (shape + 1) << 2 | width code
//   array   := counted:varint table value{count}                counted = count << 2 | width code
//   entry   := nameBytes:varint name value
//   table   := number{count - 1}                                of 1, 2 or 4 bytes: width codes 0, 1 and 2
//
// The table of entries contains the offsets of all but the first entry, so a name is found by binary
// search. The table of values contains the lengths of all but the last value, so a slot's offset is a sum,
// computed eight numbers at a time. Inlinable across modules, like all code that iterates over a record.

@frozen @usableFromInline
struct RecordLayout {
  /// Offset of the shape in the shape bytes; 0 if the entries have names.
  @usableFromInline let shape: Int
  @usableFromInline let count: Int
  /// Bytes per number in the table.
  @usableFromInline let width: Int
  @usableFromInline let table: Int
  /// Start of the first value or entry, and end of the last one.
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

  init?(mapIn bytes: RawSpan, from start: Int, to end: Int, shapes: RawSpan) {
    self.init(mapIn: bytes, from: start, to: end, shapes: ShapeBytes(shapes))
  }

  @inlinable @inline(__always)
  init?(mapIn bytes: RawSpan, from start: Int, to end: Int, shapes: ShapeBytes) {
    guard let (head, next) = bytes.varint(at: start, before: end) else { return nil }
    if head > 3 {
      let shape = shapes.place(of: head >> 2 - 1)
      guard shape > 0 else { return nil }
      self.init(shape, shapes.count(shape), code: head & 3, table: next, end: end)
    } else {
      guard let (count, next) = bytes.varint(at: next, before: end) else { return nil }
      self.init(0, count, code: head, table: next, end: end)
    }
  }

  @inlinable @inline(__always)
  init?(arrayIn bytes: RawSpan, from start: Int, to end: Int) {
    guard let (head, next) = bytes.varint(at: start, before: end) else { return nil }
    self.init(0, head >> 2, code: head & 3, table: next, end: end)
  }

  @inlinable @inline(__always)
  init?(_ shape: Int, _ count: Int, code: Int, table: Int, end: Int) {
    guard code < 3 else { return nil }
    self.shape = shape
    self.count = count
    width = 1 << code
    self.table = table
    first = count > 1 ? table + (count - 1) << code : table
    self.end = end
    // Each value has at least one byte, its tag.
    guard first + count <= end, count > 0 || first == end else { return nil }
  }

  /// Whether the numbers in the table are as narrow as the largest number allows. In a table of offsets, the
  /// last number is the largest.
  func isNarrow(in bytes: RawSpan, hasOffsets: Bool) -> Bool {
    guard width > 1 else { return true }
    var largest = 0
    for index in (hasOffsets ? max(count - 2, 0) : 0)..<max(count - 1, 0) {
      largest = max(largest, bytes.number(at: table + index * width, width: width))
    }
    return largest > (width == 2 ? 0xFF : 0xFFFF)
  }

  // MARK: Values

  /// The end of value `index`, which begins at `start`; nil if the value extends past the end of the map or
  /// array.
  @inlinable @inline(__always)
  func end(ofValue index: Int, from start: Int, in bytes: RawSpan) -> Int? {
    guard index + 1 < count else { return start < end ? end : nil }
    // The layout has checked the table's bounds.
    let length = unsafe bytes.uncheckedNumber(at: table + index * width, width: width)
    return length > 0 && length < end - start ? start + length : nil
  }

  /// The value of a slot; nil if the table points outside of the map.
  @inlinable
  func range(ofValue index: Int, in bytes: RawSpan) -> Range<Int>? {
    let start = first + bytes.sum(of: index, numbersAt: table, width: width)
    guard start < end, let end = end(ofValue: index, from: start, in: bytes) else { return nil }
    return start..<end
  }

  /// Calls `body` with each value of an array, or of a map with a shape. Returns false if a value is invalid.
  @inlinable @inline(__always)
  func forEachValue(
    in bytes: RecordAddress, _ shapes: ShapeBytes, depth: Int,
    _ body: (_ index: Int, borrowing ValueView) -> Void
  ) -> Bool {
    var start = first
    var index = 0
    let last = count &- 1
    while index <= last {
      var end = end
      if index < last {
        // The layout has checked the table's bounds. Lengths are below 2^32, so the sum cannot overflow.
        let length =
          unsafe width == 1
          ? Int(bytes.byte(at: table &+ index)) : bytes.number(at: table &+ index &* width, width: width)
        end = start &+ length
      }
      guard start < end, end <= self.end,
        let value = unsafe ValueView(bytes, from: start, to: end, shapes: shapes, depth: depth)
      else { return false }
      body(index, value)
      start = end
      index &+= 1
    }
    return true
  }

  // MARK: Entries

  @inlinable
  func range(ofEntry index: Int, in bytes: RawSpan) -> Range<Int>? {
    let start = index == 0 ? first : first + bytes.number(at: table + (index - 1) * width, width: width)
    let end = index + 1 < count ? first + bytes.number(at: table + index * width, width: width) : end
    return start < end && end <= self.end ? start..<end : nil
  }

  /// Splits an entry into name and value.
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

  /// Finds the value of a name in a map.
  func find(_ name: RawSpan, in bytes: RawSpan, shapes: RawSpan) -> Found {
    find(name, in: bytes, shapes: ShapeBytes(shapes))
  }

  func find(_ name: RawSpan, in bytes: RawSpan, shapes: ShapeBytes) -> Found {
    if shape > 0 {
      guard let slot = shapes.slot(of: name, shape) else { return .absent }
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
