// Replay of the WAL. When a store is opened, the WAL after the checkpoint is applied to the indexes:
//
//   1. look up the recovered changes in WAL order, and group them into parts.
//   2. make the keys of the parts in parallel, from the bytes of the records.
//   3. apply the keys to the trees, one part at a time.
//   4. build trees in parallel, if all their documents are in the WAL (RecoveredTrees).

import ByteStore

extension IndexSet {
  /// Loads the checkpoint's indexes, and applies all commits that follow the checkpoint in the WAL.
  func catchUp(with store: ByteStore) throws(ByteStoreError) {
    load(from: store.checkpoint, path: store.path)
    shapes.catchUp(with: store)
    let indexes = state.withLock { state in
      state.indexes.map { RecoveredParts.Index(id: $0.id, definition: $0.definition) }
    }
    var recovered = RecoveredParts(indexes, shapes.table)
    let trees = store.isCheckpointEmpty ? state.withLock { RecoveredTrees($0) } : nil
    try store.forEachRecoveredChange { change throws(ByteStoreError) in
      recovered.add(change)
      if recovered.isFull { apply(recovered.take(), trees) }
    }
    apply(recovered.take(), trees)
    state.withLock { trees?.finish(&$0) }
  }

  /// Replaces all trees with those of another set, which belongs to a newer state of the same store. Builds
  /// that are running are useless afterwards.
  func adopt(_ other: IndexSet) {
    let newer = other.state.withLock { $0 }
    state.withLock { state in
      state.names = newer.names
      state.indexes = newer.indexes
      state.lost = newer.lost
      state.failedRebuilds = newer.failedRebuilds
      state.unbuildable = newer.unbuildable
      state.nextID = max(state.nextID, newer.nextID)
      for place in state.building.indices { state.building[place].isInvalidated = true }
    }
  }

  private func apply(_ parts: [RecoveredDocuments], _ trees: RecoveredTrees?) {
    state.withLock { state in
      for part in parts {
        if let trees {
          trees.add(part, state: &state)
        } else {
          state.apply(part)
        }
      }
    }
  }
}

extension IndexSet.State {
  /// Applies recovered changes. No index is being built, and no build has failed.
  mutating func apply(_ documents: RecoveredDocuments) {
    if names != nil { applyNames(documents.names, documents.ordinals) { documents.nestedIDs[$0] } }
    var lost = Set<UInt32>()
    for place in indexes.indices {
      guard let keys = documents.keys[indexes[place].id] else { continue }
      if !indexes[place].apply(keys, documents.ordinals) { lost.insert(indexes[place].id) }
    }
    markLost(lost)
  }
}
