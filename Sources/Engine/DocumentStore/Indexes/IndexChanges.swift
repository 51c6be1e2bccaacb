// The document changes of a commit, and the resulting changes to the keys of each index.

import ByteStore

final class IndexChanges: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: only the thread that prepares a commit computes keys and collection
  // ids. The same thread applies the commit afterwards. During WAL replay, one thread computes them, and a
  // barrier precedes their use in another thread.

  typealias Change = CommitChange
  typealias Before = CommitChange.Before

  /// The changes, one per document operation of the commit.
  let changes: [Change]
  /// The key changes that are already computed, by index id. They are in an array because a commit concerns
  /// few indexes.
  private var computed: [IndexKeys] = []
  /// Whether the indexes of the commit and its names were computed together.
  private var areKeysMade = false
  private var computedNames: KeyChanges?
  /// The ids of the changed documents' collections; nil until they are needed. An id may occur repeatedly.
  private var collectionIDs: [String]?

  init(_ changes: [Change]) { self.changes = changes }

  /// The path of a changed document. A copy of the whole change would retain both states of the document.
  func path(_ place: Int) -> DocumentPath {
    unsafe changes.withUnsafeBufferPointer { unsafe $0[place].path }
  }

  /// Adds an index whose keys `makeKeys` computes.
  func addIndex(_ id: UInt32, _ plans: KeyPlans) {
    guard !areKeysMade else { return }
    computed.append(IndexKeys(index: id, plans: plans, keys: KeyChanges(expected: changes.count)))
  }

  /// Computes the key changes of the added indexes and of the name index together.
  func makeKeys(with maker: inout CommitKeyMaker) {
    guard !areKeysMade else { return }
    areKeysMade = true
    var names: KeyChanges? = KeyChanges(expected: changes.count)
    maker.add(changes, to: &computed, names: &names)
    computedNames = names
    assert(
      computed.allSatisfy { $0.keys.agree(with: changes, $0.plans.definition) },
      "records and decoded values have equal keys")
  }

  /// Returns the key changes of an index. They are computed once. The definition is only read if they are not
  /// computed yet, because a copy retains its parts.
  func keys(for index: UInt32, _ definition: @autoclosure () -> IndexDefinition) -> KeyChanges {
    for place in computed.indices where computed[place].index == index { return computed[place].keys }
    let definition = definition()
    let keys = KeyChanges(changes, definition)
    assert(keys.agree(with: changes, definition), "records and decoded values have equal keys")
    computed.append(IndexKeys(index: index, plans: definition.keyPlans, keys: keys))
    return keys
  }

  /// The key changes of the name index. They are computed once. An updated document keeps its name and
  /// ordinal, so an update changes no key of the name index.
  var names: KeyChanges {
    if let computedNames { return computedNames }
    let names = KeyChanges(namesOf: changes)
    computedNames = names
    return names
  }

  /// Whether the commit changes documents in collections with this id.
  func concerns(_ collectionID: String) -> Bool {
    let ids = collectionIDs ?? findCollectionIDs()
    for id in ids where id.isSameUTF8(as: collectionID) { return true }
    return false
  }

  private func findCollectionIDs() -> [String] {
    var ids: [String] = []
    // Use a buffer pointer, because each access to an array element would retain the document.
    unsafe changes.withUnsafeBufferPointer { changes in
      for place in changes.indices {
        let id = unsafe changes[place].path.collectionID
        // The documents of a commit are mostly in one collection, or by turns in two.
        if !ids.suffix(2).contains(where: { $0.isSameUTF8(as: id) }) { ids.append(id) }
      }
    }
    collectionIDs = ids
    return ids
  }
}

/// The key changes of an index in a commit.
struct IndexKeys {
  let index: UInt32
  let plans: KeyPlans
  var keys: KeyChanges
}
