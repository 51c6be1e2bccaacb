// Hooks that the byte store calls before it logs a commit and when it publishes one.
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

  func prepare(_ note: any CommitNote) {
    guard let effects = note as? CommitEffects else { return }
    indexes.prepare(effects.indexChanges)
  }

  func apply(_ note: any CommitNote, _ ordinals: [UInt32]) {
    guard let effects = note as? CommitEffects else { return }
    // Ordinals of shape definitions come first.
    let defined = effects.shapes
    indexes.apply(effects.indexChanges, defined.isEmpty ? ordinals : Array(ordinals.dropFirst(defined.count)))
    if !defined.isEmpty { shapes.noteStored(defined) }
    publications.append(effects)
  }

  func freeze() -> any CheckpointPages { indexes.freeze() }

  var logContext: [(key: [UInt8], value: [UInt8])] { shapes.storedDefinitions }

  var logContextBytesMax: Int { shapes.definitionBytesMax }
}
