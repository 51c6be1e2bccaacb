// Makes the key changes of a commit, for the name index and for all indexes of the changed collections.
//
//   1. Find the collection of a changed document, and thereby the indexes.
//   2. Locate the values of both states, if they are records with shapes. Find out which values differ.
//   3. Skip the indexes whose fields are all unchanged. Make the keys of both states for the other indexes.
//
// A state that is not a record with a shape is compared by RecordPairKeys, or as decoded values.

import ByteStore

/// Makes the keys of one commit after another. The buffers are kept for the next commit.
struct CommitKeyMaker: ~Copyable {
  /// An index, and its plans that were used last.
  private struct Index {
    let plans: KeyPlans
    /// The index's collections, as an index of `groups`.
    let group: Int
    var plan = KeyPlan.none
    var otherPlan = KeyPlan.none
    /// The positions of the fields in decoded documents; nil until a document is compared as decoded values.
    var fields: IndexedFields?
  }

  private var indexes: [Index] = []
  /// The encoded ids of the collections with indexes, as ranges of `groupBytes`.
  private var groups: [Range<Int>] = []
  private var groupBytes = KeyBuffer()
  /// The group of the previous document. The documents of a commit are mostly in few collections.
  private var current = 0
  /// The database whose shapes have plans; nil until a record with a shape is compared.
  private var origin: ShapeTable.Origin?

  private var old = RecordSlots()
  private var new = RecordSlots()
  private var oldKeys = DocumentKeys()
  private var newKeys = DocumentKeys()
  private var places = FieldPlaces()
  private var composer = KeyComposer()

  init() {}

  // MARK: Commits

  /// Adds the key changes of a commit to those of its indexes, and the changed names to `names`.
  mutating func add(
    _ changes: [CommitChange], to keys: inout [IndexKeys], names: inout KeyChanges?
  ) {
    for place in keys.indices { add(keys[place].plans) }
    defer { end() }
    // Use a buffer pointer, because each access to an array element would retain the document.
    unsafe changes.withUnsafeBufferPointer { changes in
      for place in changes.indices {
        let key = unsafe changes[place].key
        let document = DocumentKeyParts(key.rawSpan, LastSegments(trusted: key.rawSpan))
        if names != nil, unsafe !changes[place].isReplacement {
          let isAdded = unsafe changes[place].hasAfter
          names?.addName(document.collection, key.rawSpan, at: place, isAdded: isAdded)
        }
        guard let group = findGroup(document.collection) else { continue }
        unsafe add(changes, place, group: group, of: document, to: &keys)
      }
    }
  }

  /// Adds an index.
  private mutating func add(_ plans: KeyPlans) {
    let id = plans.group
    let group = findGroup(id.rawSpan) ?? groups.count
    if group == groups.count {
      let start = groupBytes.count
      groupBytes.append(copying: id.rawSpan)
      groups.append(start..<groupBytes.count)
    }
    indexes.append(Index(plans: plans, group: group))
  }

  private mutating func end() {
    indexes.removeAll(keepingCapacity: true)
    groups.removeAll(keepingCapacity: true)
    groupBytes.removeAll()
    current = 0
    origin = nil
    composer.plans = .none
    composer.shrink()
    oldKeys.shrink()
    newKeys.shrink()
  }

  private mutating func findGroup(_ id: RawSpan) -> Int? {
    if current < groups.count, groupBytes.bytes.extracting(groups[current]).isSame(as: id) { return current }
    for group in groups.indices where groupBytes.bytes.extracting(groups[group]).isSame(as: id) {
      current = group
      return group
    }
    return nil
  }

  // MARK: Documents

  /// Adds the key changes of a document in all indexes of a group.
  private mutating func add(
    _ changes: UnsafeBufferPointer<CommitChange>, _ place: Int, group: Int, of document: DocumentKeyParts,
    to keys: inout [IndexKeys]
  ) {
    let records = unsafe changes[place].records
    var changed: SlotSet?
    if let records {
      changed = changedSlots(records)
      if let changed, changed.isEmpty { return }
    }
    for index in indexes.indices where indexes[index].group == group {
      guard let records, !indexes[index].plans.hasDocumentID else {
        unsafe decode(changes, place, for: index, to: &keys)
        continue
      }
      guard let changed else {
        if !addPair(records, document, at: place, for: index, to: &keys) {
          unsafe decode(changes, place, for: index, to: &keys)
        }
        continue
      }
      if isUntouched(index, records, by: changed) { continue }
      if makeKeys(of: document, records, for: index) {
        keys[index].keys.add(from: oldKeys, to: newKeys, at: place)
      } else {
        unsafe decode(changes, place, for: index, to: &keys)
      }
    }
  }

