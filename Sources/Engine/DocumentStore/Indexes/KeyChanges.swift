// Keys that a commit removes from an index and adds to it.

import ByteStore

/// Removed and added keys in the stored form of trees. All keys of a commit are in one array.
struct KeyChanges: Sendable {
  struct Entry: Sendable {
    /// Index of the change to which the key belongs.
    let place: Int
    let isAdded: Bool
    fileprivate let bytes: Range<Int>
  }

  private var bytes: [UInt8] = []
  private var entries: [Entry] = []
  /// The change of the index's number counts. The counts can change even if no key does, because an integer
  /// can be replaced by a double with an equal key.
  private(set) var numbers = NumberCounts()
  /// True if a change removes keys that are not known.
  private(set) var isUnknown = false

  /// Calls `body` with the keys of one change after another, removed keys first. A key that a change keeps is
  /// left out, because it already has its document's ordinal.
  func forEach<Failure: Error>(_ body: (Entry, RawSpan) throws(Failure) -> Void) throws(Failure) {
    for entry in entries { try body(entry, bytes.rawSpan.extracting(entry.bytes)) }
  }

  // MARK: Names

  init(namesOf changes: [IndexChanges.Change]) {
    entries.reserveCapacity(changes.count)
    // Use a buffer pointer, because each access to an array element would retain the document.
    unsafe changes.withUnsafeBufferPointer { changes in
      for place in changes.indices where unsafe !changes[place].isUpdate {
        let start = bytes.count
        unsafe NameKey.append(changes[place].path, documentKey: changes[place].key, to: &bytes)
        truncate(from: start)
        add(start..<bytes.count, place, isAdded: unsafe changes[place].after != nil)
      }
    }
  }

  /// Truncates the key that was appended from `start` on.
  private mutating func truncate(from start: Int) {
    guard bytes.count - start > StoredKey.keptBytes else { return }
    let key = StoredKey.of(Array(bytes[start...]))
    bytes.removeSubrange(start...)
    bytes += key
  }

  private mutating func add(_ bytes: Range<Int>, _ place: Int, isAdded: Bool) {
    if !bytes.isEmpty { entries.append(Entry(place: place, isAdded: isAdded, bytes: bytes)) }
  }

  // MARK: Indexes

  init(_ changes: [IndexChanges.Change], _ definition: IndexDefinition) {
    // Share the field positions, because the documents of a commit mostly have similar fields.
    var fields = IndexedFields(definition)
    unsafe changes.withUnsafeBufferPointer { changes in
      for place in changes.indices
      where unsafe definition.collectionID.isSameUTF8(as: changes[place].path.collectionID) {
        unsafe add(changes[place], place, fields: &fields)
      }
    }
  }

  private mutating func add(_ change: IndexChanges.Change, _ place: Int, fields: inout IndexedFields) {
    let before: StoredDocument?
    switch change.before {
    case .none: before = nil
    case .unknown: return isUnknown = true
    case .document(let document):
      // Most updates change the fields of few indexes.
      if let after = change.after, fields.areSame(in: document, after) { return }
      before = document
    }
    if fields.definition.hasElements {
      addElements(before, change.after, place: place, fields: &fields)
    } else {
      addOne(before, change.after, place: place, fields: &fields)
    }
  }

  private mutating func addOne(
    _ before: StoredDocument?, _ after: StoredDocument?, place: Int, fields: inout IndexedFields
  ) {
    let start = bytes.count
    if let before { numbers.add(fields.appendKey(of: before, to: &bytes), times: -1) }
    truncate(from: start)
    let middle = bytes.count
    if let after { numbers.add(fields.appendKey(of: after, to: &bytes)) }
    truncate(from: middle)
    if bytes[start..<middle] == bytes[middle...] {
      bytes.removeSubrange(start...)
    } else {
      add(start..<middle, place, isAdded: false)
      add(middle..<bytes.count, place, isAdded: true)
    }
  }

  private mutating func addElements(
    _ before: StoredDocument?, _ after: StoredDocument?, place: Int, fields: inout IndexedFields
  ) {
    let old = before.map { fields.entries(of: $0) } ?? (keys: [], numbers: NumberBits())
    let new = after.map { fields.entries(of: $0) } ?? (keys: [], numbers: NumberBits())
    numbers.add(old.numbers, times: -1)
    numbers.add(new.numbers)
    guard old.keys != new.keys else { return }
    let (left, right) = (Set(old.keys), Set(new.keys))
    for key in old.keys where !right.contains(key) { add(key, place, isAdded: false) }
    for key in new.keys where !left.contains(key) { add(key, place, isAdded: true) }
  }

  private mutating func add(_ key: [UInt8], _ place: Int, isAdded: Bool) {
    bytes += key
    add(bytes.count - key.count..<bytes.count, place, isAdded: isAdded)
  }
}
