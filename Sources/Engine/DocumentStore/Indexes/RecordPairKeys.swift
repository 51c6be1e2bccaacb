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

  init(_ plans: KeyPlans, _ origin: ShapeTable.Origin?) { reader = RecordKeys(plans, origin) }

  // MARK: Comparing

  /// The encoded id of the indexed collections.
  var group: [UInt8] { reader.group }

  mutating func compare(_ key: RawSpan, _ records: RecordStates) -> Outcome {
    let (old, new) = (records.before?.bytes ?? [], records.after?.bytes ?? [])
    return compare(
      key, old.rawSpan, shapes: records.before?.shapes ?? .empty, to: new.rawSpan,
      shapes: records.after?.shapes ?? .empty)
  }

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
      !reader.composer.makeKeys(of: document, oldRecord, shapes: oldShapes, at: oldPlaces, into: &old)
    {
      return .undecided
    }
    if !newRecord.isEmpty,
      !reader.composer.makeKeys(of: document, newRecord, shapes: newShapes, at: newPlaces, into: &new)
    {
      return .undecided
    }
    return .changed
  }
}
