// What the logs say beyond the checkpoint, for the indexes of a store that is opened: many documents at a time, of which
// only the fields that indexes have are decoded.

import ByteStore

extension IndexSet {
  /// Takes up what a store has, and all that its logs say beyond the checkpoint.
  func catchUp(with store: ByteStore) throws(ByteStoreError) {
    load(from: store.checkpoint, path: store.path)
    shapes.catchUp(with: store)
    var recovered = RecoveredDocuments(state.withLock { $0.indexes.map(\.definition) }, shapes.table)
    let trees = store.isAllRecovered ? state.withLock { RecoveredTrees($0) } : nil
    try store.forEachRecoveredChange { change throws(ByteStoreError) in
      recovered.add(change)
      if recovered.isFull { apply(recovered.take(), trees) }
    }
    apply(recovered.take(), trees)
    state.withLock { trees?.finish(&$0) }
  }

  private func apply(_ recovered: (changes: IndexChanges, ordinals: [UInt32]), _ trees: RecoveredTrees?) {
    state.withLock { state in
      if let trees {
        trees.add(recovered.changes, recovered.ordinals, &state)
      } else {
        state.apply(recovered.changes, recovered.ordinals)
      }
    }
  }
}

/// Changes of documents that are to be applied together.
private struct RecoveredDocuments {
  private static let countMax = 512
  /// Of their records: the values that indexes have, and their keys, are in memory together.
  private static let bytesMax = 1 << 20

  private let shapes: ShapeTable
  /// What the indexes of a collection's id have.
  private var fields: [String: [StoredFieldPath]] = [:]
  private var changes: [IndexChanges.Change] = []
  private var ordinals: [UInt32] = []
  private var bytes = 0

  init(_ definitions: [IndexDefinition], _ shapes: ShapeTable) {
    self.shapes = shapes
    for definition in definitions {
      for field in definition.fields where fields[definition.collectionID]?.contains(field.path) != true {
        fields[definition.collectionID, default: []].append(field.path)
      }
    }
  }

  var isFull: Bool { changes.count >= Self.countMax || bytes >= Self.bytesMax }

  mutating func take() -> (changes: IndexChanges, ordinals: [UInt32]) {
    defer { (changes, ordinals, bytes) = ([], [], 0) }
    return (IndexChanges(changes), ordinals)
  }

  mutating func add(_ change: ByteStore.RecoveredChange) {
    guard change.key.first == DocumentKey.keyspace, let path = DocumentKey.decode(change.key) else { return }
    bytes += (change.before?.value.count ?? 0) + (change.after?.value.count ?? 0)
    let fields = self.fields[path.collectionID]
    let before = self.before(change, path, fields)
    let after = change.after.map { self.after($0.value, path, fields) }
    // One that was removed and made again may have another ordinal: all its keys get it.
    if let old = change.before, let new = change.after, old.ordinal != new.ordinal {
      add(path, change.key, before, nil, .max)
      add(path, change.key, .none, after, new.ordinal)
    } else {
      add(path, change.key, before, after, change.after?.ordinal ?? .max)
    }
  }

  private mutating func add(
    _ path: DocumentPath, _ key: [UInt8], _ before: IndexChanges.Before, _ after: StoredDocument?,
    _ ordinal: UInt32
  ) {
    changes.append(IndexChanges.Change(path: path, key: key, before: before, after: after))
    ordinals.append(ordinal)
  }

  private func before(
    _ change: ByteStore.RecoveredChange, _ path: DocumentPath, _ fields: [StoredFieldPath]?
  ) -> IndexChanges.Before {
    guard let before = change.before else { return .none }
    guard let fields else { return .document(Self.document(path, StoredMap())) }
    return values(of: fields, in: before.value).map { .document(Self.document(path, $0)) } ?? .unknown
  }

  /// A record that is none has no keys in any index; whoever reads it is told.
  private func after(
    _ record: [UInt8], _ path: DocumentPath, _ fields: [StoredFieldPath]?
  ) -> StoredDocument {
    Self.document(path, fields.flatMap { values(of: $0, in: record) } ?? StoredMap())
  }

  private static func document(_ path: DocumentPath, _ fields: StoredMap) -> StoredDocument {
    StoredDocument(path: path, createTime: .epoch, updateTime: .epoch, fields: fields)
  }

  /// Nil if the record is none, in whichever field.
  private func values(of fields: [StoredFieldPath], in record: [UInt8]) -> StoredMap? {
    do throws(RecordError) {
      try RecordCodec.check(record.rawSpan, shapes)
      var values = StoredMap()
      for field in fields {
        if let value = try RecordCodec.value(at: field, in: record.rawSpan, shapes) {
          values.set(value, at: field)
        }
      }
      return values
    } catch {
      return nil
    }
  }
}
