// The indexes of a store, kept with every commit.
//
// Invariants:
//   - A tree has the keys of all documents as of the last commit that readers see: the store of bytes applies
//     a commit to its table and to the trees at one moment.
//   - An index that could not follow a commit, or answer a query, since a page of it is damaged, is gone: it is
//     made again when a query needs it, and stays if it was asked for. The names cannot go; where they are not known, a
//     query first finds them all.
//   - While an index is built, commits are noted beside it.
//   - No count is below nothing or above what its tree can have: an index of which that is not so has been read from a
//     checkpoint that lies, and is gone too.

import ByteStore

/// One index and its keys.
struct ManagedIndex: Sendable {
  let id: UInt32
  let definition: IndexDefinition
  /// Made for a query, and may go again when others are more useful.
  var isAutomatic: Bool
  var tree = OrderedIndex()
  /// Keys of which the tree has only the beginning.
  var longKeys = 0
  /// Of the documents that have keys.
  var numbers = NumberCounts()
  /// When it was last of use, by a count of uses.
  var lastUse: UInt64 = 0

  var hasPossibleCounts: Bool {
    (0...tree.count).contains(longKeys) && numbers.isPossible(with: tree.count)
  }

  var withoutKeys: ManagedIndex {
    ManagedIndex(id: id, definition: definition, isAutomatic: isAutomatic, lastUse: lastUse)
  }
}

/// What a query sees of the indexes at its moment.
struct IndexView: Sendable {
  var names: OrderedIndex
  /// By the id of their collections.
  var nestedNames: [String: Int]
  var longNames: Int
  var indexes: [ManagedIndex]

  func index(_ definition: IndexDefinition) -> ManagedIndex? {
    indexes.first { $0.definition == definition }
  }

  /// Without the indexes of other collections.
  func of(_ collectionID: String) -> IndexView {
    var view = self
    view.indexes = indexes.filter { $0.definition.collectionID.isSameUTF8(as: collectionID) }
    return view
  }
}

final class IndexSet: LayerAbove {
  struct State {
    /// Nil until the names are known.
    var names: NameTree?
    var indexes: [ManagedIndex] = []
    /// Those that were asked for and are gone, without keys. The next query of their collections has them made again.
    var lost: [ManagedIndex] = []
    /// Why that failed, by their ids.
    var lostForGood: [UInt32: BuildFailure] = [:]
    /// Those that could not be made because a record of their collection cannot be decoded. Until it is overwritten or
    /// deleted, queries do without them.
    var impossible: [(definition: IndexDefinition, record: [UInt8])] = []
    var building: [Building] = []
    var nextID: UInt32 = 1
    /// Of indexes, one after the other.
    var uses: UInt64 = 0
    /// What those that queries made may take together.
    var automaticBytesMax = Int.max
    /// How many live queries are filled up from an index.
    var pins: [IndexDefinition: Int] = [:]
  }

  /// Why an index could not be made.
  enum BuildFailure {
    /// The record with this key cannot be decoded.
    case undecodable([UInt8])
    case other
  }

  struct NameTree: Sendable {
    var tree = OrderedIndex()
    /// How many lie below a document of a collection with the same id, by that id.
    var nested: [String: Int] = [:]
    var long = 0

    var hasPossibleCounts: Bool {
      let names = 0...tree.count
      return names.contains(long) && nested.values.allSatisfy(names.contains)
    }

    /// What is known of a name beside its place in the tree.
    mutating func count(_ key: RawSpan, of path: DocumentPath, _ more: Int) {
      if more != 0, NameKey.isNested(path) { countNested(path.collectionID, more) }
      if StoredKey.isLong(key) { long += more }
    }

    mutating func countNested(_ id: String, _ more: Int) {
      let count = (nested[id] ?? 0) + more
      nested[id] = count == 0 ? nil : count
    }

    func nested(_ id: String) -> Int { nested[id] ?? 0 }
  }

  struct Building {
    let id: UInt32
    let definition: IndexDefinition
    let isAutomatic: Bool
    var changes = OrderedIndexChanges()
    var longKeys = 0
    var numbers = NumberCounts()
    /// A commit did what cannot be noted: the build is worth nothing.
    var isSpoilt = false
    /// Nobody wants it any more.
    var isDropped = false
  }

  let state = Locked(State())
  /// Of the records.
  let shapes: ShapeDictionary

  init(shapes: ShapeDictionary) { self.shapes = shapes }

  // MARK: Queries

  /// Of the indexes that have documents of collections with an id. To be called within a moment of the store.
  func view(_ collectionID: String) -> IndexView? {
    state.withLock { state in
      guard let names = state.names else { return nil }
      return IndexView(
        names: names.tree, nestedNames: names.nested, longNames: names.long,
        indexes: state.indexes.filter { $0.definition.collectionID.isSameUTF8(as: collectionID) })
    }
  }

  /// Of all indexes.
  func view() -> IndexView? {
    state.withLock { state in
      state.names.map { names in
        IndexView(
          names: names.tree, nestedNames: names.nested, longNames: names.long, indexes: state.indexes)
      }
    }
  }

