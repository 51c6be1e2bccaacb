// Indexes that are asked for, rather than made when a query needs them.

import ByteStore

/// An index of a store.
public struct IndexInfo: Sendable, Hashable {
  /// Which index.
  public let definition: IndexDefinition
  /// How many keys it has.
  public let entries: Int
  /// Made for a query; it may go when others are more useful.
  public let isAutomatic: Bool
}

extension DocumentStore {
  /// All indexes, in the order in which they were made.
  public var indexList: [IndexInfo] {
    indexes.state.withLock { state in
      state.indexes.map {
        IndexInfo(definition: $0.definition, entries: $0.tree.count, isAutomatic: $0.isAutomatic)
      }
    }
  }

  /// Makes an index that stays until it is dropped: it is written in the background, or by a close. Commits go on
  /// meanwhile.
  @discardableResult
  public func createIndex(_ definition: IndexDefinition) throws(DocumentStoreError) -> Bool {
    try createIndex(definition, tells: false) { _ in true }
  }

  /// The same. `progress` is called at the beginning and now and then, and ends the making by answering false; the
  /// result is false then. It may read, commit, and ask for indexes.
  @discardableResult
  public func createIndex(
    _ definition: IndexDefinition, progress: (IndexProgress) -> Bool
  ) throws(DocumentStoreError) -> Bool {
    try createIndex(definition, tells: true, progress)
  }

  private func createIndex(
    _ definition: IndexDefinition, tells: Bool, _ progress: (IndexProgress) -> Bool
  ) throws(DocumentStoreError) -> Bool {
    // No checkpoint has indexes without the names.
    if indexes.documentCount == nil { try findNames() }
    return try build(definition, isAutomatic: false, tells: tells, progress)
  }

  /// False if there is no such index.
  @discardableResult
  public func dropIndex(_ definition: IndexDefinition) -> Bool {
    let wasThere = indexes.state.withLock { state in
      let count = state.indexes.count
      state.indexes.removeAll { $0.definition == definition }
      return state.indexes.count < count
    }
    // The checkpoint has it still.
    if wasThere { bytes.noteLayerAboveChanged() }
    return wasThere
  }
}
