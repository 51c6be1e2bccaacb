// Applies the WAL after the checkpoint to the indexes, when a store is opened.
//
//   1. look up the recovered changes in WAL order, and group them into parts.
//   2. decode the indexed fields of the parts in parallel, and compute their keys.
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

  private func apply(_ parts: [RecoveredDocuments], _ trees: RecoveredTrees?) {
    state.withLock { state in
      for part in parts {
        if let trees {
          trees.add(part.changes, part.ordinals, state: &state)
        } else {
          state.apply(part.changes, part.ordinals)
        }
      }
    }
  }
}
