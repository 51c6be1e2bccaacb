// Hooks that the byte store calls: one before it logs a commit, and one when it publishes the commit.
//
// They update the indexes and queue the commit for listeners.

import ByteStore

final class CommitLayer: UpperLayer {
  let shapes: ShapeDictionary
  let indexes: IndexSet
  let publications = Publications()

  init() {
    shapes = ShapeDictionary()
    indexes = IndexSet(shapes: shapes)
  }

  func prepare(_ note: any CommitNote) { indexes.prepare(effects(note).indexChanges) }

  func apply(_ note: any CommitNote, _ ordinals: [UInt32]) {
    let effects = effects(note)
    // The ordinals of the shape definitions precede those of the documents.
    let defined = effects.shapes
    indexes.apply(effects.indexChanges, defined.isEmpty ? ordinals : Array(ordinals.dropFirst(defined.count)))
    if !defined.isEmpty { shapes.noteStored(defined) }
    publications.append(effects)
  }

  /// The effects of a commit. A note of any other type is a programming error: the commit would be in the
  /// store, but in no index and in no listener's result.
  private func effects(_ note: any CommitNote) -> CommitEffects {
    guard let effects = note as? CommitEffects else {
      preconditionFailure("A commit of documents carries its effects, not a \(type(of: note)).")
    }
    return effects
  }

  func freeze() -> any CheckpointPages { indexes.freeze() }

  var logContext: [(key: [UInt8], value: [UInt8])] { shapes.storedDefinitions }

  var logContextBytesMax: Int { shapes.definitionBytesMax }

  var memory: UpperLayerMemory { indexes.memory }

  func evictMemory(toBytes bytes: Int, keepsLatest: Bool, now: UInt64) {
    indexes.evict(toBytes: bytes, keepsLatest: keepsLatest, now: now)
  }
}
