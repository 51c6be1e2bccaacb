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

  init(_ bytes: [UInt8], _ shapes: ShapeTable) throws(RecordError) {
    try RecordCodec.check(bytes.rawSpan, shapes)
    fieldsStart = try RecordCodec.decodeHead(bytes.rawSpan).bytes
    self.bytes = bytes
    self.shapes = shapes
    checkedSize = nil
  }

  /// A record that an encoder of this module has written.
  init(trusted bytes: [UInt8], _ shapes: ShapeTable, fieldsStart: Int, checkedSize: Int?) {
    // The encoders may write more than the limits allow. `DocumentLimits` refuses such a record later.
    assert(checkedSize == nil || (try? RecordCodec.check(bytes.rawSpan, shapes)) != nil)
    self.bytes = bytes
    self.shapes = shapes
    self.fieldsStart = fieldsStart
    self.checkedSize = checkedSize
  }

  /// Copies the references, because spans cannot be borrowed from properties of a class.
  func withSpans<Result>(_ body: (_ record: RawSpan, _ shapes: RawSpan) -> Result) -> Result {
    let (bytes, shapes) = (bytes, shapes.bytes)
    return body(bytes.rawSpan, shapes.rawSpan)
  }
}

/// A map in a record.
package struct RecordMap: Sendable {
  private let record: CheckedRecord
  private let layout: RecordLayout
  private let start: Int
  /// The names of the map's shape; nil if the map has no shape.
  let names: FieldNames?

  init(_ record: CheckedRecord, _ range: Range<Int>) {
    self.record = record
    let layout = record.withSpans { bytes, shapes in
      RecordLayout(mapIn: bytes, from: range.lowerBound, to: range.upperBound, shapes: shapes)
    }
    guard let layout else { preconditionFailure("a record was not checked before it was read") }
    self.layout = layout
    start = range.lowerBound
    names = layout.shape > 0 ? Self.shape(of: record, range.lowerBound)?.fieldNames : nil
  }

  /// The shape of the map at `start`. This map must have a shape.
  private static func shape(of record: CheckedRecord, _ start: Int) -> Shape? {
    let head = record.withSpans { bytes, _ in bytes.varint(at: start, before: bytes.byteCount)?.value }
    return head.flatMap { record.shapes.shapes[$0 >> 2 - 1] }
  }

  package var count: Int { layout.count }

  package func name(at index: Int) -> String {
    if let names { return names.names[index] }
    return String(decoding: record.bytes[entry(index).name], as: UTF8.self)
  }

  package func value(at index: Int) -> RecordValue {
    guard layout.shape > 0 else { return RecordValue(record, entry(index).value) }
    let range = record.withSpans { bytes, _ in layout.range(ofValue: index, in: bytes) }
    guard let range else { preconditionFailure("a record was not checked before it was read") }
    return RecordValue(record, range)
  }

  /// Calls `body` with the tag and payload of a value.
  @inline(__always)
  func withValue<Result>(at index: Int, _ body: (RawSpan) -> Result) -> Result {
    let bytes = record.bytes
    let range = layout.shape > 0 ? layout.range(ofValue: index, in: bytes.rawSpan) : entry(index).value
    guard let range else { preconditionFailure("a record was not checked before it was read") }
    return body(bytes.rawSpan.extracting(range))
  }

  /// All fields, each transformed by `body`.
  package func dictionary<Value>(_ body: (RecordValue) -> Value) -> [String: Value] {
    if layout.shape > 0, let shape = Self.shape(of: record, start) {
      return shape.places.mapValues { body(value(at: $0)) }
    }
    var dictionary = [String: Value](minimumCapacity: count)
    for index in 0..<count { dictionary[name(at: index)] = body(value(at: index)) }
    return dictionary
  }

  package subscript(name: String) -> RecordValue? {
    var name = name
    let found = name.withUTF8 { name in
      record.withSpans { bytes, shapes in
        layout.find(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(name)), in: bytes, shapes: shapes)
      }
    }
    guard case .value(let range) = found else { return nil }
    return RecordValue(record, range)
  }

  /// Negative, zero or positive if the name at `index` sorts before, equals, or sorts after `name`.
  package func compareName(at index: Int, to name: String) -> Int {
    if let names { return names.names[index].comparedInUTF8(to: name) }
    var name = name
    let place = entry(index).name
    return name.withUTF8 { name in
      record.withSpans { bytes, _ in
        bytes.extracting(place).compare(with: unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(name)))
      }
    }
  }

  private func entry(_ index: Int) -> (name: Range<Int>, value: Range<Int>) {
    let parts = record.withSpans { bytes, _ in
      layout.range(ofEntry: index, in: bytes).flatMap { RecordLayout.parts(ofEntry: $0, in: bytes) }
    }
    guard let parts else { preconditionFailure("a record was not checked before it was read") }
    return parts
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

  package var string: String? {
    tag == .string ? record.withSpans { bytes, _ in String(record: bytes.extracting(payload)) } : nil
  }

  package var integer: Int64? {
    tag == .integer ? record.withSpans { bytes, _ in bytes.extracting(payload).signed } : nil
  }

  package var double: Double? {
    guard tag == .double else { return nil }
    return Double(bitPattern: record.withSpans { bytes, _ in bytes.extracting(payload).doubleBits })
  }

  /// The strings of an array; nil unless the value is an array of strings only.
  package var strings: [String]? { elements(.string) { String(record: $0) } }

  /// The integers of an array; nil unless the value is an array of integers only.
  package var integers: [Int64]? { elements(.integer) { $0.signed } }

  /// The doubles of an array; nil unless the value is an array of doubles only.
  package var doubles: [Double]? { elements(.double) { Double(bitPattern: $0.doubleBits) } }

  private func elements<Element>(
    _ only: RecordCodec.Tag, _ element: (_ payload: RawSpan) -> Element?
  ) -> [Element]? {
    guard tag == .array else { return nil }
    return record.withSpans { bytes, _ in
      guard let layout = RecordLayout(arrayIn: bytes, from: payload.lowerBound, to: payload.upperBound)
      else { return nil }
      var elements: [Element] = []
      elements.reserveCapacity(layout.count)
      var start = layout.first
      for index in 0..<layout.count {
        guard let end = layout.end(ofValue: index, from: start, in: bytes),
          bytes.byte(at: start) == only.rawValue, let next = element(bytes.extracting(start + 1..<end))
        else { return nil }
        elements.append(next)
        start = end
      }
      return elements
    }
  }

  package var boolean: Bool? {
    switch tag {
    case .true: true
    case .false: false
    default: nil
    }
  }

  /// Whether the value is null. A pending timestamp counts as null.
  package var isNull: Bool { tag == .null || tag == .pendingTimestamp }

  /// The map; nil if the value is not a map.
  package var map: RecordMap? { tag == .map ? RecordMap(record, payload) : nil }

  /// The elements; nil if the value is not an array.
  package var elements: [RecordValue]? { elements { $0 } }

  /// The elements transformed by `body`; nil if the value is not an array.
  package func elements<Element>(_ body: (RecordValue) -> Element) -> [Element]? {
    guard tag == .array else { return nil }
    return record.withSpans { bytes, _ in
      guard let layout = RecordLayout(arrayIn: bytes, from: payload.lowerBound, to: payload.upperBound)
      else { return nil }
      var elements: [Element] = []
      elements.reserveCapacity(layout.count)
      var start = layout.first
      for index in 0..<layout.count {
        guard let end = layout.end(ofValue: index, from: start, in: bytes) else { return nil }
        elements.append(body(RecordValue(record, start..<end)))
        start = end
      }
      return elements
    }
  }
}