  func noteUse(of definitions: [IndexDefinition]) {
    guard !definitions.isEmpty else { return }
    state.withLock { state in
      state.uses += 1
      for place in state.indexes.indices where definitions.contains(state.indexes[place].definition) {
        state.indexes[place].lastUse = state.uses
      }
    }
  }

  /// As long as others can go, these stay. `unpin` ends it.
  func pin(_ definitions: [IndexDefinition]) {
    state.withLock { state in
      for definition in definitions { state.pins[definition, default: 0] += 1 }
    }
  }

  func unpin(_ definitions: [IndexDefinition]) {
    state.withLock { state in
      for definition in definitions {
        guard let count = state.pins[definition] else { continue }
        state.pins[definition] = count > 1 ? count - 1 : nil
      }
    }
  }

  /// Lets go of all that has a damaged page; false if there is none. Reads every page.
  func dropUnreadable() -> Bool {
    let (names, indexes) = state.withLock { ($0.names?.tree, $0.indexes) }
    let isNamesLost = names.map(\.isDamaged) ?? false
    let lost = Set(indexes.filter(\.tree.isDamaged).map(\.id))
    guard isNamesLost || !lost.isEmpty else { return false }
    state.withLock { state in
      if isNamesLost { state.names = nil }
      state.lose(lost)
    }
    return true
  }

  /// One that is to be made again.
  func lostIndex(of collectionID: String) -> ManagedIndex? {
    state.withLock { state in
      guard !state.lost.isEmpty else { return nil }
      return state.lost.first {
        $0.definition.collectionID.isSameUTF8(as: collectionID) && state.lostForGood[$0.id] == nil
      }
    }
  }

  /// Queries need not try to make these.
  func impossible(in collectionID: String) -> [IndexDefinition] {
    state.withLock { state in
      state.impossible.isEmpty
        ? []
        : state.impossible.map(\.definition).filter { $0.collectionID.isSameUTF8(as: collectionID) }
    }
  }

  func isLost(_ definition: IndexDefinition) -> Bool {
    state.withLock { $0.isLost(definition) }
  }

  /// Nil while the names are not known.
  var documentCount: Int? { state.withLock { $0.names?.tree.count } }

  /// Whether a commit has to know what the documents of a collection were.
  func hasIndexes(of collectionID: String) -> Bool {
    state.withLock { state in
      state.indexes.contains { $0.definition.collectionID.isSameUTF8(as: collectionID) }
        || state.building.contains { $0.definition.collectionID.isSameUTF8(as: collectionID) }
    }
  }

  // MARK: Commits

  func prepare(_ note: any CommitNote) {
    guard let note = note as? IndexChanges else { return }
    let (names, indexes, building) = state.withLock { state in
      (
        state.names?.tree, state.indexes.filter { note.concerns($0.definition) },
        state.building.map { ($0.id, $0.definition) }.filter { note.concerns($0.1) }
      )
    }
    for (id, definition) in building { _ = note.keys(for: id, definition) }
    // What is read now is in memory when the lock of the table is held. Where that fails, `apply` finds out.
    if let names { note.names.forEach { _, key in try? names.load(leafOf: key) } }
    for index in indexes {
      note.keys(for: index.id, index.definition).forEach { _, key in try? index.tree.load(leafOf: key) }
    }
  }

  func apply(_ note: any CommitNote, _ ordinals: [UInt32]) {
    guard let note = note as? IndexChanges else { return }
    state.withLock { $0.apply(note, ordinals) }
  }

  func freeze() -> any CheckpointPages {
    let shapes = shapes.stored
    // It grows with every commit, and is looked at where all of it is written anyway.
    return state.withLock {
      IndexPages(
        names: $0.names, indexes: $0.indexes, lost: $0.lost, nextID: $0.nextID, shapes: shapes, of: self)
    }
  }

  /// Shapes, and the indexes that were asked for.
  var leastPageBytes: UInt64 {
    let definitions = state.withLock { state in
      (state.indexes + state.lost).reduce(0) {
        $0 + ($1.isAutomatic ? 0 : IndexCatalog.bytesMax(of: $1.definition))
      }
    }
    return UInt64(2 * OrderedIndexFormat.payloadBytesMax + definitions + shapes.definitionBytesMax)
  }
}

extension IndexSet.State {
  func isLost(_ definition: IndexDefinition) -> Bool { lost.contains { $0.definition == definition } }

  /// The same for one that is being made for somebody who asked. False if there is none.
  mutating func drop(_ definition: IndexDefinition) -> Bool {
    let count = indexes.count + lost.count
    indexes.removeAll { $0.definition == definition }
    lost.removeAll { $0.definition == definition }
    var isThere = indexes.count + lost.count < count
    for place in building.indices
    where building[place].definition == definition && !building[place].isAutomatic {
      isThere = isThere || !building[place].isDropped
      building[place].isDropped = true
    }
    return isThere
  }

  /// What is in none of their pages is in the catalog: that they are wanted.
  mutating func lose(_ ids: Set<UInt32>) {
    guard !ids.isEmpty else { return }
    lost += indexes.filter { ids.contains($0.id) && !$0.isAutomatic }.map(\.withoutKeys)
    indexes.removeAll { ids.contains($0.id) }
  }

