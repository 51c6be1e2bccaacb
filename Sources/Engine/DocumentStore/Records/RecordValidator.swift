// Decides whether bytes are a valid map, without creating values or errors.
//
//   isMap  ⇔  RecordDecoder.map does not throw
//
// Reads are not bounds-checked. Instead, each value's end is compared with the end of its map or array
// before the value is read, and the outermost map ends within the record.

import ByteStore

struct RecordValidator: ~Escapable {
  private let record: RawSpan
  /// The shapes, encoded as `ShapeBytes`.
  private let shapes: ShapeBytes

  @_lifetime(copy record, copy shapes)
  init(_ record: RawSpan, shapes: RawSpan) {
    self.record = record
    self.shapes = ShapeBytes(shapes)
  }

  /// Whether the bytes are a valid map. The range must lie within the record.
  func isMap(from start: Int, to end: Int, depth: Int) -> Bool {
    precondition(0 <= start && start <= end && end <= record.byteCount, "a map lies within its record")
    return isInnerMap(start, end, depth: depth)
  }

  // MARK: Maps and arrays

  private func isInnerMap(_ start: Int, _ end: Int, depth: Int) -> Bool {
    guard let layout = RecordLayout(mapIn: record, from: start, to: end, shapes: shapes) else { return false }
    return layout.shape > 0 ? areValues(layout, depth: depth) : areEntries(layout, depth: depth)
  }

  private func isArray(_ start: Int, _ end: Int, depth: Int) -> Bool {
    guard let layout = RecordLayout(arrayIn: record, from: start, to: end) else { return false }
    return areValues(layout, depth: depth)
  }

  /// Checks values without names: the slots of a shape, or the elements of an array.
  private func areValues(_ layout: RecordLayout, depth: Int) -> Bool {
    guard layout.width == 1 || layout.isNarrow(in: record, hasOffsets: false) else { return false }
    var start = layout.first
    var table = layout.table
    var left = layout.count
    while left > 0 {
      var end = layout.end
      if left > 1 {
        // The layout has checked the table's bounds. Lengths are below 2^32, so the sum cannot overflow.
        end =
          unsafe start
          &+ (layout.width == 1
            ? record.uncheckedByte(at: table) : record.uncheckedNumber(at: table, width: layout.width))
        table &+= layout.width
      }
      guard start < end, end <= layout.end, isValue(start, end, depth: depth) else { return false }
      start = end
      left &-= 1
    }
    return true
  }

  /// Checks the entries of a map that contains its names.
  private func areEntries(_ layout: RecordLayout, depth: Int) -> Bool {
    guard layout.isNarrow(in: record, hasOffsets: true) else { return false }
    var start = layout.first
    var last: Range<Int>?
    for index in 0..<layout.count {
      guard let entry = layout.range(ofEntry: index, in: record), entry.lowerBound == start,
        let (name, value) = RecordLayout.parts(ofEntry: entry, in: record),
        name.count <= RecordCodec.nameBytesMax, UTF8Check.isValid(record.extracting(name)),
        last.map({ record.extracting($0).precedes(record.extracting(name)) }) ?? true,
        isAnyValue(value.lowerBound, value.upperBound, depth: depth)
      else { return false }
      last = name
      start = entry.upperBound
    }
    return true
  }

  // MARK: Values

  /// `isValue`, but not inlined.
  @inline(never)
  private func isAnyValue(_ start: Int, _ end: Int, depth: Int) -> Bool { isValue(start, end, depth: depth) }

  /// Checks the value in these bytes, of which there must be at least one. Inlined, because most values take
  /// fewer instructions than a call.
  @inline(__always)
  private func isValue(_ start: Int, _ end: Int, depth: Int) -> Bool {
    let payload = start &+ 1
    let count = end &- payload
    guard
      let tag = unsafe RecordCodec.Tag(rawValue: UInt8(truncatingIfNeeded: record.uncheckedByte(at: start)))
    else { return false }
    switch tag {
    case .null, .false, .true: return count == 0
    case .integer: return isInteger(payload, end)
    case .double: return unsafe count == 0 || count <= 8 && record.uncheckedByte(at: payload) != 0
    case .timestamp:
      return isInteger(payload, end) && StoredTimestamp(microseconds: bytes(payload, end).signed) != nil
    case .string: return UTF8Check.isValid(bytes(payload, end))
    case .bytes: return true
    case .vector: return count & 7 == 0
    case .array: return depth < RecordCodec.depthMax && isArray(payload, end, depth: depth &+ 1)
    case .map: return depth < RecordCodec.depthMax && isInnerMap(payload, end, depth: depth &+ 1)
    case .reference, .geoPoint: return RecordScalar.decode(tag, bytes(payload, end)) != nil
    case .pendingTimestamp: return isPendingTimestamp(payload, end, depth: depth)
    }
  }

  /// Whether the number has no more bytes than it needs: its highest byte is not implied by the sign of the
  /// byte below it.
  @inline(__always)
  private func isInteger(_ start: Int, _ end: Int) -> Bool {
    let count = end &- start
    guard count > 0 else { return true }
    let highest = unsafe record.uncheckedByte(at: end &- 1)
    guard count > 1 else { return highest != 0 }
    let implied = unsafe record.uncheckedByte(at: end &- 2) < 0x80 ? 0 : 0xFF
    return count <= 8 && highest != implied
  }

  private func isPendingTimestamp(_ start: Int, _ end: Int, depth: Int) -> Bool {
    let previous = start &+ 8
    guard previous <= end, StoredTimestamp(microseconds: bytes(start, previous).signed) != nil else {
      return false
    }
    // Pending timestamps are never nested.
    return previous == end
      || record.byte(at: previous) != RecordCodec.Tag.pendingTimestamp.rawValue
        && isAnyValue(previous, end, depth: depth)
  }

  @inline(__always)
  @_lifetime(copy self)
  private func bytes(_ start: Int, _ end: Int) -> RawSpan {
    unsafe record.extracting(unchecked: Range(uncheckedBounds: (start, end)))
  }
}
