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
  /// It was asked for, and its keys are gone, because a full disk had no room for them or a page of them was damaged.
  /// The next query of its collections has it made again. If that fails, queries that can do without it go on.
  public let isLost: Bool

  init(definition: IndexDefinition, entries: Int, isAutomatic: Bool, isLost: Bool = false) {
    self.definition = definition
    self.entries = entries
    self.isAutomatic = isAutomatic
    self.isLost = isLost
  }
}

extension DocumentStore {
  /// All indexes, in the order in which they were made.
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

  /// A full disk had no room for the indexes when they were written last: the next open has to make them again.
  package var areIndexesUnwritten: Bool { bytes.lacksPagesAbove }

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

  /// False if there is no such index. One that is being made because somebody asked for it is not there in the end.
  @discardableResult
  public func dropIndex(_ definition: IndexDefinition) -> Bool {
    let wasThere = indexes.state.withLock { $0.drop(definition) }
    // The checkpoint has it still.
    if wasThere { bytes.noteLayerAboveChanged() }
    return wasThere
  }
}
