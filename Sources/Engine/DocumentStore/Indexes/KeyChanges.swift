// Keys that a commit removes from an index and adds to it.
//
// If both states of a document are records, the keys are made from the records' bytes (CommitKeyMaker.swift).
// Otherwise, they are made from decoded values.

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

  /// The number of changed documents, if known.
  private let expected: Int
  private static let (expectedMax, keyBytesUsual) = (1024, 48)

  /// No changes. Makes room for the keys of `expected` documents when the first key is added.
  init(expected: Int = 0) { self.expected = min(expected, Self.expectedMax) }

  // MARK: Names

  init(namesOf changes: [IndexChanges.Change]) {
    self.init(expected: changes.count)
    // The encoded collection id of the previous change. Most changes of a commit are in few collections.
    var (id, group) = ("", [UInt8]())
    // Use a buffer pointer, because each access to an array element would retain the document.
    unsafe changes.withUnsafeBufferPointer { changes in
      for place in changes.indices where unsafe !changes[place].isUpdate {
        if unsafe !changes[place].path.collectionID.isSameUTF8(as: id) {
          unsafe id = changes[place].path.collectionID
          group.removeAll(keepingCapacity: true)
          DocumentKey.append(id, to: &group)
        }
        let key = unsafe changes[place].key
        unsafe addName(group.rawSpan, key.rawSpan, at: place, isAdded: changes[place].after != nil)
      }
    }
  }

  /// Adds a key of the name index. `group` is the document's encoded collection id, and `key` is its key in
  /// the store.
  mutating func addName(_ group: RawSpan, _ key: RawSpan, at place: Int, isAdded: Bool) {
    makeRoom()
    let start = bytes.count
    NameKey.append(group: group, documentKey: key, to: &bytes)
    truncate(from: start)
    add(start..<bytes.count, place, isAdded: isAdded)
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

  @inline(__always)
  private mutating func makeRoom() {
    guard entries.isEmpty, expected > 0 else { return }
    entries.reserveCapacity(expected)
    bytes.reserveCapacity(expected * Self.keyBytesUsual)
  }

  private mutating func add(_ key: RawSpan, _ place: Int, isAdded: Bool) {
    makeRoom()
    let start = bytes.count
    bytes.append(copying: key)
    entries.append(Entry(place: place, isAdded: isAdded, bytes: start..<bytes.count))
  }

  // MARK: Indexes

  init(_ changes: [IndexChanges.Change], _ definition: IndexDefinition) {
    var maker = CommitKeyMaker()
    var names: KeyChanges?
    var keys = [IndexKeys(index: 0, plans: definition.keyPlans, keys: KeyChanges())]
    maker.add(changes, to: &keys, names: &names)
    self = keys[0].keys
  }

  /// Adds the differences between the keys of two states of a document.
  mutating func add(from old: borrowing DocumentKeys, to new: borrowing DocumentKeys, at place: Int) {
    if old.numbers != new.numbers {
      numbers.add(old.numbers, times: -1)
      numbers.add(new.numbers)
    }
    DocumentKeys.forEachChange(from: old, to: new) { key, isAdded in add(key, place, isAdded: isAdded) }
  }

  /// Adds the outcome of a comparison. The previous keys of an undecided document are unknown.
  mutating func add(_ outcome: RecordPairKeys.Outcome, _ records: borrowing RecordPairKeys, at place: Int) {
    switch outcome {
    case .unchanged: break
    case .changed: add(from: records.old, to: records.new, at: place)
    case .undecided: isUnknown = true
    }
  }

  // MARK: Decoded values

  /// The changes of the keys, made from decoded values only.
  init(decoding changes: [IndexChanges.Change], _ definition: IndexDefinition) {
    self.init()
    var fields = IndexedFields(definition)
    unsafe changes.withUnsafeBufferPointer { changes in
      for place in changes.indices
      where unsafe definition.collectionID.isSameUTF8(as: changes[place].path.collectionID) {
        unsafe add(changes[place], place, fields: &fields)
      }
    }
  }

  mutating func add(_ change: IndexChanges.Change, _ place: Int, fields: inout IndexedFields) {
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
    for key in old.keys where !right.contains(key) { add(key.rawSpan, place, isAdded: false) }
    for key in new.keys where !left.contains(key) { add(key.rawSpan, place, isAdded: true) }
  }
}

extension KeyChanges {
  /// Whether both have equal keys and counts. The order of the keys of one change may differ.
  func isSame(as other: KeyChanges) -> Bool {
    isUnknown == other.isUnknown && numbers.agrees(with: other.numbers) && sortedKeys == other.sortedKeys
  }

  /// Whether the keys of `changes`, which were made from records, equal those made from decoded values. Looks
  /// at one in 64 documents, so that debug builds allocate about as much as release builds.
  func agree(with changes: [IndexChanges.Change], _ definition: IndexDefinition) -> Bool {
    for place in changes.indices where Self.isSample(changes[place].key) {
      let decoded = KeyChanges(decoding: [changes[place]], definition)
      guard KeyChanges([changes[place]], definition).isSame(as: decoded),
        sortedKeys(of: place) == decoded.sortedKeys(of: 0)
      else { return false }
    }
    return true
  }

  private static func isSample(_ key: [UInt8]) -> Bool {
    var hash: UInt8 = 0
    for index in key.indices { hash = hash &* 31 &+ key[index] }
    return hash % 64 == 0
  }

  private var sortedKeys: [[UInt8]] {
    Set(entries.map(\.place)).sorted().flatMap { place in
      sortedKeys(of: place).map { key in
        var placed: [UInt8] = []
        placed.append(ordered: UInt64(place))
        return placed + key
      }
    }
  }

  /// The keys of one change, each after a byte that is 1 if the key is added.
  private func sortedKeys(of place: Int) -> [[UInt8]] {
    entries.filter { $0.place == place }.map { [$0.isAdded ? 1 : 0] + bytes[$0.bytes] }
      .sorted { $0.lexicographicallyPrecedes($1) }
  }
}
