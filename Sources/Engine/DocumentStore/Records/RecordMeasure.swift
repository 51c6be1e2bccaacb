// Computes Firestore's size of a checked record's fields without decoding them.
//
// The size is the one that `DocumentLimits` computes for the entries. There is no size if the fields may
// exceed a limit. Then `DocumentLimits` checks the entries, and names the field and the limit in its error.

import ByteStore

struct RecordMeasure: ~Escapable {
  private let bytes: RawSpan
  private let shapes: RawSpan

  @_lifetime(copy bytes, copy shapes)
  init(_ bytes: RawSpan, shapes: RawSpan) {
    self.bytes = bytes
    self.shapes = shapes
  }

  /// The size of a map's names and values. `depth` is the number of maps and arrays around it, and itself
  /// unless it is the outermost map. Nil if a limit may be exceeded.
  func size(ofMap range: Range<Int>, depth: Int) -> Int? {
    guard depth <= RecordCodec.depthMax,
      let layout = RecordLayout(
        mapIn: bytes, from: range.lowerBound, to: range.upperBound, shapes: shapes)
    else { return nil }
    guard layout.shape > 0 else { return size(ofEntries: layout, depth: depth) }
    let names = ShapeBytes.nameCost(layout.shape, in: shapes)
    guard names > 0, let values = size(RecordValues(layout), isArray: false, depth: depth) else { return nil }
    return names + values
  }

  private func size(ofEntries layout: RecordLayout, depth: Int) -> Int? {
    var parts = RecordValues(layout, areNamed: true)
    var total = 0
    while let (name, value) = parts.nextEntry(in: bytes) {
      guard ShapeBytes.isPlainName(bytes.extracting(name)), let size = size(ofValue: value, depth: depth)
      else { return nil }
      total += name.count + 1 + size
    }
    return parts.isAtEnd ? total : nil
  }

  private func size(_ parts: RecordValues, isArray: Bool, depth: Int) -> Int? {
    var parts = parts
    var total = 0
    while let range = parts.next(in: bytes) {
      // An array cannot contain another.
      guard let size = size(ofValue: range, depth: depth),
        !isArray || bytes.byte(at: range.lowerBound) != RecordCodec.Tag.array.rawValue
      else { return nil }
      total &+= size
    }
    return parts.isAtEnd ? total : nil
  }

  @inline(__always)
  private func size(ofValue range: Range<Int>, depth: Int) -> Int? {
    let count = range.upperBound &- range.lowerBound
    switch RecordCodec.Tag(rawValue: bytes.byte(at: range.lowerBound)) {
    case .null, .false, .true: return 1
    case .integer, .double, .timestamp: return 8
    case .string: return count
    case .bytes: return count &- 1
    case .geoPoint: return 16
    case .vector: return count &- 1 <= 8 * DocumentLimits.vectorDimensionsMax ? count &- 1 : nil
    case .reference, .array, .map, .pendingTimestamp: return size(ofLargeValue: range, depth: depth)
    case nil: return nil
    }
  }

  private func size(ofLargeValue range: Range<Int>, depth: Int) -> Int? {
    let inner = range.lowerBound + 1..<range.upperBound
    switch RecordCodec.Tag(rawValue: bytes.byte(at: range.lowerBound)) {
    case .reference: return size(ofReference: inner)
    case .array:
      guard depth < RecordCodec.depthMax,
        let layout = RecordLayout(arrayIn: bytes, from: inner.lowerBound, to: inner.upperBound)
      else { return nil }
      return size(RecordValues(layout), isArray: true, depth: depth + 1)
    case .map: return size(ofMap: inner, depth: depth + 1).map { 32 + $0 }
    case .pendingTimestamp:
      guard inner.count > 8 else { return 8 }
      // The previous value must be within the limits, but does not count.
      let previous = size(ofValue: inner.lowerBound + 8..<inner.upperBound, depth: depth)
      return previous.flatMap { $0 <= DocumentLimits.fieldValueBytesMax ? 8 : nil }
    default: return nil
    }
  }

  /// Counts each segment of the path with one byte more. A record has a slash in place of most of them.
  private func size(ofReference range: Range<Int>) -> Int? {
    var start = range.lowerBound
    for _ in 0..<2 {
      guard let (size, next) = bytes.varint(at: start, before: range.upperBound),
        size <= range.upperBound - next
      else { return nil }
      start = next + size
    }
    return PathError.pathBytesOverhead + range.upperBound - start + 1
  }
}

extension CheckedRecord {
  /// Firestore's size of the fields. Nil if a limit for fields may be exceeded.
  var firestoreBytes: Int? {
    if let checkedSize { return checkedSize }
    return withSpans { bytes, shapes in
      let size = RecordMeasure(bytes, shapes: shapes).size(ofMap: fieldsStart..<bytes.byteCount, depth: 0)
      // If all fields together are within the limit for one field, so is each.
      return size.flatMap { $0 <= DocumentLimits.fieldValueBytesMax ? $0 : nil }
    }
  }
}
