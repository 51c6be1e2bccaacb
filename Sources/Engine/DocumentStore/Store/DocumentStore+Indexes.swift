// Declared indexes, as opposed to those that are built automatically for a query.

import ByteStore

/// An index of the store.
public struct IndexInfo: Sendable, Hashable {
  /// The definition of the index.
  public let definition: IndexDefinition
  /// The number of keys in the index.
  public let entries: Int
  /// True if a query built the index. Such an index may be dropped when other indexes are more useful.
  public let isAutomatic: Bool
  /// True if the index is declared but has lost its keys, because the disk was full or a page was damaged.
  /// The next query on the index's collections rebuilds it. If the rebuild fails, queries that can run
  /// without the index still work.
  public let isLost: Bool

  init(definition: IndexDefinition, entries: Int, isAutomatic: Bool, isLost: Bool = false) {
    self.definition = definition
    self.entries = entries
    self.isAutomatic = isAutomatic
    self.isLost = isLost
  }
}

extension DocumentStore {
  /// All indexes, in order of creation.
  public var indexList: [IndexInfo] {
    indexes.state.withLock { state in
      let there = state.indexes.map { index in
        (
          index.id,
          IndexInfo(definition: index.definition, entries: index.tree.count, isAutomatic: index.isAutomatic)
        )
      }
      guard !state.lost.isEmpty else { return there.map(\.1) }
      let lost = state.lost.map {
        ($0.id, IndexInfo(definition: $0.definition, entries: 0, isAutomatic: false, isLost: true))
      }
      return (there + lost).sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  /// True if the last checkpoint could not include the indexes because the disk was full. The next open
  /// must rebuild them.
  package var areIndexesUnwritten: Bool { bytes.lacksUpperLayerPages }

  /// Creates an index that stays until it is dropped. Commits continue during the build. The index is written
  /// to disk in the background, or by `close`. Does nothing if the index was created before.
  @discardableResult
  public func createIndex(_ definition: IndexDefinition) throws(DocumentStoreError) -> Bool {
    try createIndex(definition, reportsProgress: false) { _ in true }
  }

  /// Creates an index and reports the progress. `progress` is called at the start and then from time to time.
  /// If it returns false, the build ends and `createIndex` returns false. `progress` may read, commit, and
  /// create indexes.
  @discardableResult
  public func createIndex(
    _ definition: IndexDefinition, progress: (IndexProgress) -> Bool
  ) throws(DocumentStoreError) -> Bool {
    try createIndex(definition, reportsProgress: true, progress)
  }

  private func createIndex(
    _ definition: IndexDefinition, reportsProgress: Bool, _ progress: (IndexProgress) -> Bool
  ) throws(DocumentStoreError) -> Bool {
    // A checkpoint can contain indexes only together with the name index.
    if indexes.documentCount == nil { try rebuildNames() }
    let request = IndexBuild(definition: definition, isForQuery: false)
    return try build(request, reportsProgress: reportsProgress, progress)
  }

  /// Drops an index, even if it is still being built. Returns false if the index does not exist.
  @discardableResult
  public func dropIndex(_ definition: IndexDefinition) -> Bool {
    let wasThere = indexes.state.withLock { $0.drop(definition) }
    // The last checkpoint still contains the index, so the next checkpoint must be written without it.
    if wasThere {
      bytes.noteUpperLayerChanged()
      bytes.balanceMemory(trimsHeap: true)
    }
    return wasThere
  }
}
