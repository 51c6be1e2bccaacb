// The indexes of a store, updated with every commit.
//
// Invariants:
//   - A tree has the keys of all documents as of the last visible commit: the byte store applies a commit to
//     its key directory and to the trees atomically.
//   - An index is dropped if a damaged page prevents a commit from updating it or a query from reading it. A
//     query rebuilds the index when needed. A declared index stays declared. The name index cannot be
//     dropped; if it is missing, a query first rebuilds it.
//   - While an index is being built, commits are recorded for it.
//   - No count is negative or larger than its tree allows. An index that violates this invariant was read
//     from a damaged or forged checkpoint, and is dropped, too.

import ByteStore
import Synchronization

/// Identifies an index and its copies in this process. The number is never used again.
struct IndexIdentity: Hashable, Sendable {
  private static let last = Atomic<UInt64>(0)

  /// Never zero.
  fileprivate let number = Self.last.wrappingAdd(1, ordering: .relaxed).newValue
}

/// An index and its tree.
struct ManagedIndex: Sendable {
  let identity = IndexIdentity()
  let id: UInt32
  let definition: IndexDefinition
  /// True if a query built the index. Such an index may be evicted in favor of more recently used indexes.
  var isAutomatic: Bool
  var tree = OrderedIndex()
  /// Number of keys that the tree stores truncated.
  var longKeys = 0
  /// Counts of the numbers in the documents that have keys in this index.
  var numbers = NumberCounts()
  /// The value of the use counter at the last use.
  var lastUse: UInt64 = 0

  var hasPlausibleCounts: Bool {
    (0...tree.count).contains(longKeys) && numbers.isPossible(with: tree.count)
  }

  var withoutKeys: ManagedIndex {
    ManagedIndex(id: id, definition: definition, isAutomatic: isAutomatic, lastUse: lastUse)
  }
}

/// The index that was used last, readable without a lock.
///
/// Evictions depend only on the order in which indexes were used. A use of the index that was used last does
/// not change this order, and is not counted.
final class LastUse: Sendable {
  private let number = Atomic<UInt64>(0)

  func isOf(_ identity: IndexIdentity) -> Bool { number.load(ordering: .relaxed) == identity.number }

  /// Notes the use of one index, or of several indexes or an index that is not known. Call this under the
  /// lock of the indexes.
  func note(_ identity: IndexIdentity?) { number.store(identity?.number ?? 0, ordering: .relaxed) }
}

/// Holds the key maker of an index set.
private final class SharedKeyMaker {
  var maker = CommitKeyMaker()
}

final class IndexSet: Sendable {
  struct State {
    /// Nil while the name index is missing.
    var names: NameTree? { didSet { dropViews() } }
    var indexes: [ManagedIndex] = [] { didSet { dropViews() } }
    /// Declared indexes whose keys were lost. The next query on the collections of such an index rebuilds it.
    var lost: [ManagedIndex] = [] { didSet { dropViews() } }
    /// The views of the last queries, which hold until something changes.
    var views: [CollectionView] = []
    /// For each lost index whose rebuild failed, by id, the reason.
    var failedRebuilds: [UInt32: BuildFailure] = [:]
    /// Indexes that cannot be built, because a record of their collection cannot be decoded. Until that
    /// record is overwritten or deleted, queries run without these indexes.
    var unbuildable: [(definition: IndexDefinition, record: [UInt8])] = []
    /// Indexes that were not built, or were evicted, for lack of memory.
    var refused: [IndexDefinition: Refusal] = [:]
    var building: [Building] = []
    var nextID: UInt32 = 1
    /// Counter of index uses.
    var uses: UInt64 = 0
    let lastUse = LastUse()
    /// Memory limit for all automatic indexes together.
    var automaticBytesMax = Int.max
    /// Number of live queries that reload from each index.
    var pins: [IndexDefinition: Int] = [:]
  }

  /// Why an index could not be built.
  enum BuildFailure {
    /// The record with this key cannot be decoded.
    case undecodable([UInt8])
    case other
  }

  struct NameTree: Sendable {
    var tree = OrderedIndex()
    /// Number of nested documents by collection id. A nested document is below a document of a collection
    /// with an equal id.
    var nested: [String: Int] = [:]
    var truncatedCount = 0

    var hasPlausibleCounts: Bool {
      let names = 0...tree.count
      return names.contains(truncatedCount) && nested.values.allSatisfy(names.contains)
    }

