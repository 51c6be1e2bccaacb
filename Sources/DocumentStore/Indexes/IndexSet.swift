// The indexes of a store, kept with every commit.
//
// Invariants:
//   - A tree has the keys of all documents as of the last commit that readers see: the store of bytes applies
//     a commit to its table and to the trees at one moment.
//   - An index that could not follow a commit, or answer a query, since a page of it is damaged, is gone: it is
//     made again when a query needs it. The names cannot go; where they are not known, a query first finds them all.
//   - While an index is built, commits are noted beside it.
//   - No count is below nothing or above what its tree can have: an index of which that is not so has been read from a
//     checkpoint that lies, and is gone too.

import ByteStore

/// One index and its keys.
struct ManagedIndex: Sendable {
  let id: UInt32
  let definition: IndexDefinition
  /// Made for a query, and may go again when others are more useful.
  let isAutomatic: Bool
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
    var building: [Building] = []
    var nextID: UInt32 = 1
    /// Of indexes, one after the other.
    var uses: UInt64 = 0
    /// What those that queries made may take together.
    var automaticBytesMax = Int.max
    /// How many live queries are filled up from an index.
    var pins: [IndexDefinition: Int] = [:]
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
    mutating func count(_ key: [UInt8], of path: DocumentPath, _ more: Int) {
      if more != 0, NameKey.isNested(path) { countNested(path.collectionID, more) }
      if StoredKey.isLong(key.rawSpan) { long += more }
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
      state.indexes.removeAll { lost.contains($0.id) }
    }
    return true
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
    let keys = note.names
    for place in note.changes.indices where !note.changes[place].isUpdate {
      let key = keys[place]
      _ = try? names?.ordinal(of: key.rawSpan)
    }
    for index in indexes {
      for change in note.keys(for: index.id, index.definition) {
        for key in change.removed { _ = try? index.tree.ordinal(of: key.rawSpan) }
        for key in change.added { _ = try? index.tree.ordinal(of: key.rawSpan) }
      }
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
      IndexPages(names: $0.names, indexes: $0.indexes, nextID: $0.nextID, shapes: shapes, of: self)
    }
  }
}

// MARK: -

/// What a commit does to documents, for the indexes.
final class IndexChanges: CommitNote {
  struct Change: Sendable {
    let path: DocumentPath
    /// The document's own.
    let key: [UInt8]
    let before: Before
    let after: StoredDocument?

    /// It was there, and still is.
    var isUpdate: Bool {
      if case .document = before, after != nil { true } else { false }
    }
  }

  enum Before: Sendable {
    case none
    case document(StoredDocument)
    /// Its record is damaged, or nobody has read it: there may be keys of it.
    case unknown
  }

  struct Keys: Sendable {
    var removed: [[UInt8]] = []
    var added: [[UInt8]] = []
    /// What the document had and what it has, if it has keys: an integer may become the double with the same key.
    var gone = NumberBits()
    var came = NumberBits()
    /// Keys that stay have their document's ordinal already.
    var isUnknown = false
  }

  /// One for each operation of the commit.
  let changes: [Change]
  /// What was worked out: by the id of the index, since few are concerned.
  private struct Made {
    var names: [[UInt8]] = []
    var keys: [(index: UInt32, keys: [Keys])] = []
  }

  private let made = Locked(Made())

  init(_ changes: [Change]) { self.changes = changes }

  /// For each change, what it does to an index. Worked out once.
  func keys(for index: UInt32, _ definition: IndexDefinition) -> [Keys] {
    made.withLock { made in
      if let known = made.keys.first(where: { $0.index == index }) { return known.keys }
      // The documents of a commit are mostly alike.
      var fields = IndexedFields(definition)
      let keys = unsafe changes.withUnsafeBufferPointer { changes in
        changes.indices.map { unsafe Self.keys(of: changes[$0], &fields) }
      }
      made.keys.append((index, keys))
      return keys
    }
  }

  /// For each change, its document's key among the names. Worked out once.
  var names: [[UInt8]] {
    made.withLock { made in
      if made.names.isEmpty {
        made.names = unsafe changes.withUnsafeBufferPointer { changes in
          changes.indices.map { place in
            unsafe StoredKey.of(NameKey.encode(changes[place].path, documentKey: changes[place].key))
          }
        }
      }
      return made.names
    }
  }

