// A view of an encoded document: reads fields without decoding, copying or allocating.
//
// A view is valid only during the call that provides it, and the compiler enforces this. Views do not trust
// the bytes: an iteration ends at invalid bytes. The code is inlinable across modules, because reading a
// field takes some tens of instructions, fewer than a cross-module call.

import ByteStore

/// A borrowed, encoded document.
public struct DocumentView: ~Escapable {
  private let key: RawSpan
  @usableFromInline let record: RawSpan
  /// The shapes with the document's field names, encoded as `ShapeBytes`.
  @usableFromInline let shapes: ShapeBytes
  /// Offset of the fields; nil if the head is invalid.
  @usableFromInline let fieldsStart: Int?

  @_lifetime(copy key, copy record, copy shapes)
  init(key: RawSpan, record: RawSpan, shapes: RawSpan) {
    self.key = key
    self.record = record
    self.shapes = ShapeBytes(shapes)
    fieldsStart = RecordCodec.fieldsStart(record)
  }

  /// A copy of the path; nil if the key is invalid.
  public var path: DocumentPath? { DocumentKey.decode(key) }

  /// A cursor before the first field.
  @inlinable @inline(__always)
  public var fields: FieldCursor {
    @_lifetime(copy self)
    get {
      guard let fieldsStart else { return FieldCursor(damaged: record, shapes) }
      return FieldCursor(record.extracting(droppingFirst: fieldsStart), shapes, depth: 0)
    }
  }

  /// Calls `body` with each field in name order. Returns false if the bytes are not a valid record.
  @inlinable
  public func forEachField(_ body: (_ name: borrowing TextView, _ value: borrowing ValueView) -> Void) -> Bool
  {
    guard let fieldsStart else { return false }
    return MapView(record.extracting(droppingFirst: fieldsStart), shapes, depth: 0).forEachField(body)
  }

  /// Calls `body` with the value at a path. Returns nil if the field is absent or a parent is not a map.
  public func withValue<Result>(
    at path: StoredFieldPath, _ body: (borrowing ValueView) -> Result
  ) -> Result? {
    guard let fieldsStart else { return nil }
    let fields = MapView(record.extracting(droppingFirst: fieldsStart), shapes, depth: 0)
    return fields.withValue(at: path.names[...], body)
  }
}

/// Borrowed text. Its UTF-8 is not validated.
@frozen
public struct TextView: ~Escapable {
  @usableFromInline let address: RecordAddress
  @usableFromInline let count: Int

  @inlinable @inline(__always)
  @_lifetime(copy address)
  init(_ address: RecordAddress, count: Int) {
    self.address = address
    self.count = count
  }

  /// The UTF-8 bytes.
  @inlinable @inline(__always)
  public var bytes: RawSpan {
    @_lifetime(copy self)
    get { unsafe address.span(from: 0, count: count) }
  }

  /// A copy as a string; nil if the bytes are not valid UTF-8.
  public var string: String? { String(record: bytes) }
}

/// The fields of a map, borrowed.
@frozen
public struct MapView: ~Escapable {
  @usableFromInline let bytes: RawSpan
  @usableFromInline let shapes: ShapeBytes
  @usableFromInline let depth: Int

  @inlinable @inline(__always)
  @_lifetime(copy bytes, copy shapes)
  init(_ bytes: RawSpan, _ shapes: ShapeBytes, depth: Int) {
    self.bytes = bytes
    self.shapes = shapes
    self.depth = depth
  }

  /// A cursor before the first field.
  @inlinable @inline(__always)
  public var fields: FieldCursor {
    @_lifetime(copy self)
    get { FieldCursor(bytes, shapes, depth: depth) }
  }

  /// Calls `body` with each field in name order. Returns false if the bytes are not a valid map.
  @inlinable
  public func forEachField(_ body: (_ name: borrowing TextView, _ value: borrowing ValueView) -> Void) -> Bool
  {
    guard let layout = RecordLayout(mapIn: bytes, from: 0, to: bytes.byteCount, shapes: shapes) else {
      return false
    }
    guard layout.shape > 0 else { return forEachEntry(body) }
    // Not a loop over `FieldCursor`, because the compiler keeps the state of a cursor in memory.
    return layout.forEachValue(in: RecordAddress(bytes), shapes, depth: depth) { slot, value in
      body(shapes.name(slot, layout.shape, count: layout.count), value)
    }
  }

  /// `forEachField` for a map that contains its names.
  @inlinable @inline(never)
  func forEachEntry(_ body: (_ name: borrowing TextView, _ value: borrowing ValueView) -> Void) -> Bool {
    var fields = fields
    while let value = fields.next() { body(fields.name, value) }
    return fields.isWhole
  }

  func withValue<Result>(
    at names: ArraySlice<String>, _ body: (borrowing ValueView) -> Result
  ) -> Result? {
    guard var name = names.first,
      let layout = RecordLayout(mapIn: bytes, from: 0, to: bytes.byteCount, shapes: shapes)
    else { return nil }
    let found = name.withUTF8 { name in
      layout.find(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(name)), in: bytes, shapes: shapes)
    }
    guard case .value(let place) = found,
      let value = ValueView(bytes.extracting(place), shapes, depth: depth)
    else { return nil }
    guard names.count > 1 else { return body(value) }
    return value.withMap { $0.withValue(at: names.dropFirst(), body) } ?? nil
  }
}