    /// Updates the counts for a name. `more` is 1 if the name was added, -1 if it was removed, and 0
    /// otherwise. `nestedID` is the collection id of a nested document.
    mutating func count(_ key: RawSpan, nestedID: String?, more: Int) {
      if more != 0, let nestedID { countNested(nestedID, more) }
      if StoredKey.isLong(key) { truncatedCount += more }
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
    /// True if a commit made a change that cannot be recorded, so the build is useless.
    var isInvalidated = false
    /// True if the index was dropped during the build.
    var isDropped = false
  }

  /// The indexes of the collections with one id.
  struct CollectionView: Sendable {
    let collectionID: String
    let indexes: IndexView
  }

  let state: Locked<State>
  private let lastUse: LastUse
  /// One thread at a time prepares commits.
  private let keyMaker = Locked(SharedKeyMaker())
  /// The shapes of the store's records.
  let shapes: ShapeDictionary

  init(shapes: ShapeDictionary) {
    let state = State()
    lastUse = state.lastUse
    self.state = Locked(state)
    self.shapes = shapes
  }

  // MARK: Queries

  /// Returns the indexes of collections with this id. Call this method while a snapshot is being taken.
  func view(_ collectionID: String) -> IndexView? {
    state.withLock { $0.view(collectionID) }
  }

  /// All indexes.
  func view() -> IndexView? {
    state.withLock { state in
      state.names.map { names in
        IndexView(
          names: names.tree, nestedNames: names.nested, longNames: names.truncatedCount,
          indexes: state.indexes)
      }
    }
  }

  /// Whether the last noted use was one of this index only.
  func wasUsedLast(_ identity: IndexIdentity) -> Bool { lastUse.isOf(identity) }

  /// Notes the use of these indexes.
  func noteUse(of definitions: [IndexDefinition]) {
    guard !definitions.isEmpty else { return }
    state.withLock { state in
      state.uses += 1
      var used: [IndexIdentity] = []
      for place in state.indexes.indices where definitions.contains(state.indexes[place].definition) {
        state.indexes[place].lastUse = state.uses
        used.append(state.indexes[place].identity)
      }
      lastUse.note(used.count == 1 ? used[0] : nil)
    }
  }

  /// Pins indexes until `unpin` is called. Pinned indexes are evicted last.
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

  /// Drops every index that has a damaged page. Returns false if no index is damaged. Reads every page.
  func dropUnreadable() -> Bool {
    let (names, indexes) = state.withLock { ($0.names?.tree, $0.indexes) }
    let isNamesLost = names.map(\.isDamaged) ?? false
    let lost = Set(indexes.filter(\.tree.isDamaged).map(\.id))
    guard isNamesLost || !lost.isEmpty else { return false }
    state.withLock { state in
      if isNamesLost { state.names = nil }
      state.markLost(lost)
    }
    return true
  }

  /// Returns a lost index that should be rebuilt.
  func lostIndex(of collectionID: String) -> ManagedIndex? {
    state.withLock { state in
      guard !state.lost.isEmpty else { return nil }
      return state.lost.first {
        $0.definition.collectionID.isSameUTF8(as: collectionID) && state.failedRebuilds[$0.id] == nil
      }
    }
  }

  /// Indexes that queries should not try to build.
  func unbuildable(in collectionID: String) -> [IndexDefinition] {
    state.withLock { state in
      state.unbuildable.isEmpty
        ? []
        : state.unbuildable.map(\.definition).filter { $0.collectionID.isSameUTF8(as: collectionID) }
    }
  }

  func isLost(_ definition: IndexDefinition) -> Bool {
    state.withLock { $0.isLost(definition) }
  }

  /// Nil while the name index is missing.
  var documentCount: Int? { state.withLock { $0.names?.tree.count } }

  /// Returns whether a commit needs the previous states of documents in collections with this id.
  func hasIndexes(of collectionID: String) -> Bool {
    state.withLock { state in
      state.indexes.contains { $0.definition.collectionID.isSameUTF8(as: collectionID) }
        || state.building.contains { $0.definition.collectionID.isSameUTF8(as: collectionID) }
    }
  }

  // MARK: Commits

