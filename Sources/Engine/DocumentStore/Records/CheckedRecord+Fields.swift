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

extension StoredDocument {
  /// The document of a record. Its fields stay encoded, so accesses decode only what they need.
  init(path: DocumentPath, encoded record: [UInt8], shapes: ShapeTable) throws(RecordError) {
    let head = try RecordCodec.decodeHead(record.rawSpan)
    self.init(
      path: path, createTime: head.createTime, updateTime: head.updateTime,
      fields: StoredMap(try CheckedRecord(record, shapes)))
  }
}

extension CheckedRecord: EncodedFields {
  /// The bytes of the fields.
  var fields: Range<Int> { fieldsStart..<bytes.count }

  var count: Int {
    withSpans { bytes, shapes in
      RecordLayout(mapIn: bytes, from: fieldsStart, to: bytes.byteCount, shapes: shapes)?.count ?? 0
    }
  }

  var entries: [StoredMap.Entry] {
    withSpans { bytes, shapeBytes in
      let decoder = RecordDecoder(bytes, shapes, shapeBytes: shapeBytes)
      do throws(RecordError) {
        return try decoder.map(fieldsStart..<bytes.byteCount, depth: 0).entries
      } catch {
        // The record was checked, or one of our encoders wrote it. If decoding fails all the same, no limit
        // may accept the document as one without fields.
        assertionFailure("a checked record does not decode: \(error)")
        return StoredDocument.damagedFields.entries
      }
    }
  }

  func value(of name: String) -> StoredValue? {
    var name = name
    return withSpans { bytes, shapeBytes in
      let found = name.withUTF8 { name in
        let name = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(name))
        return RecordLayout(mapIn: bytes, from: fieldsStart, to: bytes.byteCount, shapes: shapeBytes)?
          .find(name, in: bytes, shapes: shapeBytes)
      }
      guard case .value(let range)? = found else { return nil }
      return try? RecordDecoder(bytes, shapes, shapeBytes: shapeBytes).value(range, depth: 0)
    }
  }

  func value(at path: StoredFieldPath) -> StoredValue? {
    withSpans { bytes, shapeBytes in
      let decoder = RecordDecoder(bytes, shapes, shapeBytes: shapeBytes)
      return (try? decoder.value(at: path.names[...], inMap: fieldsStart..<bytes.byteCount, depth: 0)) ?? nil
    }
  }

  func isSame(as other: any EncodedFields) -> Bool? {
    guard let other = other as? CheckedRecord else { return nil }
    if self === other { return true }
    let areShapesSame = shapes.origin === other.shapes.origin
    return withSpans { bytes, shapes in
      other.withSpans { otherBytes, otherShapes in
        let comparison = FieldsComparison(
          FieldsComparison.Side(bytes, shapes: shapes),
          FieldsComparison.Side(otherBytes, shapes: otherShapes), areShapesSame: areShapesSame)
        return comparison.areSame(maps: fields, other.fields)
      }
    }
  }
}
