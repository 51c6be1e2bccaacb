// Reads fields from JSON straight into a record: the usual case, without a tree of values.
//
// Every error means that the reader gives up, and JSONValueReader reads the same text again. That reader
// finds the error, and reads what this one does not: vectors, and values with more than one content.

import ByteStore
import DocumentStore

enum JSONRecordReader {
  private static let unusual = WireError("The fields have an unusual form.")

  /// Reads an object with the fields of a map. `depth` is the number of maps and arrays around the values.
  static func fields(
    _ reader: inout JSONReader, of map: RecordWriter.OpenMap, into writer: inout RecordWriter, depth: Int
  ) throws(WireError) {
    var key = try reader.beginObject()
    while let name = key {
      try reader.count()
      writer.field(name, in: map)
      try value(&reader, into: &writer, isElement: false, depth: depth)
      key = try reader.nextKey()
    }
  }

  private static func value(
    _ reader: inout JSONReader, into writer: inout RecordWriter, isElement: Bool, depth: Int
  ) throws(WireError) {
    guard let type = try reader.beginObject(), type.utf8.count <= JSONValueReader.typeBytesMax else {
      throw unusual
    }
    switch type {
    case "stringValue": writer.string(try reader.string())
    case "integerValue": writer.integer(try reader.int64())
    case "doubleValue": writer.double(try reader.double())
    case "booleanValue": writer.boolean(try reader.boolean())
    case "nullValue":
      try JSONValueReader.null(&reader)
      writer.null()
    case "timestampValue": writer.timestamp(try JSONValueReader.timestamp(&reader))
    case "bytesValue": write(try JSONValueReader.bytes(&reader), to: &writer)
    case "referenceValue":
      writer.reference(StoredReference(try ResourceName(try reader.string(), as: .reference)))
    case "geoPointValue": writer.geoPoint(try JSONValueReader.geoPoint(&reader))
    case "mapValue": try map(&reader, into: &writer, depth: depth)
    case "arrayValue":
      guard !isElement else { throw unusual }
      try array(&reader, into: &writer, depth: depth)
    default: throw unusual
    }
    guard try reader.nextKey() == nil else { throw unusual }
  }

  // A function, because the compiler does not accept a span of a value that another expression throws.
  private static func write(_ bytes: [UInt8], to writer: inout RecordWriter) { writer.bytes(bytes.rawSpan) }

  private static func map(
    _ reader: inout JSONReader, into writer: inout RecordWriter, depth: Int
  ) throws(WireError) {
    guard depth < ValueBudget.depthMax else { throw unusual }
    let map = writer.beginMap()
    if let key = try reader.beginObject() {
      guard key == "fields" else { throw unusual }
      // A vector has a field with a reserved name, which violates the limits of a record.
      try fields(&reader, of: map, into: &writer, depth: depth + 1)
      guard try reader.nextKey() == nil else { throw unusual }
    }
    writer.end(map)
  }

  private static func array(
    _ reader: inout JSONReader, into writer: inout RecordWriter, depth: Int
  ) throws(WireError) {
    guard depth < ValueBudget.depthMax else { throw unusual }
    let array = writer.beginArray()
    if let key = try reader.beginObject() {
      guard key == "values" else { throw unusual }
      var hasElement = try reader.beginArray()
      while hasElement {
        try reader.count()
        writer.element(in: array)
        try value(&reader, into: &writer, isElement: true, depth: depth + 1)
        hasElement = try reader.nextElement()
      }
      guard try reader.nextKey() == nil else { throw unusual }
    }
    writer.end(array)
  }
}
