// What the logs say beyond the checkpoint, for the indexes of a store that is opened.
//
//   1. changes are looked up in the order of the logs, and put into parts of many documents
//   2. parts are decoded beside each other, as far as indexes have to know, and keys are made of them
//   3. the keys of one part after the other go to the trees
//   4. trees of which all is known are made beside each other (RecoveredTrees)

import ByteStore

extension IndexSet {
  /// Takes up what a store has, and all that its logs say beyond the checkpoint.
  func catchUp(with store: ByteStore) throws(ByteStoreError) {
    load(from: store.checkpoint, path: store.path)
    shapes.catchUp(with: store)
    let indexes = state.withLock { state in
      state.indexes.map { RecoveredParts.Index(id: $0.id, definition: $0.definition) }
    }
    var recovered = RecoveredParts(indexes, shapes.table)
    let trees = store.isAllRecovered ? state.withLock { RecoveredTrees($0) } : nil
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
          trees.add(part.changes, part.ordinals, &state)
        } else {
          state.apply(part.changes, part.ordinals)
        }
      }
    }
  }
}
