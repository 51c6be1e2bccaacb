// Reads and writes fields in tests, with both readers.

import ByteStore
import DocumentStore
import OfflineSync

@testable import FirestoreWire

enum FieldsCoding {
  /// The fields of a document message, as the hot path reads them.
  static func read(protobuf entries: [UInt8], _ reading: DocumentReading = .standard) throws -> StoredMap {
    try Wire.Document(protobuf: entries, limits: limits(reading)).fields
  }

  /// The fields of a document message, as the reader of trees reads them. All entries must follow each other.
  static func readTree(protobuf entries: [UInt8], _ rules: ValueRules = .written) throws(WireError)
    -> StoredMap
  {
    guard entries.first == 0x12 else { return StoredMap() }
    let rest = Array(entries.dropFirst())
    var reader = ProtobufValueReader(rest.rawSpan, rules)
    return try reader.fields(behind: ProtobufTag(2, .length)).fields
  }

  static func read(json text: String, _ reading: DocumentReading = .standard) throws -> StoredMap {
    try Wire.Document(json: Array(#"{"fields":\#(text)}"#.utf8), limits: limits(reading)).fields
  }

  static func readTree(json text: String, _ rules: ValueRules = .written) throws(WireError) -> StoredMap {
    let bytes = Array(text.utf8)
    var reader = try JSONReader(bytes.rawSpan)
    var trees = JSONValueReader(rules)
    return try trees.fields(&reader)
  }

  static func protobuf(_ fields: StoredMap) throws -> [UInt8] {
    var writer = ProtobufWriter()
    try DocumentFieldsWriter.write(fields, as: 2, to: &writer)
    return writer.bytes
  }

  static func json(_ fields: StoredMap) throws -> String {
    var writer = JSONWriter()
    try DocumentFieldsWriter.write(fields, to: &writer)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  private static func limits(_ reading: DocumentReading) -> WireLimits {
    var limits = WireLimits()
    limits.documents = reading
    return limits
  }
}
