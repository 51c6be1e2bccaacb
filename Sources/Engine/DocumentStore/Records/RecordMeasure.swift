// Computes Firestore's size of a checked record's fields without decoding them.
//
// The size is the one that `DocumentLimits` computes for the entries. There is no size if the fields may
// exceed a limit. Then `DocumentLimits` checks the entries, and names the field and the limit in its error.
//
// Loads are unchecked where the layout, or the comparison before the load, has checked the bounds.

import ByteStore

struct RecordMeasure: ~Escapable {
  private let bytes: RawSpan
  private let shapes: ShapeBytes
  /// The size of everything that was added.
  private(set) var size = 0
  /// Whether a map that was added has fields and no shape.
  private(set) var hasNames = false

  @_lifetime(copy bytes, copy shapes)
  init(_ bytes: RawSpan, shapes: RawSpan) {
    self.bytes = bytes
    self.shapes = ShapeBytes(shapes)
  }

  /// Adds the size of a map's names and values. `depth` is the number of maps and arrays around its fields,
  /// without the outermost map. Returns false if a limit may be exceeded.
  mutating func add(map range: Range<Int>, depth: Int) -> Bool {
    guard depth <= RecordCodec.depthMax,
      let layout = RecordLayout(
        mapIn: bytes, from: range.lowerBound, to: range.upperBound, shapes: shapes)
    else { return false }
    guard layout.shape > 0 else { return add(entriesOf: layout, depth: depth) }
    let names = shapes.nameCost(layout.shape)
    size &+= names
    return names > 0 && add(valuesOf: layout, isArray: false, depth: depth)
  }

  private mutating func add(entriesOf layout: RecordLayout, depth: Int) -> Bool {
    if layout.count > 0 { hasNames = true }
    var parts = RecordValues(layout, areNamed: true)
    while let (name, value) = parts.nextEntry(in: bytes) {
      size &+= name.count + 1
      guard ShapeBytes.isPlainName(bytes.extracting(name)),
        add(valueFrom: value.lowerBound, to: value.upperBound, depth: depth)
      else { return false }
    }
    return parts.isAtEnd
  }

  @inline(__always)
  private mutating func add(valuesOf layout: RecordLayout, isArray: Bool, depth: Int) -> Bool {
    var start = layout.first
    var number = layout.table
    for _ in 0..<max(layout.count &- 1, 0) {
      // The layout has checked the table's bounds.
      let length = unsafe bytes.uncheckedNumber(at: number, width: layout.width)
      number &+= layout.width
      guard length > 0, length < layout.end &- start,
        add(valueFrom: start, to: start &+ length, isElement: isArray, depth: depth)
      else { return false }
      start &+= length
    }
    guard layout.count > 0 else { return true }
    return start < layout.end && add(valueFrom: start, to: layout.end, isElement: isArray, depth: depth)
  }

  /// `start` must be below `end`, which must be within the bytes.
  @inline(__always)
  private mutating func add(
    valueFrom start: Int, to end: Int, isElement: Bool = false, depth: Int
  ) -> Bool {
    let tag = unsafe bytes.uncheckedByte(at: start)
    if tag <= RecordCodec.Tag.bytes.rawValue {
      size &+= Self.size(ofScalar: tag, bytes: end &- start)
      return true
    }
    return add(largeValue: start..<end, isElement: isElement, depth: depth)
  }

  private mutating func add(largeValue range: Range<Int>, isElement: Bool, depth: Int) -> Bool {
    let inner = range.lowerBound + 1..<range.upperBound
    switch RecordCodec.Tag(rawValue: bytes.byte(at: range.lowerBound)) {
    case .geoPoint:
      size &+= 16
      return true
    case .vector:
      size &+= inner.count
      return inner.count <= 8 * FieldLimits.vectorDimensionsMax
    case .reference: return add(reference: inner)
    case .array:
      // An array cannot contain another.
      guard depth < RecordCodec.depthMax, !isElement,
        let layout = RecordLayout(arrayIn: bytes, from: inner.lowerBound, to: inner.upperBound)
      else { return false }
      return add(valuesOf: layout, isArray: true, depth: depth + 1)
    case .map:
      size &+= 32
      return add(map: inner, depth: depth + 1)
    case .pendingTimestamp: return add(pendingTimestamp: inner, depth: depth)
    default: return false
    }
  }

  /// The previous value must be within the limits, but does not count.
  private mutating func add(pendingTimestamp range: Range<Int>, depth: Int) -> Bool {
    let before = size
    defer { size = before + 8 }
    guard range.count > 8 else { return true }
    return add(valueFrom: range.lowerBound + 8, to: range.upperBound, depth: depth)
      && size - before <= FieldLimits.valueBytesMax
  }

  /// Counts each segment of the path with one byte more. A record has a slash in place of most of them.
  private mutating func add(reference range: Range<Int>) -> Bool {
    var start = range.lowerBound
    for _ in 0..<2 {
      guard let (size, next) = bytes.varint(at: start, before: range.upperBound),
        size <= range.upperBound - next
      else { return false }
      start = next + size
    }
    size &+= PathError.pathBytesOverhead + range.upperBound - start + 1
    return true
  }

  // MARK: Scalars

  /// The size of a value that is neither a container nor a reference, a geo point or a vector.
  @inline(__always)
  private static func size(ofScalar tag: Int, bytes: Int) -> Int {
    if tag == RecordCodec.Tag.string.rawValue { return bytes }
    if tag == RecordCodec.Tag.bytes.rawValue { return bytes &- 1 }
    return tag <= RecordCodec.Tag.true.rawValue ? 1 : 8
  }

  /// The size of any value that cannot contain others; nil for the other values.
  static func size(ofScalar value: RawSpan) -> Int? {
    let tag = Int(value.byte(at: 0))
    if tag <= RecordCodec.Tag.bytes.rawValue { return size(ofScalar: tag, bytes: value.byteCount) }
    return nil
  }
}

extension CheckedRecord {
  /// Firestore's size of the fields. Nil if a limit for fields may be exceeded.
  var firestoreBytes: Int? {
    if let checkedSize { return checkedSize }
    return withSpans { bytes, shapes in
      var measure = RecordMeasure(bytes, shapes: shapes)
      guard measure.add(map: fieldsStart..<bytes.byteCount, depth: 0) else { return nil }
      // If all fields together are within the limit for one field, so is each.
      return measure.size <= FieldLimits.valueBytesMax ? measure.size : nil
    }
  }
}
