// Documents whose fields are records with shapes, outside of a store. For tests, which compare each function
// on records with the same function on entries.

import ByteStore

/// A dictionary of shapes, and the functions of documents whose fields are records with these shapes.
package final class ShapedRecords: Sendable {
  private let dictionary = ShapeDictionary()

  package init() { dictionary.begin(from: 0) }

  /// The document with its fields as a record, and the shapes that this record uses.
  package func encode(_ document: StoredDocument) -> (document: StoredDocument, shapes: Set<Int>) {
    var encoder = RecordEncoder(shapes: dictionary)
    let range = encoder.append(document)
    let start = encoder.bytes.rawSpan.extracting(range)
    let fieldsStart = RecordCodec.fieldsStart(start) ?? 0
    let record = CheckedRecord(
      trusted: Array(encoder.bytes[range]), dictionary.table, fieldsStart: fieldsStart, checkedSize: nil)
    return (document.with(StoredMap(record)), encoder.used)
  }

  /// The document of a record, with its fields as a record. Throws if the bytes are not valid.
  package func decode(_ bytes: [UInt8], at path: DocumentPath) throws(RecordError) -> StoredDocument {
    let record = try CheckedRecord(bytes, dictionary.table)
    let head = try RecordCodec.decodeHead(bytes.rawSpan)
    return StoredDocument(
      path: path, createTime: head.createTime, updateTime: head.updateTime, fields: StoredMap(record))
  }

  /// The outcome of a mutation as the commits of a store compute it.
  package func outcome(
    of mutation: Mutation, on base: StoredDocument?, at time: StoredTimestamp
  ) throws(DocumentStoreError) -> Mutation.Outcome {
    try mutation.outcome(on: base, at: time, updated: nil, shapes: dictionary)
  }

  /// Whether the map consists of the bytes of a record.
  package static func isRecord(_ fields: StoredMap) -> Bool { fields.record != nil }

  /// Whether the size of the document's record was computed when it was written.
  package static func hasKnownSize(_ document: StoredDocument) -> Bool {
    document.fields.record?.checkedSize != nil
  }

  /// The bytes of the document's record; nil if its fields are not a record.
  package static func bytes(of document: StoredDocument) -> [UInt8]? { document.fields.record?.bytes }

  /// The bytes of the document's fields; nil if they are not a record.
  package static func fieldBytes(of document: StoredDocument) -> [UInt8]? {
    document.fields.record.map { Array($0.bytes[$0.fields]) }
  }

  /// The shapes that the document's record uses, by walking it.
  package static func shapes(of document: StoredDocument) -> Set<Int> {
    var ids: Set<Int> = []
    document.fields.record?.collectShapes(into: &ids)
    return ids
  }

  /// The keys that a change from one document to another removes from an index, in key order, and then those
  /// that it adds to it.
  package static func keys(
    from before: StoredDocument, to after: StoredDocument, in definition: IndexDefinition
  ) -> [(key: [UInt8], isAdded: Bool)] {
    let change = IndexChanges.Change(
      path: after.path, key: DocumentKey.encode(after.path), before: .document(before), after: after)
    var keys: [(key: [UInt8], isAdded: Bool)] = []
    KeyChanges([change], definition).forEach { entry, key in
      keys.append((Array(copying: key), entry.isAdded))
    }
    // Decoded values give the keys of an array's elements in the order of the array.
    return keys.sorted { left, right in
      left.isAdded == right.isAdded
        ? left.key.lexicographicallyPrecedes(right.key) : right.isAdded
    }
  }
}

extension StoredDocument {
  /// The document with other fields.
  fileprivate func with(_ fields: StoredMap) -> StoredDocument {
    StoredDocument(path: path, createTime: createTime, updateTime: updateTime, fields: fields)
  }

  /// The document with its fields as entries.
  package var decoded: StoredDocument { with(StoredMap(sorted: fields.entries)) }
}