  func prepare(_ note: IndexChanges) {
    // Pages are loaded now, so that no disk read happens while the lock of the key directory is held. Trees
    // that are in memory are not copied.
    var names: OrderedIndex?
    var trees: [(id: UInt32, definition: IndexDefinition, tree: OrderedIndex)] = []
    state.withLock { state in
      for place in state.indexes.indices where note.concerns(state.indexes[place].definition.collectionID) {
        note.addIndex(state.indexes[place].id, state.indexes[place].definition.keyPlans)
        guard !state.indexes[place].tree.isLoaded else { continue }
        trees.append(
          (state.indexes[place].id, state.indexes[place].definition, state.indexes[place].tree))
      }
      for place in state.building.indices where note.concerns(state.building[place].definition.collectionID) {
        note.addIndex(state.building[place].id, state.building[place].definition.keyPlans)
      }
      if let tree = state.names?.tree, !tree.isLoaded { names = tree }
    }
    keyMaker.withLock { note.makeKeys(with: &$0.maker) }
    // Ignore failures here; `apply` handles them.
    if let names { names.load(leavesOf: note.names) }
    for (id, definition, tree) in trees { tree.load(leavesOf: note.keys(for: id, definition)) }
  }

  func apply(_ note: IndexChanges, _ ordinals: [UInt32]) {
    state.withLock { $0.apply(note, ordinals) }
  }

  func freeze() -> any CheckpointPages {
    let shapes = shapes.stored
    // Copy the whole state, because a checkpoint writes all of it anyway.
    return state.withLock {
      IndexPages(
        names: $0.names, indexes: $0.indexes, lost: $0.lost, nextID: $0.nextID, shapes: shapes, of: self)
    }
  }

  /// The size of the shapes and the declared indexes.
  var essentialPageBytes: UInt64 {
    let definitions = state.withLock { state in
      (state.indexes + state.lost).reduce(0) {
        $0 + ($1.isAutomatic ? 0 : IndexCatalog.bytesMax(of: $1.definition))
      }
    }
    return UInt64(2 * OrderedIndexFormat.payloadBytesMax + definitions + shapes.definitionBytesMax)
  }
}

extension IndexSet.State {
  private static let viewsMax = 8

  /// Returns the indexes of collections with this id; nil while the name index is missing.
  fileprivate mutating func view(_ collectionID: String) -> IndexView? {
    for place in views.indices where views[place].collectionID.isSameUTF8(as: collectionID) {
      return views[place].indexes
    }
    guard let names else { return nil }
    let view = IndexView(
      names: names.tree, nestedNames: names.nested, longNames: names.truncatedCount,
      indexes: indexes.ofCollections(collectionID), hasLostIndexes: !lost.isEmpty)
    if views.count == Self.viewsMax { views.removeFirst() }
    views.append(IndexSet.CollectionView(collectionID: collectionID, indexes: view))
    return view
  }

  /// Releases the views. A commit does this before it changes a tree, because a tree that a view shares would
  /// be copied.
  fileprivate mutating func dropViews() {
    if !views.isEmpty { views = [] }
  }

  func isLost(_ definition: IndexDefinition) -> Bool { lost.contains { $0.definition == definition } }

