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
  private var computed: [(index: UInt32, keys: KeyChanges)] = []
  private var computedNames: KeyChanges?
  /// The ids of the changed documents' collections; nil until they are needed. An id may occur repeatedly.
  private var collectionIDs: [String]?

  init(_ changes: [Change]) { self.changes = changes }

  /// The path of a changed document. A copy of the whole change would retain both states of the document.
  func path(_ place: Int) -> DocumentPath {
    unsafe changes.withUnsafeBufferPointer { unsafe $0[place].path }
  }

  /// Computes the key changes of these indexes and of the name index together.
  func makeKeys(for indexes: [(id: UInt32, plans: KeyPlans)], with maker: inout CommitKeyMaker) {
    guard computed.isEmpty, computedNames == nil else { return }
    var names: KeyChanges? = KeyChanges(expected: changes.count)
    let keys = maker.keys(of: changes, indexes.map(\.plans), names: &names)
    computedNames = names
    computed.reserveCapacity(indexes.count)
    for place in indexes.indices {
      assert(keys[place].agree(with: changes, indexes[place].plans.definition), "equal keys from records")
      computed.append((indexes[place].id, keys[place]))
    }
  }

  /// Returns the key changes of an index. They are computed once.
  func keys(for index: UInt32, _ definition: IndexDefinition) -> KeyChanges {
    for place in computed.indices where computed[place].index == index { return computed[place].keys }
    let keys = KeyChanges(changes, definition)
    assert(keys.agree(with: changes, definition), "records and decoded values have equal keys")
    computed.append((index, keys))
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

  func concerns(_ definition: IndexDefinition) -> Bool {
    let ids = collectionIDs ?? findCollectionIDs()
    return ids.contains { $0.isSameUTF8(as: definition.collectionID) }
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
