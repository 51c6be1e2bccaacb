// Maps and arrays in a validated record.
//
// A field is found without reading the other fields, and only accessed values are decoded.

import ByteStore

/// A validated record and the shapes of its maps.
final class CheckedRecord: Sendable {
  let bytes: [UInt8]
  let shapes: ShapeTable
  let fieldsStart: Int
  /// Firestore's size of the fields, without the path and the constant per document, if the fields are known
  /// to be within the limits of documents. Nil for records that were read.
  let checkedSize: Int?
  /// Whether a map contains its names because its encoder could not give it a shape. A commit may give it
  /// one.
  let lacksShapes: Bool

  init(_ bytes: [UInt8], _ shapes: ShapeTable) throws(RecordError) {
    try RecordCodec.check(bytes.rawSpan, shapes)
    fieldsStart = try RecordCodec.decodeHead(bytes.rawSpan).bytes
    self.bytes = bytes
    self.shapes = shapes
    checkedSize = nil
    lacksShapes = false
  }

  /// A record that an encoder of this module has written.
  init(
    trusted bytes: [UInt8], _ shapes: ShapeTable, fieldsStart: Int, checkedSize: Int?,
    lacksShapes: Bool = false
  ) {
    // The encoders may write more than the limits allow. `DocumentLimits` refuses such a record later.
    assert(checkedSize == nil || (try? RecordCodec.check(bytes.rawSpan, shapes)) != nil)
    self.bytes = bytes
    self.shapes = shapes
    self.fieldsStart = fieldsStart
    self.checkedSize = checkedSize
    self.lacksShapes = lacksShapes
  }

  // These methods borrow the arrays for the duration of `body`. The property `rawSpan` would retain them,
  // because spans cannot be borrowed from properties of a class.

  @inline(__always)
  func withBytes<Result>(_ body: (_ record: RawSpan) -> Result) -> Result {
    unsafe bytes.withUnsafeBytes { unsafe body(RawSpan(_unsafeBytes: $0)) }
  }

  @inline(__always)
  func withSpans<Result>(_ body: (_ record: RawSpan, _ shapes: RawSpan) -> Result) -> Result {
    unsafe bytes.withUnsafeBytes { bytes in
      unsafe shapes.bytes.withUnsafeBytes { shapes in
        unsafe body(RawSpan(_unsafeBytes: bytes), RawSpan(_unsafeBytes: shapes))
      }
    }
  }

  /// The layout of the map in `range`.
  func layout(ofMap range: Range<Int>) -> RecordLayout {
    let layout = withSpans { bytes, shapes in
      RecordLayout(mapIn: bytes, from: range.lowerBound, to: range.upperBound, shapes: shapes)
    }
    guard let layout else { preconditionFailure("a record was not checked before it was read") }
    return layout
  }

  /// The shape of the map that starts at `start`; nil if the map contains its names.
  func shape(ofMapAt start: Int) -> Shape? {
    let head = withSpans { bytes, _ in bytes.varint(at: start, before: bytes.byteCount)?.value }
    return head.flatMap { $0 > 3 ? shapes.shapes[$0 >> 2 - 1] : nil }
  }

  /// The name and the value of a field in a map that contains its names.
  func entry(_ index: Int, _ layout: RecordLayout) -> (name: Range<Int>, value: Range<Int>) {
    let parts = withSpans { bytes, _ in
      layout.range(ofEntry: index, in: bytes).flatMap { RecordLayout.parts(ofEntry: $0, in: bytes) }
    }
    guard let parts else { preconditionFailure("a record was not checked before it was read") }
    return parts
  }
}

/// A map in a record.
package struct RecordMap: Sendable {
  let record: CheckedRecord
  let range: Range<Int>

  init(_ record: CheckedRecord, _ range: Range<Int>) {
    self.record = record
    self.range = range
  }

  package var count: Int { record.layout(ofMap: range).count }

  /// The names of the map's shape; nil if the map has no shape.
  var names: FieldNames? { record.shape(ofMapAt: range.lowerBound)?.fieldNames }

  package subscript(name: String) -> RecordValue? {
    var name = name
    let layout = record.layout(ofMap: range)
    let found = name.withUTF8 { name in
      record.withSpans { bytes, shapes in
        layout.find(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(name)), in: bytes, shapes: shapes)
      }
    }
    guard case .value(let range) = found else { return nil }
    return RecordValue(record, range)
  }
}