  /// Drops an index, or a declared index that is being built. Returns false if there is no such index.
  mutating func drop(_ definition: IndexDefinition) -> Bool {
    let count = indexes.count + lost.count
    refused[definition] = nil
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

  /// Removes indexes whose keys are lost. Declared indexes among them stay in the catalog as lost indexes.
  mutating func markLost(_ ids: Set<UInt32>) {
    guard !ids.isEmpty else { return }
    lost += indexes.filter { ids.contains($0.id) && !$0.isAutomatic }.map(\.withoutKeys)
    indexes.removeAll { ids.contains($0.id) }
  }

  private static let unbuildableMax = 1024

  /// Ends a failed build. Returns false if a commit has invalidated the build, so that another attempt may
  /// succeed. Otherwise, if a record could not be decoded, queries run without the index until that record
  /// changes.
  mutating func endFailedBuild(_ id: UInt32, _ error: DocumentStoreError) -> Bool {
    guard let place = building.firstIndex(where: { $0.id == id }) else { return true }
    let failed = building.remove(at: place)
    guard let path = error.undecodable, !failed.isDropped else { return true }
    if failed.isInvalidated { return false }
    let record = DocumentKey.encode(path)
    if let index = lost.first(where: { $0.definition == failed.definition }) {
      failedRebuilds[index.id] = .undecodable(record)
    }
    unbuildable.removeAll { $0.definition == failed.definition }
    if unbuildable.count == Self.unbuildableMax { unbuildable.removeFirst() }
    unbuildable.append((failed.definition, record))
    return true
  }

  /// Allows a new attempt for each build that failed because of a record that this commit replaces or
  /// deletes.
  private mutating func noteRepairs(_ note: IndexChanges) {
    let changed = Set(note.changes.map(\.key))
    unbuildable.removeAll { changed.contains($0.record) }
    for index in lost {
      switch failedRebuilds[index.id] {
      case .undecodable(let record)?:
        if changed.contains(record) { failedRebuilds[index.id] = nil }
      case .other?:
        if note.mayRepair(index.definition) { failedRebuilds[index.id] = nil }
      case nil: break
      }
    }
  }

  mutating func apply(_ note: IndexChanges, _ ordinals: [UInt32]) {
    dropViews()
    if names != nil { applyNames(note.names, ordinals) { NameKey.nestedID(note.path($0)) } }
    var lost = Set<UInt32>()
    // Modify in place, because a second reference to a tree would cause a copy of each changed node.
    for place in indexes.indices where note.concerns(indexes[place].definition.collectionID) {
      let keys = note.keys(for: indexes[place].id, indexes[place].definition)
      if !indexes[place].apply(keys, ordinals) { lost.insert(indexes[place].id) }
    }
    markLost(lost)
    if !unbuildable.isEmpty || !failedRebuilds.isEmpty { noteRepairs(note) }
    for number in building.indices where note.concerns(building[number].definition.collectionID) {
      let keys = note.keys(for: building[number].id, building[number].definition)
      building[number].apply(keys, ordinals)
    }
  }

  /// Applies the changes of the name index. `nestedID` returns the collection id of a nested document, given
  /// the place of its change.
  mutating func applyNames(_ keys: KeyChanges, _ ordinals: [UInt32], nestedID: (Int) -> String?) {
    // The tree is taken out, because each change of `names` drops the views.
    guard var changed = names.take() else { return }
    do throws(DocumentStoreError) {
      try keys.forEach { entry, key throws(DocumentStoreError) in
        try changed.apply(entry, key, ordinal: ordinals[entry.place], nestedID: nestedID(entry.place))
      }
      names = changed
    } catch {
      names = nil
    }
  }
}

extension IndexChanges {
  /// True if the commit replaces or deletes a possibly damaged record of the index's collection.
  fileprivate func mayRepair(_ definition: IndexDefinition) -> Bool {
    changes.contains { change in
      guard case .unknown = change.before else { return false }
      return change.path.collectionID.isSameUTF8(as: definition.collectionID)
    }
  }
}

extension OrderedIndex {
  /// Loads the leaves of changed keys, as far as they can be read.
  fileprivate func load(leavesOf keys: KeyChanges) {
    guard !isLoaded else { return }
    keys.forEach { _, key in try? load(leafOf: key) }
  }

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
  /// Adds or removes the name of a document.
  mutating func apply(
    _ entry: KeyChanges.Entry, _ key: RawSpan, ordinal: UInt32, nestedID: String?
  ) throws(DocumentStoreError) {
    let wasThere = entry.isAdded ? try tree.insert(key, ordinal) != nil : try tree.remove(key) != nil
    count(key, nestedID: nestedID, more: (entry.isAdded ? 1 : 0) - (wasThere ? 1 : 0))
    guard truncatedCount >= 0, nestedID.map({ nested($0) >= 0 }) ?? true else {
      throw DocumentStoreError(
        .corrupted(Damage(file: "", offset: 0, expected: "counts of names", found: "a negative count")))
    }
  }
}

extension ManagedIndex {
  /// Applies the key changes to the index. Returns false if the index could not be updated.
  mutating func apply(_ keys: KeyChanges, _ ordinals: [UInt32]) -> Bool {
    guard !keys.isUnknown else { return false }
    do throws(DocumentStoreError) {
      try keys.forEach { entry, key throws(DocumentStoreError) in
        let isOther =
          entry.isAdded ? try tree.insert(key, ordinals[entry.place]) == nil : try tree.remove(key) != nil
        if isOther, StoredKey.isLong(key) { longKeys += entry.isAdded ? 1 : -1 }
      }
      numbers.add(keys.numbers)
      return hasPlausibleCounts
    } catch {
      return false
    }
  }
}

extension IndexSet.Building {
  fileprivate mutating func apply(_ keys: KeyChanges, _ ordinals: [UInt32]) {
    if keys.isUnknown { isInvalidated = true }
    keys.forEach { entry, key in
      if entry.isAdded { changes.insert(key, ordinals[entry.place]) } else { changes.remove(key) }
      if StoredKey.isLong(key) { longKeys += entry.isAdded ? 1 : -1 }
    }
    numbers.add(keys.numbers)
  }
}
