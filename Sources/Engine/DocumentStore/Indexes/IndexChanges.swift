// The document changes of a commit, and the resulting changes to the keys of each index.

import ByteStore

final class IndexChanges: Sendable {
  struct Change: Sendable {
    let path: DocumentPath
    /// The document's key in the store.
    let key: [UInt8]
    let before: Before
    let after: StoredDocument?

    /// True if the document existed before and still exists.
    var isUpdate: Bool {
      if case .document = before, after != nil { true } else { false }
    }
  }

  enum Before: Sendable {
    case none
    case document(StoredDocument)
    /// The old record is damaged or was not read, so its keys are unknown.
    case unknown

    @inline(__always)
    var isNone: Bool { if case .none = self { true } else { false } }
  }

  /// The changes, one per document operation of the commit.
  let changes: [Change]
  /// The key changes that are already computed, by index id. They are in an array because a commit concerns
  /// few indexes.
  private struct Computed {
    var names: KeyChanges?
    var keys: [(index: UInt32, keys: KeyChanges)] = []
  }

  private let computed = Locked(Computed())

  init(_ changes: [Change]) { self.changes = changes }

  /// Returns the key changes of an index. They are computed once.
  func keys(for index: UInt32, _ definition: IndexDefinition) -> KeyChanges {
    computed.withLock { computed in
      if let known = computed.keys.first(where: { $0.index == index }) { return known.keys }
      let keys = KeyChanges(changes, definition)
      computed.keys.append((index, keys))
      return keys
    }
  }

  /// The key changes of the name index. They are computed once. An updated document keeps its name and
  /// ordinal, so an update changes no key of the name index.
  var names: KeyChanges {
    computed.withLock { computed in
      if let known = computed.names { return known }
      let names = KeyChanges(namesOf: changes)
      computed.names = names
      return names
    }
  }

  func concerns(_ definition: IndexDefinition) -> Bool {
    changes.contains { $0.path.collectionID.isSameUTF8(as: definition.collectionID) }
  }
}