/// A value in a record.
package struct RecordValue: Sendable {
  private let record: CheckedRecord
  private let range: Range<Int>
  private let tag: RecordCodec.Tag

  init(_ record: CheckedRecord, _ range: Range<Int>) {
    self.record = record
    self.range = range
    tag = RecordCodec.Tag(rawValue: record.bytes[range.lowerBound]) ?? .null
  }

  private var payload: Range<Int> { range.lowerBound + 1..<range.upperBound }

  /// The decoded value.
  package var stored: StoredValue {
    record.withSpans { bytes, shapes in
      (try? RecordDecoder(bytes, record.shapes, shapeBytes: shapes).value(range, depth: 0)) ?? .null
    }
  }

  package var isArray: Bool { tag == .array }

  /// The map; nil if the value is not a map.
  package var map: RecordMap? { tag == .map ? RecordMap(record, payload) : nil }

  /// The elements; nil if the value is not an array.
  package var elements: [RecordValue]? {
    guard tag == .array else { return nil }
    return record.elements(payload) { _, range in RecordValue(record, range) }
  }

  /// The strings of an array; nil unless the value is an array of strings only.
  package var strings: [String]? {
    elements(.string) { String(validated: $0) }
  }

  /// The integers of an array; nil unless the value is an array of integers only.
  package var integers: [Int64]? { elements(.integer) { $0.signed } }

  /// The doubles of an array; nil unless the value is an array of doubles only.
  package var doubles: [Double]? { elements(.double) { Double(bitPattern: $0.doubleBits) } }

  @inline(__always)
  private func elements<Element>(
    _ only: RecordCodec.Tag, _ element: (_ payload: RawSpan) -> Element
  ) -> [Element]? {
    guard tag == .array else { return nil }
    return record.elements(payload) { bytes, range in
      guard bytes.byte(at: range.lowerBound) == only.rawValue else { return nil }
      return element(bytes.extracting(range.lowerBound &+ 1..<range.upperBound))
    }
  }
}

extension CheckedRecord {
  /// The elements of the array in `range`, each converted by `element`; nil if `element` returns nil.
  @inline(__always)
  func elements<Element>(
    _ range: Range<Int>, _ element: (_ bytes: RawSpan, _ range: Range<Int>) -> Element?
  ) -> [Element]? {
    let bytes = bytes
    let span = bytes.rawSpan
    guard let layout = RecordLayout(arrayIn: span, from: range.lowerBound, to: range.upperBound) else {
      preconditionFailure("a record was not checked before it was read")
    }
    var start = layout.first
    // Each element is initialized in place. An append would copy it.
    let elements = unsafe [Element](unsafeUninitializedCapacity: layout.count) { elements, count in
      while count < layout.count {
        guard let end = layout.end(ofValue: count, from: start, in: span) else {
          preconditionFailure("a record was not checked before it was read")
        }
        guard let next = element(span, start..<end) else { return }
        unsafe elements.initializeElement(at: count, to: next)
        count &+= 1
        start = end
      }
    }
    return elements.count == layout.count ? elements : nil
  }
}

extension String {
  /// Copies text of a validated record.
  init(validated bytes: RawSpan) {
    #if canImport(Darwin)
    // `UTF8Span`, which the other branch uses, exists only on the newest Apple systems.
    self = unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    #else
    let isASCII = bytes.isASCII
    self = unsafe bytes.withUnsafeBytes { bytes in
      // The text of a `CheckedRecord` is valid UTF-8: it was validated, or this module encoded it.
      unsafe String(copying: UTF8Span(unchecked: Span(_unsafeBytes: bytes), isKnownASCII: isASCII))
    }
    #endif
  }
}

extension RawSpan {
  fileprivate var isASCII: Bool {
    var bits: UInt64 = 0
    var offset = 0
    while byteCount &- offset >= 8 {
      bits |= word(at: offset)
      offset &+= 8
    }
    bits |= extracting(droppingFirst: offset).unsigned
    return bits & 0x8080_8080_8080_8080 == 0
  }
}
