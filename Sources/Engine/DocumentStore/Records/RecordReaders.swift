// All ways to read one record. For tests, which compare them.

import ByteStore

/// Reads records with the same shapes: decoded, checked, measured and as views.
package struct RecordReaders: Sendable {
  private let shapes: ShapeTable

  /// The shapes are indexed by id. The names in each shape must be sorted by bytes.
  package init(shapes names: [[String]]) {
    let dictionary = ShapeDictionary()
    for (id, names) in names.enumerated() { dictionary.add(Shape(id: id, names: names)) }
    shapes = dictionary.table
  }

  /// The fields as entries.
  package func decoded(_ record: [UInt8]) throws(RecordError) -> StoredMap {
    try RecordCodec.decodeFields(record.rawSpan, shapes)
  }

  /// The fields as the bytes of the record, after a check of these bytes.
  package func checked(_ record: [UInt8]) throws(RecordError) -> StoredMap {
    StoredMap(try CheckedRecord(record, shapes))
  }

  /// Whether the head is valid and the validator accepts the fields.
  package func isValid(_ record: [UInt8]) -> Bool {
    guard let start = try? RecordCodec.decodeHead(record.rawSpan).bytes else { return false }
    let shapeBytes = shapes.bytes
    let validator = RecordValidator(record.rawSpan, shapes: shapeBytes.rawSpan)
    return validator.isMap(from: start, to: record.count, depth: 0)
  }

  /// Firestore's size of the fields, computed without a check of the record. Nil if a limit may be exceeded.
  package func measured(_ record: [UInt8]) -> Int? {
    guard let start = try? RecordCodec.decodeHead(record.rawSpan).bytes else { return nil }
    let shapeBytes = shapes.bytes
    var measure = RecordMeasure(record.rawSpan, shapes: shapeBytes.rawSpan)
    return measure.add(map: start..<record.count, depth: 0) ? measure.size : nil
  }

  /// Calls `body` with a view of the record, which need not be valid.
  package func withView<Result>(
    _ record: [UInt8], _ body: (borrowing DocumentView) -> Result
  ) -> Result {
    let key: [UInt8] = []
    let shapeBytes = shapes.bytes
    return body(DocumentView(key: key.rawSpan, record: record.rawSpan, shapes: shapeBytes.rawSpan))
  }
}