  func concerns(_ definition: IndexDefinition) -> Bool {
    changes.contains { $0.path.collectionID.isSameUTF8(as: definition.collectionID) }
  }

  private static func keys(of change: Change, _ fields: inout IndexedFields) -> Keys {
    guard fields.definition.collectionID.isSameUTF8(as: change.path.collectionID) else { return Keys() }
    // Most updates are about fields of few indexes.
    if case .document(let before) = change.before, let after = change.after,
      fields.areSame(in: before, after)
    {
      return Keys()
    }
    let (after, came) = change.after.map { fields.entries(of: $0) } ?? ([], NumberBits())
    switch change.before {
    case .none: return Keys(added: after, came: came)
    case .unknown: return Keys(added: after, isUnknown: true)
    case .document(let document):
      let (before, gone) = fields.entries(of: document)
      guard before != after else { return gone == came ? Keys() : Keys(gone: gone, came: came) }
      // Without the elements of an array, a document has one key.
      if before.count <= 1, after.count <= 1 {
        return Keys(removed: before, added: after, gone: gone, came: came)
      }
      let (old, new) = (Set(before), Set(after))
      return Keys(
        removed: before.filter { !new.contains($0) }, added: after.filter { !old.contains($0) }, gone: gone,
        came: came)
    }
  }
}

extension IndexSet.State {
  mutating func apply(_ note: IndexChanges, _ ordinals: [UInt32]) {
    if names != nil {
      let keys = note.names
      do throws(DocumentStoreError) {
        // What lies in an array would be counted as referred to, each document for itself.
        try unsafe note.changes.withUnsafeBufferPointer { changes throws(DocumentStoreError) in
          // Who was there and stays has its name already, and its ordinal.
          for (place, ordinal) in zip(changes.indices, ordinals) where unsafe !changes[place].isUpdate {
            try unsafe names?.apply(changes[place], keys[place], ordinal)
          }
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
    if !lost.isEmpty { indexes.removeAll { lost.contains($0.id) } }
    for number in building.indices where note.concerns(building[number].definition) {
      let keys = note.keys(for: building[number].id, building[number].definition)
      building[number].apply(keys, ordinals)
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
    _ change: IndexChanges.Change, _ key: [UInt8], _ ordinal: UInt32
  ) throws(DocumentStoreError) {
    let isThere: Bool
    let wasThere: Bool
    if change.after != nil {
      isThere = true
      wasThere = try tree.insert(key.rawSpan, ordinal) != nil
    } else {
      isThere = false
      wasThere = try tree.remove(key.rawSpan) != nil
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
  fileprivate mutating func apply(_ keys: [IndexChanges.Keys], _ ordinals: [UInt32]) -> Bool {
    do throws(DocumentStoreError) {
      for (change, ordinal) in zip(keys, ordinals) {
        guard !change.isUnknown else { return false }
        for key in change.removed where try tree.remove(key.rawSpan) != nil {
          if StoredKey.isLong(key.rawSpan) { longKeys -= 1 }
        }
        for key in change.added where try tree.insert(key.rawSpan, ordinal) == nil {
          if StoredKey.isLong(key.rawSpan) { longKeys += 1 }
        }
        numbers.add(change.gone, times: -1)
        numbers.add(change.came)
      }
      return hasPossibleCounts
    } catch {
      return false
    }
  }
}

extension IndexSet.Building {
  fileprivate mutating func apply(_ keys: [IndexChanges.Keys], _ ordinals: [UInt32]) {
    for (change, ordinal) in zip(keys, ordinals) {
      if change.isUnknown { isSpoilt = true }
      for key in change.removed {
        changes.remove(key.rawSpan)
        if StoredKey.isLong(key.rawSpan) { longKeys -= 1 }
      }
      for key in change.added {
        changes.insert(key.rawSpan, ordinal)
        if StoredKey.isLong(key.rawSpan) { longKeys += 1 }
      }
      numbers.add(change.gone, times: -1)
      numbers.add(change.came)
    }
  }
}