  /// Locates the values of both states. Returns the slots that differ, or all slots if the states have
  /// different shapes or if only one of them exists. Returns nil if a state is not a record with a shape.
  private mutating func changedSlots(_ records: RecordStates) -> SlotSet? {
    guard let first = records.after ?? records.before else { return SlotSet() }
    if origin == nil { origin = first.shapes.origin }
    guard first.shapes.origin === origin else { return nil }
    guard let before = records.before, let after = records.after else {
      let isLocated = first.withSpans { record, shapes in
        records.after == nil ? old.locate(record, shapes: shapes) : new.locate(record, shapes: shapes)
      }
      return isLocated ? .all : nil
    }
    guard before.shapes.origin === origin else { return nil }
    return before.withSpans { oldRecord, oldShapes in
      after.withSpans { newRecord, newShapes in
        guard old.locate(oldRecord, shapes: oldShapes), new.locate(newRecord, shapes: newShapes) else {
          return nil
        }
        guard old.shape == new.shape else { return .all }
        return RecordSlots.differences(old, in: oldRecord, to: new, in: newRecord)
      }
    }
  }

  /// Whether an update has changed no field of an index.
  private mutating func isUntouched(_ index: Int, _ records: RecordStates, by changed: SlotSet) -> Bool {
    guard records.before != nil, let after = records.after, old.shape == new.shape else { return false }
    choosePlan(index, shape: new.shape, at: new.shapePlace, of: after)
    return indexes[index].plan.set.isDisjoint(with: changed)
  }

  /// Replaces `oldKeys` and `newKeys` by the keys of both states. Returns false if a state is unreadable.
  private mutating func makeKeys(
    of document: DocumentKeyParts, _ records: RecordStates, for index: Int
  ) -> Bool {
    if composer.plans !== indexes[index].plans { composer.plans = indexes[index].plans }
    oldKeys.removeAll()
    newKeys.removeAll()
    if let before = records.before {
      choosePlan(index, shape: old.shape, at: old.shapePlace, of: before)
      let isReadable = before.withSpans { record, shapes in
        locate(index, isNew: false, in: record, shapes: shapes)
          && composer.makeKeys(of: document, record, shapes: before.shapes, at: places, into: &oldKeys)
      }
      guard isReadable else { return false }
    }
    guard let after = records.after else { return true }
    choosePlan(index, shape: new.shape, at: new.shapePlace, of: after)
    return after.withSpans { record, shapes in
      locate(index, isNew: true, in: record, shapes: shapes)
        && composer.makeKeys(of: document, record, shapes: after.shapes, at: places, into: &newKeys)
    }
  }

  /// Makes the plan of a shape the current plan of an index.
  private mutating func choosePlan(_ index: Int, shape: Int, at place: Int, of record: CheckedRecord) {
    guard indexes[index].plan.shape != shape else { return }
    let former = indexes[index].plan
    indexes[index].plan = indexes[index].otherPlan
    indexes[index].otherPlan = former
    guard indexes[index].plan.shape != shape else { return }
    indexes[index].plan = indexes[index].plans.plan(shape: shape, place: place, shapes: record.shapes)
  }

  /// Locates the fields of an index in a state. Returns false if the record is unreadable.
  private mutating func locate(_ index: Int, isNew: Bool, in record: RawSpan, shapes: RawSpan) -> Bool {
    places.removeAll()
    for field in indexes[index].plan.slots.indices {
      let slot = indexes[index].plan.slots[field]
      var place = isNew ? new[slot] : old[slot]
      if let outer = place, composer.plans.fields[field].isNested {
        place = RecordKeys.place(of: composer.plans.names[field], record, below: outer, shapes: shapes)
        if place == nil { return false }
      }
      places.append(place ?? FieldPlaces.absent)
    }
    return true
  }

  // MARK: Other documents

  /// Adds the key changes between two records of which one has no shape, or a shape of another database.
  /// Returns false if a record is unreadable.
  private func addPair(
    _ records: RecordStates, _ document: DocumentKeyParts, at place: Int, for index: Int,
    to keys: inout [IndexKeys]
  ) -> Bool {
    var pair = RecordPairKeys(indexes[index].plans, (records.after ?? records.before)?.shapes.origin)
    let outcome = pair.compare(document.key, records)
    guard outcome != .undecided else { return false }
    keys[index].keys.add(outcome, pair, at: place)
    return true
  }

  /// Adds the key changes between decoded values.
  @inline(never)
  private mutating func decode(
    _ changes: UnsafeBufferPointer<CommitChange>, _ place: Int, for index: Int, to keys: inout [IndexKeys]
  ) {
    var fields = indexes[index].fields ?? IndexedFields(indexes[index].plans.definition)
    unsafe keys[index].keys.add(changes[place], place, fields: &fields)
    indexes[index].fields = fields
  }
}

/// The records of both states of a document. A state that does not exist has no record.
struct RecordStates {
  let before: CheckedRecord?
  let after: CheckedRecord?
}

// These properties are inlined, because a call would copy the whole change.
extension CommitChange {
  @inline(__always)
  fileprivate var hasAfter: Bool { if case .some = after { true } else { false } }

  /// Whether the document existed before and still exists.
  @inline(__always)
  fileprivate var isReplacement: Bool {
    if case .document = before { hasAfter } else { false }
  }

  /// Nil if a state is unknown, or is not a record.
  @inline(__always)
  fileprivate var records: RecordStates? {
    var old: CheckedRecord?
    switch before {
    case .none: break
    case .unknown: return nil
    case .document(let document):
      guard let record = document.fields.record else { return nil }
      old = record
    }
    guard let after else { return RecordStates(before: old, after: nil) }
    guard let record = after.fields.record else { return nil }
    return RecordStates(before: old, after: record)
  }
}