  private static let impossibleMax = 1024

  /// Takes a build away that failed. False if a commit has changed such a record since the build began: another attempt
  /// may succeed. Otherwise queries do without the index until the record changes.
  mutating func endFailedBuild(_ id: UInt32, _ error: DocumentStoreError) -> Bool {
    guard let place = building.firstIndex(where: { $0.id == id }) else { return true }
    let failed = building.remove(at: place)
    guard let path = error.undecodable, !failed.isDropped else { return true }
    if failed.isSpoilt { return false }
    let record = DocumentKey.encode(path)
    if let index = lost.first(where: { $0.definition == failed.definition }) {
      lostForGood[index.id] = .undecodable(record)
    }
    impossible.removeAll { $0.definition == failed.definition }
    if impossible.count == Self.impossibleMax { impossible.removeFirst() }
    impossible.append((failed.definition, record))
    return true
  }

  /// Lets builds be tried again that failed because of a record which the commit replaces or removes.
  private mutating func noteMended(_ note: IndexChanges) {
    let changed = Set(note.changes.map(\.key))
    impossible.removeAll { changed.contains($0.record) }
    for index in lost {
      switch lostForGood[index.id] {
      case .undecodable(let record)?:
        if changed.contains(record) { lostForGood[index.id] = nil }
      case .other?:
        if note.mayMend(index.definition) { lostForGood[index.id] = nil }
      case nil: break
      }
    }
  }

  mutating func apply(_ note: IndexChanges, _ ordinals: [UInt32]) {
    if names != nil {
      do throws(DocumentStoreError) {
        try note.names.forEach { entry, key throws(DocumentStoreError) in
          try names?.apply(note.changes[entry.place], key, ordinals[entry.place])
        }
      } catch {
        names = nil
      }
    }
    var lost = Set<UInt32>()
    // In place: of a tree that someone else refers to, each node would be copied.
    for place in indexes.indices where note.concerns(indexes[place].definition) {
      let keys = note.keys(for: indexes[place].id, indexes[place].definition)
      if !indexes[place].apply(keys, ordinals) { lost.insert(indexes[place].id) }
    }
    lose(lost)
    if !impossible.isEmpty || !lostForGood.isEmpty { noteMended(note) }
    for number in building.indices where note.concerns(building[number].definition) {
      let keys = note.keys(for: building[number].id, building[number].definition)
      building[number].apply(keys, ordinals)
    }
  }
}

extension IndexChanges {
  /// Whether a record of the index's collection that may be damaged is replaced or removed.
  fileprivate func mayMend(_ definition: IndexDefinition) -> Bool {
    changes.contains { change in
      guard case .unknown = change.before else { return false }
      return change.path.collectionID.isSameUTF8(as: definition.collectionID)
    }
  }
}

extension OrderedIndex {
  /// Reads every page.
  var isDamaged: Bool {
    do throws(DocumentStoreError) {
      var cursor = try cursor()
      while try cursor.next() {}
      return false
    } catch {
      if case .corrupted = error { return true }
      return false
    }
  }
}

extension IndexSet.NameTree {
  mutating func apply(
    _ change: IndexChanges.Change, _ key: RawSpan, _ ordinal: UInt32
  ) throws(DocumentStoreError) {
    let isThere: Bool
    let wasThere: Bool
    if change.after != nil {
      isThere = true
      wasThere = try tree.insert(key, ordinal) != nil
    } else {
      isThere = false
      wasThere = try tree.remove(key) != nil
    }
    count(key, of: change.path, (isThere ? 1 : 0) - (wasThere ? 1 : 0))
    guard long >= 0, nested(change.path.collectionID) >= 0 else {
      throw DocumentStoreError(
        .corrupted(Damage(file: "", offset: 0, expected: "counts of names", found: "less than nothing")))
    }
  }
}

extension ManagedIndex {
  /// False if it cannot follow.
  fileprivate mutating func apply(_ keys: KeyChanges, _ ordinals: [UInt32]) -> Bool {
    guard !keys.isUnknown else { return false }
    do throws(DocumentStoreError) {
      try keys.forEach { entry, key throws(DocumentStoreError) in
        let isOther =
          entry.isAdded ? try tree.insert(key, ordinals[entry.place]) == nil : try tree.remove(key) != nil
        if isOther, StoredKey.isLong(key) { longKeys += entry.isAdded ? 1 : -1 }
      }
      numbers.add(keys.numbers)
      return hasPossibleCounts
    } catch {
      return false
    }
  }
}

extension IndexSet.Building {
  fileprivate mutating func apply(_ keys: KeyChanges, _ ordinals: [UInt32]) {
    if keys.isUnknown { isSpoilt = true }
    keys.forEach { entry, key in
      if entry.isAdded { changes.insert(key, ordinals[entry.place]) } else { changes.remove(key) }
      if StoredKey.isLong(key) { longKeys += entry.isAdded ? 1 : -1 }
    }
    numbers.add(keys.numbers)
  }
}
