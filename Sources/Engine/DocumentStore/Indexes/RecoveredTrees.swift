// The names and the indexes of a store of which the logs have every document, when it is opened: their keys are sorted,
// and trees are made of them. Put into its place one by one, each would wait for memory at every level of a tree.

import ByteStore
import Dispatch

final class RecoveredTrees {
  /// A sorter is no element of a dictionary.
  private final class Keys {
    var sorter = OrderedIndexSorter()
    private var tree = OrderedIndex()

    func build() { tree = sorter.build() ?? OrderedIndex() }

    /// Nobody else refers to it then: of one that is shared, each change would copy nodes.
    func takeTree() -> OrderedIndex {
      defer { tree = OrderedIndex() }
      return tree
    }
  }

  /// Logs have more than this if flushes are far behind: trees are made then, and what follows goes into them. While they
  /// are made, some of the keys are there twice, and sorting takes sixteen bytes for each besides.
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
    var lost = Set<UInt32>()
    for place in state.indexes.indices where note.concerns(state.indexes[place].definition) {
      guard let keys = keys[state.indexes[place].id] else { continue }
      let made = note.keys(for: state.indexes[place].id, state.indexes[place].definition)
      if made.isUnknown { lost.insert(state.indexes[place].id) }
      made.forEach { entry, key in
        assert(entry.isAdded, "of a document that nobody knew before, no key goes")
        add(key, ordinals[entry.place], keys)
        if StoredKey.isLong(key) { state.indexes[place].longKeys += 1 }
      }
      state.indexes[place].numbers.add(made.numbers)
    }
    state.lose(lost)
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

  /// Beside each other; what was collected for one goes when it is made.
  private func build(into state: inout IndexSet.State) {
    // Safe, because each element is used by the one iteration that has its number, and by nobody else until all have
    // returned; the array itself is never written.
    nonisolated(unsafe) let all = [names] + keys.values
    DispatchQueue.concurrentPerform(iterations: keys.count + 1) { place in
      unsafe all[place].build()
    }
    if state.names != nil { state.names?.tree = names.takeTree() }
    for place in state.indexes.indices {
      if let keys = keys[state.indexes[place].id] { state.indexes[place].tree = keys.takeTree() }
    }
  }
}
