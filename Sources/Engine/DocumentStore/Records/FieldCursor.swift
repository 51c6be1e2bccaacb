// Iterates over the fields of an encoded map.
//
// A step reads one length and compares the value's end with the map's end. The step does not locate the
// field's name. No step hands the cursor itself to a function that is not inlined, so its state stays in
// registers when a loop inlines `next()`.

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
  @usableFromInline let bytes: RecordAddress
  @usableFromInline let shapes: ShapeBytes
  @usableFromInline let depth: Int
  @usableFromInline let layout: RecordLayout
  /// The number of fields that `next()` has not returned yet. Negative once damage was found.
  @usableFromInline var remaining: Int
  /// Offset of the next value.
  @usableFromInline var start: Int
  /// The last field's name, if the entries have names.
  @usableFromInline var nameStart = 0
  @usableFromInline var nameEnd = 0

  /// Creates a cursor before the first field of a map.
  @inlinable @inline(__always)
  @_lifetime(copy bytes, copy shapes)
  init(_ bytes: RawSpan, _ shapes: ShapeBytes, depth: Int) {
    self.bytes = RecordAddress(bytes)
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
  init(damaged bytes: RawSpan, _ shapes: ShapeBytes) {
    self.bytes = RecordAddress(bytes)
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
    var end = layout.end
    if layout.shape > 0 {
      if remaining > 1 {
        // The layout has checked the table's bounds. Lengths are below 2^32, so the sum cannot overflow.
        let index = layout.count &- remaining
        let length =
          unsafe layout.width == 1
          ? Int(bytes.byte(at: layout.table &+ index))
          : bytes.number(at: layout.table &+ index &* layout.width, width: layout.width)
        end = start &+ length
      }
    } else {
      let entry = Self.entry(layout.count &- remaining, layout, in: bytes)
      (nameStart, nameEnd, start, end) = (entry.nameStart, entry.valueStart, entry.valueStart, entry.end)
    }
    guard start < end, end <= layout.end,
      let value = unsafe ValueView(bytes, from: start, to: end, shapes: shapes, depth: depth)
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
      // Nothing here can trap or is unknown to the compiler, so it drops a name that is not used.
      let slot = layout.count &- remaining &- 1
      guard slot >= 0, slot < layout.count else { return TextView(bytes, count: 0) }
      guard layout.shape > 0 else {
        return unsafe TextView(RecordAddress(bytes, advancedBy: nameStart), count: nameEnd &- nameStart)
      }
      return shapes.name(slot, layout.shape, count: layout.count)
    }
  }

  /// The parts of an entry that has a name. An invalid entry has no bytes.
  @frozen @usableFromInline
  struct Entry {
    @usableFromInline let nameStart: Int
    @usableFromInline let valueStart: Int
    @usableFromInline let end: Int

    init(nameStart: Int, valueStart: Int, end: Int) {
      self.nameStart = nameStart
      self.valueStart = valueStart
      self.end = end
    }
  }

  @usableFromInline @inline(never)
  static func entry(_ index: Int, _ layout: RecordLayout, in bytes: RecordAddress) -> Entry {
    let bytes = unsafe bytes.span(from: 0, count: layout.end)
    guard let entry = layout.range(ofEntry: index, in: bytes),
      let parts = RecordLayout.parts(ofEntry: entry, in: bytes)
    else { return Entry(nameStart: 0, valueStart: 0, end: 0) }
    return Entry(
      nameStart: parts.name.lowerBound, valueStart: parts.value.lowerBound, end: parts.value.upperBound)
  }
}
