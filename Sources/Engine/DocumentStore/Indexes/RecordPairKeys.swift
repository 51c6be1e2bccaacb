// Compares the records of two states of a document by the keys in one index.

import ByteStore

struct RecordPairKeys: ~Copyable {
  enum Outcome {
    /// Both states have equal keys and equal numbers.
    case unchanged
    /// `old` and `new` have the keys of both states. These keys may be equal.
    case changed
    /// A state is not a record, or its record is unreadable.
    case undecided
  }

  private(set) var old = DocumentKeys()
  private(set) var new = DocumentKeys()
  private var reader: RecordKeys
  private var oldPlaces = FieldPlaces()
  private var newPlaces = FieldPlaces()
  /// False if a field of the index is not in the records.
  private let isReadable: Bool

  init(_ definition: IndexDefinition, _ origin: ShapeTable.Origin?) {
    reader = RecordKeys(definition, origin)
    isReadable = !reader.plans.hasDocumentID
  }

  /// The first record of the changed documents; nil if all of them are decoded.
  static func firstRecord(in changes: [IndexChanges.Change]) -> CheckedRecord? {
    // Use a buffer pointer, because each access to an array element would retain the document.
    unsafe changes.withUnsafeBufferPointer { changes in
      for place in changes.indices {
        if let record = unsafe changes[place].after?.fields.record { return record }
        if case .document(let before) = unsafe changes[place].before, let record = before.fields.record {
          return record
        }
      }
      return nil
    }
  }

  // MARK: Comparing

  mutating func compare(_ change: borrowing IndexChanges.Change) -> Outcome {
    guard isReadable else { return .undecided }
    var (before, after): (CheckedRecord?, CheckedRecord?)
    switch change.before {
    case .none: break
    case .unknown: return .undecided
    case .document(let document):
      before = document.fields.record
      if before == nil { return .undecided }
    }
    if let document = change.after {
      after = document.fields.record
      if after == nil { return .undecided }
    }
    return compare(change.key.rawSpan, before, to: after)
  }

  private mutating func compare(
    _ key: RawSpan, _ before: CheckedRecord?, to after: CheckedRecord?
  ) -> Outcome {
    let (old, new) = (before?.bytes ?? [], after?.bytes ?? [])
    let (oldShapes, newShapes) = (before?.shapes ?? .empty, after?.shapes ?? .empty)
    return compare(key, old.rawSpan, shapes: oldShapes, to: new.rawSpan, shapes: newShapes)
  }

  /// The encoded id of the indexed collections.
  var group: [UInt8] { reader.group }

  /// Compares two records; an empty span means that there is no document.
  mutating func compare(
    _ key: RawSpan, _ oldRecord: RawSpan, shapes oldShapes: ShapeTable, to newRecord: RawSpan,
    shapes newShapes: ShapeTable
  ) -> Outcome {
    guard oldRecord.isEmpty || reader.locate(oldRecord, oldShapes, in: &oldPlaces),
      newRecord.isEmpty || reader.locate(newRecord, newShapes, in: &newPlaces)
    else { return .undecided }
    // Most updates change the fields of few indexes.
    if !oldRecord.isEmpty, !newRecord.isEmpty, oldShapes.origin === newShapes.origin,
      FieldPlaces.areSame(oldPlaces, in: oldRecord, as: newPlaces, in: newRecord)
    {
      return .unchanged
    }
    guard let document = DocumentKeyParts(key, inGroup: reader.group.rawSpan) else { return .undecided }
    old.removeAll()
    new.removeAll()
    if !oldRecord.isEmpty,
      !reader.makeKeys(of: document, oldRecord, shapes: oldShapes, at: oldPlaces, into: &old)
    {
      return .undecided
    }
    if !newRecord.isEmpty,
      !reader.makeKeys(of: document, newRecord, shapes: newShapes, at: newPlaces, into: &new)
    {
      return .undecided
    }
    return .changed
  }

  // MARK: Changes

  /// Calls `body` with the keys that only one of the states has, those of the old state first.
  func forEachChange(_ body: (_ key: RawSpan, _ isAdded: Bool) -> Void) {
    Self.forEach(in: old, without: new) { body($0, false) }
    Self.forEach(in: new, without: old) { body($0, true) }
  }

  /// Both lists of keys are sorted.
  private static func forEach(
    in keys: borrowing DocumentKeys, without others: borrowing DocumentKeys, _ body: (RawSpan) -> Void
  ) {
    var other = 0
    for index in 0..<keys.count {
      while other < others.count, others[other].precedes(keys[index]) { other += 1 }
      guard other == others.count || !others[other].isSame(as: keys[index]) else { continue }
      body(keys[index])
    }
  }
}
