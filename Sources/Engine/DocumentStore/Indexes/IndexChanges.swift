// What a commit does to documents, and what that does to the keys of each index.

import ByteStore

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

    @inline(__always)
    var isNone: Bool { if case .none = self { true } else { false } }
  }

  /// One for each operation of the commit.
  let changes: [Change]
  /// What was worked out: by the id of the index, since few are concerned.
  private struct Made {
    var names: KeyChanges?
    var keys: [(index: UInt32, keys: KeyChanges)] = []
  }

  private let made = Locked(Made())

  init(_ changes: [Change]) { self.changes = changes }

  /// What they do to an index. Worked out once.
  func keys(for index: UInt32, _ definition: IndexDefinition) -> KeyChanges {
    made.withLock { made in
      if let known = made.keys.first(where: { $0.index == index }) { return known.keys }
      let keys = KeyChanges(changes, definition)
      made.keys.append((index, keys))
      return keys
    }
  }

  /// What they do to the names: who was there and stays has its name already, and its ordinal. Worked out once.
  var names: KeyChanges {
    made.withLock { made in
      if let known = made.names { return known }
      let names = KeyChanges(namesOf: changes)
      made.names = names
      return names
    }
  }

  func concerns(_ definition: IndexDefinition) -> Bool {
    changes.contains { $0.path.collectionID.isSameUTF8(as: definition.collectionID) }
  }
}
