// Maps whose fields are the bytes of a record.

import ByteStore

extension StoredMap {
  /// A map with the fields of a record.
  init(_ record: CheckedRecord) { self.init(record as any EncodedFields) }

  /// The record with the fields of this map; nil if the map consists of entries.
  var record: CheckedRecord? {
    // A cast of an optional is slow, even if the optional is nil.
    guard let encoded else { return nil }
    return encoded as? CheckedRecord
  }
}

extension CheckedRecord: EncodedFields {
  var count: Int { RecordMap(self, fieldsStart..<bytes.count).count }

  var entries: [StoredMap.Entry] {
    withSpans { bytes, shapeBytes in
      let decoder = RecordDecoder(bytes, shapes, shapeBytes: shapeBytes)
      // The record was validated, so the decoding always succeeds.
      return (try? decoder.map(fieldsStart..<bytes.byteCount, depth: 0).entries) ?? []
    }
  }

  func value(of name: String) -> StoredValue? { RecordMap(self, fieldsStart..<bytes.count)[name]?.stored }

  func isSame(as other: any EncodedFields) -> Bool? {
    guard let other = other as? CheckedRecord, shapes.origin === other.shapes.origin,
      bytes[fieldsStart...] == other.bytes[other.fieldsStart...]
    else { return nil }
    return true
  }
}
