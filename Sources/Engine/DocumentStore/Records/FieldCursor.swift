// Iterates over the fields of an encoded map.
//
// The cursor's state is a few integers, which stay in registers when a loop inlines `next()`. A step reads
// one length and compares the value's end with the map's end. The step does not locate the field's name.

import ByteStore

/// Iterates over the fields of an encoded map, in name order.
///
/// ```swift
/// import DocumentStore
///
/// func sum(_ document: borrowing DocumentView) -> Int64? {
///   var sum: Int64 = 0
///   var fields = document.fields
///   while let value = fields.next() {
///     sum &+= value.integer ?? 0
///   }
///   return fields.isWhole ? sum : nil
/// }
/// ```
@frozen
public struct FieldCursor: ~Escapable {
  @usableFromInline let bytes: RawSpan
  @usableFromInline let shapes: RawSpan
  @usableFromInline let depth: UInt8
  @usableFromInline let layout: RecordLayout
  /// The number of fields that `next()` has not returned yet. Negative once damage was found.
  @usableFromInline var remaining: Int
  /// Offset of the next value.
  @usableFromInline var start: Int

  /// Creates a cursor before the first field of a map.
  @inlinable @inline(__always)
  @_lifetime(copy bytes, copy shapes)
  init(_ bytes: RawSpan, _ shapes: RawSpan, depth: UInt8) {
    self.bytes = bytes
    self.shapes = shapes
    self.depth = depth
    if let layout = RecordLayout(mapIn: bytes, from: 0, to: bytes.byteCount, shapes: shapes) {
      self.layout = layout
      remaining = layout.count
    } else {
      layout = RecordLayout()
      remaining = -1
    }
    start = layout.first
  }

  /// Creates a cursor for invalid bytes: it has no fields, and `isWhole` is false.
  @inlinable
  @_lifetime(copy bytes, copy shapes)
  init(damaged bytes: RawSpan, _ shapes: RawSpan) {
    self.bytes = bytes
    self.shapes = shapes
    depth = 0
    layout = RecordLayout()
    remaining = -1
    start = 0
  }

  /// False once damage was found. After `next()` has returned nil, true means that the map is undamaged.
  @inlinable @inline(__always)
  public var isWhole: Bool { remaining >= 0 }

  /// Returns the next value. Returns nil at the end and at damage; `isWhole` distinguishes the two.
  @inlinable @inline(__always)
  @_lifetime(copy self)
  public mutating func next() -> ValueView? {
    guard remaining > 0 else { return nil }
    guard layout.shape > 0 else { return nextEntry() }
    var end = layout.end
    if remaining > 1 {
      // The layout has checked the table's bounds. Lengths are below 2^32, so the sum cannot overflow.
      let offset = layout.table &+ (layout.count &- remaining) &* layout.width
      let length =
        unsafe layout.width == 1
        ? bytes.uncheckedByte(at: offset) : bytes.uncheckedNumber(at: offset, width: layout.width)
      end = start &+ length
    }
    guard start < end, end <= layout.end,
      let value = unsafe ValueView(
        bytes.extracting(unchecked: Range(uncheckedBounds: (start, end))), shapes, depth: depth)
    else {
      remaining = -1
      return nil
    }
    remaining &-= 1
    start = end
    return value
  }

  /// The name of the field that `next()` returned last. Empty before the first field, and after damage.
  @inlinable @inline(__always)
  public var name: TextView {
    @_lifetime(copy self)
    get {
      let next = layout.count &- remaining
      guard next > 0, next <= layout.count else { return TextView(bytes.extracting(first: 0)) }
      guard layout.shape > 0 else { return entryName(next &- 1) }
      // The shape bytes are trusted, so their bounds are not checked. Because there is no check that could
      // trap, the compiler can drop an unused name.
      return unsafe TextView(
        shapes.extracting(
          unchecked: ShapeBytes.uncheckedName(next &- 1, layout.shape, count: layout.count, in: shapes)))
    }
  }

  @usableFromInline
  @_lifetime(copy self)
  func entryName(_ index: Int) -> TextView {
    guard let entry = layout.range(ofEntry: index, in: bytes),
      let parts = RecordLayout.parts(ofEntry: entry, in: bytes)
    else { return TextView(bytes.extracting(first: 0)) }
    return TextView(bytes.extracting(parts.name))
  }

  @usableFromInline
  @_lifetime(copy self)
  mutating func nextEntry() -> ValueView? {
    guard let entry = layout.range(ofEntry: layout.count - remaining, in: bytes),
      let parts = RecordLayout.parts(ofEntry: entry, in: bytes),
      let value = ValueView(bytes.extracting(parts.value), shapes, depth: depth)
    else {
      remaining = -1
      return nil
    }
    remaining -= 1
    return value
  }
}
