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

  /// Makes an index that stays until it is dropped. Commits go on meanwhile.
  @discardableResult
  public func createIndex(_ definition: IndexDefinition) throws(DocumentStoreError) -> Bool {
    try build(definition, isAutomatic: false)
  }

  /// The same. `progress` is called at the beginning and now and then, and ends the making by answering false; the
  /// result is false then. It may read, commit, and ask for indexes.
  @discardableResult
  public func createIndex(
    _ definition: IndexDefinition, progress: (IndexProgress) -> Bool
  ) throws(DocumentStoreError) -> Bool {
    try build(definition, isAutomatic: false, tells: true, progress)
  }

  /// False if there is no such index.
  @discardableResult
  public func dropIndex(_ definition: IndexDefinition) -> Bool {
    indexes.state.withLock { state in
      let count = state.indexes.count
      state.indexes.removeAll { $0.definition == definition }
      return state.indexes.count < count
    }
  }
}
