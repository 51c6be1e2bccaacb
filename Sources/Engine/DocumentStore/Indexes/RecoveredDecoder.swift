// Decodes the indexed fields of documents in the WAL, and no other fields.

import ByteStore

struct RecoveredDecoder: Sendable {
  private let shapes: ShapeTable
  /// The indexed fields by collection id.
  private let fields: [String: [StoredFieldPath]]

  init(_ definitions: [IndexDefinition], _ shapes: ShapeTable) {
    self.shapes = shapes
    var fields: [String: [StoredFieldPath]] = [:]
    for definition in definitions {
      for field in definition.fields where fields[definition.collectionID]?.contains(field.path) != true {
        fields[definition.collectionID, default: []].append(field.path)
      }
    }
    self.fields = fields
  }

  func documents(of part: [ByteStore.RecoveredChange]) -> RecoveredDocuments {
    var changes: [IndexChanges.Change] = []
    var ordinals: [UInt32] = []
    changes.reserveCapacity(part.count)
    ordinals.reserveCapacity(part.count)
    for change in part {
      guard let path = DocumentKey.decode(change.key) else { continue }
      let fields = self.fields[path.collectionID]
      var before = self.before(change, path, fields: fields)
      let after = change.after.map { self.after($0.value, path, fields: fields) }
      // An undecodable record has no keys in any index, so the indexes of its collection must not answer
      // queries.
      if after?.fields == StoredDocument.damagedFields { before = .unknown }
      // A document that was deleted and created again may have a new ordinal. The change is then split into a
      // removal and an addition, so that all keys of the document get the new ordinal.
      if let old = change.before, let new = change.after, old.ordinal != new.ordinal {
        changes.append(IndexChanges.Change(path: path, key: change.key, before: before, after: nil))
        changes.append(IndexChanges.Change(path: path, key: change.key, before: .none, after: after))
        ordinals += [.max, new.ordinal]
      } else {
        changes.append(IndexChanges.Change(path: path, key: change.key, before: before, after: after))
        ordinals.append(change.after?.ordinal ?? .max)
      }
    }
    return RecoveredDocuments(changes: IndexChanges(changes), ordinals: ordinals)
  }

  private func before(
    _ change: ByteStore.RecoveredChange, _ path: DocumentPath, fields: [StoredFieldPath]?
  ) -> IndexChanges.Before {
    guard let before = change.before else { return .none }
    guard let fields else { return .document(Self.document(path, StoredMap())) }
    return values(of: fields, in: before.value).map { .document(Self.document(path, $0)) } ?? .unknown
  }

  /// The document has `StoredDocument.damagedFields` if its collection is indexed and the record cannot be
  /// decoded.
  private func after(
    _ record: [UInt8], _ path: DocumentPath, fields: [StoredFieldPath]?
  ) -> StoredDocument {
    guard let fields else { return Self.document(path, StoredMap()) }
    return Self.document(path, values(of: fields, in: record) ?? StoredDocument.damagedFields)
  }

  private static func document(_ path: DocumentPath, _ fields: StoredMap) -> StoredDocument {
    StoredDocument(path: path, createTime: .epoch, updateTime: .epoch, fields: fields)
  }

  /// Nil if any part of the record cannot be decoded.
  private func values(of fields: [StoredFieldPath], in record: [UInt8]) -> StoredMap? {
    do throws(RecordError) {
      try RecordCodec.check(record.rawSpan, shapes)
      var values = StoredMap()
      for field in fields {
        if let value = try RecordCodec.value(at: field, in: record.rawSpan, shapes: shapes) {
          values.set(value, at: field)
        }
      }
      return values
    } catch {
      return nil
    }
  }
}
