// A document that was read: either encoded, so that only accessed fields are decoded, or already decoded.

import ByteStore

/// A document in one snapshot.
package struct DocumentRecord: Sendable {
  package let path: DocumentPath
  private let content: Content

  private enum Content {
    /// A validated record, so later accesses cannot fail.
    case record(CheckedRecord)
    case document(StoredDocument)
  }

  init(path: DocumentPath, record: [UInt8], shapes: ShapeTable) throws(RecordError) {
    self.path = path
    content = .record(try CheckedRecord(record, shapes))
  }

  package init(_ document: StoredDocument) {
    path = document.path
    content = .document(document)
  }

  /// The decoded document.
  package var document: StoredDocument {
    switch content {
    case .document(let document): document
    case .record(let record):
      // The record was validated, so the decoding always succeeds.
      record.withSpans({ bytes, _ in try? StoredDocument(path: path, record: bytes, shapes: record.shapes) })
        ?? StoredDocument(path: path, createTime: .epoch, updateTime: .epoch, fields: StoredMap())
    }
  }

  /// The document, whose fields stay encoded if they were. For callers that write the fields somewhere, or
  /// read few of them.
  package var encodedDocument: StoredDocument {
    guard case .record(let record) = content,
      let head = record.withSpans({ bytes, _ in try? RecordCodec.decodeHead(bytes) })
    else { return document }
    return StoredDocument(
      path: path, createTime: head.createTime, updateTime: head.updateTime, fields: StoredMap(record))
  }

  package var updateTime: StoredTimestamp {
    switch content {
    case .record(let record):
      record.withSpans { bytes, _ in (try? RecordCodec.decodeHead(bytes))?.updateTime } ?? .epoch
    case .document(let document): document.updateTime
    }
  }

  /// The size of the record.
  package var byteCount: Int {
    switch content {
    case .record(let record): record.bytes.count
    case .document(let document): document.record.count
    }
  }

  /// The encoded record; nil if the document was already decoded.
  var checked: CheckedRecord? {
    if case .record(let record) = content { record } else { nil }
  }

  package enum Fields: Sendable {
    case record(RecordMap)
    case stored(StoredMap)
  }

  package var fields: Fields {
    switch content {
    case .record(let record): .record(RecordMap(record, record.fieldsStart..<record.bytes.count))
    case .document(let document):
      if let record = document.fields.record {
        .record(RecordMap(record, record.fields))
      } else {
        .stored(document.fields)
      }
    }
  }

  package func value(at path: StoredFieldPath) -> StoredValue? {
    switch content {
    case .record(let record):
      record.withSpans { bytes, _ in
        (try? RecordCodec.value(at: path, in: bytes, shapes: record.shapes)) ?? nil
      }
    case .document(let document): document.fields[path]
    }
  }

  package func hasSameFields(as other: DocumentRecord) -> Bool {
    if case .record(let left) = content, case .record(let right) = other.content,
      left.shapes.origin === right.shapes.origin,
      left.bytes[left.fieldsStart...] == right.bytes[right.fieldsStart...]
    {
      return true
    }
    return document.fields == other.document.fields
  }
}
