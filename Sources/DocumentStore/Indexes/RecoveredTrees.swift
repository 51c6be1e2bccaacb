// The names and the indexes of a store of which the logs have every document, when it is opened: their keys are sorted,
// and trees are made of them. Put into its place one by one, each would wait for memory at every level of a tree.

import ByteStore

final class RecoveredTrees {
  /// A sorter is no element of a dictionary.
  private final class Keys {
    var sorter = OrderedIndexSorter()
  }

  /// Logs have more than this if flushes are far behind: trees are made then, and what follows goes into them.
  static let bytesMax = 64 << 20

  private let bytesMax: Int
  /// What all keys that were collected take.
  private var bytes = 0
  private let names = Keys()
  /// By the id of the index.
  private let keys: [UInt32: Keys]

  /// Nil if a tree has something already.
  init?(_ state: IndexSet.State, bytesMax: Int = bytesMax) {
    guard state.names?.tree.isEmpty ?? true, state.indexes.allSatisfy(\.tree.isEmpty) else { return nil }
    keys = Dictionary(uniqueKeysWithValues: state.indexes.map { ($0.id, Keys()) })
    self.bytesMax = bytesMax
  }

  private var isFull: Bool { bytes > bytesMax }

  /// Documents that are there now, each once. What is counted about their keys is counted in `state`.
  func add(_ note: IndexChanges, _ ordinals: [UInt32], _ state: inout IndexSet.State) {
    guard !isFull else { return state.apply(note, ordinals) }
    if state.names != nil {
      note.names.forEach { entry, key in
        guard entry.isAdded else { return }
        add(key, ordinals[entry.place], names)
        state.names?.count(key, of: note.changes[entry.place].path, 1)
      }
    }
    for place in state.indexes.indices where note.concerns(state.indexes[place].definition) {
      guard let keys = keys[state.indexes[place].id] else { continue }
      let made = note.keys(for: state.indexes[place].id, state.indexes[place].definition)
      made.forEach { entry, key in
        assert(entry.isAdded, "of a document that nobody knew before, no key goes")
        add(key, ordinals[entry.place], keys)
        if StoredKey.isLong(key) { state.indexes[place].longKeys += 1 }
      }
      state.indexes[place].numbers.add(made.numbers)
    }
    if isFull { build(into: &state) }
  }

  private func add(_ key: RawSpan, _ ordinal: UInt32, _ keys: Keys) {
    keys.sorter.add(key, ordinal)
    bytes += key.byteCount + OrderedIndexSorter.bytesBesideKey
  }

  /// There is nothing more to come.
  func finish(_ state: inout IndexSet.State) {
    if !isFull { build(into: &state) }
  }

  /// One tree after the other: what was collected for it goes before the next one is made.
  private func build(into state: inout IndexSet.State) {
    if state.names != nil { state.names?.tree = names.sorter.build() ?? OrderedIndex() }
    for place in state.indexes.indices {
      guard let keys = keys[state.indexes[place].id] else { continue }
      state.indexes[place].tree = keys.sorter.build() ?? OrderedIndex()
    }
  }
}
