// A walk over the fields of a stored map, one step at a time.
//
// Its state is a few integers that stay in registers when a loop inlines `next()`. A step reads one length, compares the
// value with the end of the map, and works out nothing about the field's name.

import ByteStore

/// Steps through the fields of a stored map, in the order of their names.
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
  /// Fields that `next()` has still to return. Less than none after damage.
  @usableFromInline var remaining: Int
  /// Where the next value begins.
  @usableFromInline var start: Int

  /// Begins before the first field of a map.
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

  /// Stands for bytes that are no map: there is no field, and `isWhole` is false.
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

  /// Whether every field so far could be read. After `next()` has returned nil it says whether the map is undamaged.
  @inlinable @inline(__always)
  public var isWhole: Bool { remaining >= 0 }

  /// Returns the next value. Nil behind the last one, and at damage, which `isWhole` tells.
  @inlinable @inline(__always)
  @_lifetime(copy self)
  public mutating func next() -> ValueView? {
    guard remaining > 0 else { return nil }
    guard layout.shape > 0 else { return nextEntry() }
    var end = layout.end
    if remaining > 1 {
      // The layout has compared the table with the bytes. A length is below 2^32, so the sum cannot overflow.
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

  /// The name of the field that `next()` returned last. Empty before the first, and after damage.
  @inlinable @inline(__always)
  public var name: TextView {
    @_lifetime(copy self)
    get {
      let next = layout.count &- remaining
      guard next > 0, next <= layout.count else { return TextView(bytes.extracting(first: 0)) }
      guard layout.shape > 0 else { return entryName(next &- 1) }
      // The bytes of shapes are our own: an unused name costs nothing, as there is no check that could trap.
      return unsafe TextView(
        shapes.extracting(
          unchecked: ShapeBytes.uncheckedName(next &- 1, layout.shape, layout.count, in: shapes)))
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