/// A borrowed value. Only the property or method for the type of the value returns a result. The properties
/// and methods for other types return nil or false.
@frozen
public struct ValueView: ~Escapable {
  // Four words, which a function gets in registers.
  @usableFromInline let bytes: RecordAddress
  /// The number of bytes: at least one, the tag.
  @usableFromInline let count: Int
  @usableFromInline let shapes: ShapeBytes
  @usableFromInline let depth: Int

  /// The bytes must be exactly one value; nil if they are not.
  @inlinable @inline(__always)
  @_lifetime(copy bytes, copy shapes)
  init?(_ bytes: RawSpan, _ shapes: ShapeBytes, depth: Int) {
    guard bytes.byteCount > 0,
      let value = unsafe ValueView(
        RecordAddress(bytes), from: 0, to: bytes.byteCount, shapes: shapes, depth: depth)
    else { return nil }
    self = value
  }

  /// The bytes from `start` to `end` must exist, and there must be at least one.
  @unsafe @inlinable @inline(__always)
  @_lifetime(copy bytes, copy shapes)
  init?(_ bytes: RecordAddress, from start: Int, to end: Int, shapes: ShapeBytes, depth: Int) {
    count = end &- start
    self.bytes = unsafe RecordAddress(bytes, advancedBy: start)
    self.shapes = shapes
    self.depth = depth
    let tag = unsafe bytes.byte(at: start)
    // Tags 0 to 2 have no payload, and tags 3 to 5 have up to eight bytes.
    if tag < 6 {
      guard count <= (tag < 3 ? 1 : 9) else { return nil }
    } else {
      switch tag {
      case 9: guard count == 17 else { return nil }
      case 11: guard count & 7 == 1 else { return nil }
      default: guard tag <= 13 else { return nil }
      }
    }
  }

  @inlinable @inline(__always)
  var tag: UInt8 { unsafe bytes.byte(at: 0) }

  /// The bytes after the tag.
  @inlinable @inline(__always)
  var payload: RawSpan {
    @_lifetime(copy self)
    get { unsafe bytes.span(from: 1, count: count &- 1) }
  }

  /// The type of a value, which determines the property or method that returns a result.
  @frozen
  public enum Kind: Sendable {
    /// The value types of Firestore; `text` is a string.
    case null, boolean, integer, double, timestamp, text, bytes, reference, geoPoint, array, vector, map
  }

  /// The type of the value.
  @inlinable @inline(__always)
  public var kind: Kind {
    switch tag {
    case 0, 13: .null
    case 1, 2: .boolean
    case 3: .integer
    case 4: .double
    case 5: .timestamp
    case 6: .text
    case 7: .bytes
    case 8: .reference
    case 9: .geoPoint
    case 10: .array
    case 11: .vector
    default: .map
    }
  }

  /// Whether the value is null. A pending timestamp counts as null.
  @inlinable @inline(__always)
  public var isNull: Bool { tag == 0 || tag == 13 }

  /// The boolean; nil for other types.
  @inlinable @inline(__always)
  public var boolean: Bool? { tag == 1 || tag == 2 ? tag == 2 : nil }

  /// The integer; nil for other types.
  @inlinable @inline(__always)
  public var integer: Int64? { tag == 3 ? payload.signed : nil }

  /// The double; nil for other types, including integers.
  @inlinable @inline(__always)
  public var double: Double? { tag == 4 ? Double(bitPattern: payload.doubleBits) : nil }

  /// The timestamp; nil for other types.
  public var timestamp: StoredTimestamp? {
    tag == 5 ? StoredTimestamp(microseconds: payload.signed) : nil
  }

  /// Calls `body` with the text; nil for other types.
  @inlinable @inline(__always)
  public func withText<Result>(_ body: (borrowing TextView) -> Result) -> Result? {
    tag == 6 ? body(unsafe TextView(RecordAddress(bytes, advancedBy: 1), count: count &- 1)) : nil
  }

  /// Calls `body` with the bytes; nil for other types.
  @inlinable @inline(__always)
  public func withBytes<Result>(_ body: (RawSpan) -> Result) -> Result? {
    tag == 7 ? body(payload) : nil
  }

  /// Calls `body` with the map; nil for other types, and for a map that is nested too deep.
  @inlinable @inline(__always)
  public func withMap<Result>(_ body: (borrowing MapView) -> Result) -> Result? {
    tag == 12 && depth < 20 ? body(MapView(payload, shapes, depth: depth + 1)) : nil
  }

  /// Calls `body` with each element of an array. Returns false for other types, and if the array is damaged.
  @inlinable
  public func forEachElement(_ body: (borrowing ValueView) -> Void) -> Bool {
    guard tag == 10, depth < 20 else { return false }
    let payload = payload
    guard let layout = RecordLayout(arrayIn: payload, from: 0, to: payload.byteCount) else { return false }
    return layout.forEachValue(in: RecordAddress(payload), shapes, depth: depth &+ 1) { _, value in
      body(value)
    }
  }
}
