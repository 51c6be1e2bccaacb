// Iterates over the values of maps and arrays in a checked record, and finds the shapes of its maps.

import ByteStore

/// Iterates over the values of a map or an array in a checked record.
struct RecordValues {
  private let layout: RecordLayout
  /// Whether the parts are entries with names.
  private let areNamed: Bool
  private var index = 0
  private var start: Int

  init(_ layout: RecordLayout, areNamed: Bool = false) {
    self.layout = layout
    self.areNamed = areNamed
    start = layout.first
  }

  var isAtEnd: Bool { index == layout.count }

  /// The range of the next value, with its tag. Nil at the end, and at damage, which no checked record has.
  @inline(__always)
  mutating func next(in bytes: RawSpan) -> Range<Int>? {
    guard index < layout.count else { return nil }
    guard !areNamed else { return nextEntry(in: bytes)?.value }
    guard let end = layout.end(ofValue: index, from: start, in: bytes) else { return nil }
    let range = unsafe Range(uncheckedBounds: (start, end))
    index &+= 1
    start = end
    return range
  }

  /// The ranges of the next entry's name and value.
  mutating func nextEntry(in bytes: RawSpan) -> (name: Range<Int>, value: Range<Int>)? {
    guard index < layout.count, let entry = layout.range(ofEntry: index, in: bytes),
      let parts = RecordLayout.parts(ofEntry: entry, in: bytes)
    else { return nil }
    index += 1
    return parts
  }
}

/// The shapes of the maps in a checked record.
struct RecordShapes: ~Escapable {
  let bytes: RawSpan
  let shapes: RawSpan

  @_lifetime(copy bytes, copy shapes)
  init(_ bytes: RawSpan, shapes: RawSpan) {
    self.bytes = bytes
    self.shapes = shapes
  }

  /// Whether a value contains a map that has fields and no shape.
  func hasNames(inValue range: Range<Int>) -> Bool {
    visit(value: range) { $0 == nil } != nil
  }

  /// Adds the ids of all shapes that a map and the maps in it have.
  func collect(inMap range: Range<Int>, into ids: inout Set<Int>) {
    _ = visit(map: range) { id in
      if let id { ids.insert(id) }
      return false
    }
  }

  /// Calls `body` with the id of each map's shape, or nil for a map with names. Empty maps are left out.
  /// Stops when `body` returns true, and then returns a result.
  private func visit(map range: Range<Int>, _ body: (Int?) -> Bool) -> Void? {
    guard let head = bytes.varint(at: range.lowerBound, before: range.upperBound)?.value,
      let layout = RecordLayout(
        mapIn: bytes, from: range.lowerBound, to: range.upperBound, shapes: shapes)
    else { return nil }
    if layout.count > 0, body(layout.shape > 0 ? head >> 2 - 1 : nil) { return () }
    return visit(RecordValues(layout, areNamed: layout.shape == 0), body)
  }

  private func visit(_ parts: RecordValues, _ body: (Int?) -> Bool) -> Void? {
    var parts = parts
    while let range = parts.next(in: bytes) {
      if RecordShapes.isContainer(bytes.byte(at: range.lowerBound)), visit(value: range, body) != nil {
        return ()
      }
    }
    return nil
  }

  private func visit(value range: Range<Int>, _ body: (Int?) -> Bool) -> Void? {
    let inner = range.lowerBound + 1..<range.upperBound
    switch RecordCodec.Tag(rawValue: bytes.byte(at: range.lowerBound)) {
    case .map: return visit(map: inner, body)
    case .array:
      let layout = RecordLayout(arrayIn: bytes, from: inner.lowerBound, to: inner.upperBound)
      return layout.flatMap { visit(RecordValues($0), body) }
    case .pendingTimestamp where inner.count > 8:
      return visit(value: inner.lowerBound + 8..<inner.upperBound, body)
    default: return nil
    }
  }

  /// Whether a value with this tag can contain maps.
  @inline(__always)
  static func isContainer(_ tag: UInt8) -> Bool {
    tag == RecordCodec.Tag.map.rawValue || tag == RecordCodec.Tag.array.rawValue
      || tag == RecordCodec.Tag.pendingTimestamp.rawValue
  }
}

extension CheckedRecord {
  /// Adds the ids of all shapes that the record uses. A commit must define those of them that are due.
  func collectShapes(into ids: inout Set<Int>) {
    withSpans { bytes, shapes in
      RecordShapes(bytes, shapes: shapes).collect(inMap: fields, into: &ids)
    }
  }
}
