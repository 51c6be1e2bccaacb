// Bulk-loads the indexes of a store whose WAL contains all documents.
//
// The keys are sorted first, because inserting them one by one would cost cache misses on every level of a
// tree.

import ByteStore
import Dispatch

final class RecoveredTrees {
  /// A class, because a noncopyable sorter cannot be a dictionary value.
  private final class Keys {
    var sorter = OrderedIndexSorter()
    private var tree = OrderedIndex()

    func build() { tree = sorter.build() ?? OrderedIndex() }

    /// Returns the tree and drops this object's reference to it, because changing a tree with two references
    /// would copy nodes.
    func takeTree() -> OrderedIndex {
      defer { tree = OrderedIndex() }
      return tree
    }
  }

  /// Limit on the total size of the collected keys. The keys in the WAL exceed this limit only if flushes are
  /// far behind. The trees are then built from the keys collected so far, and later keys are inserted into
  /// the trees. During the build, some keys are in memory twice, and sorting takes another sixteen bytes per
  /// key.
  static let bytesMax = 64 << 20

  private let bytesMax: Int
  /// Total size of the collected keys.
  private var bytes = 0
  private let names = Keys()
  /// Keyed by index id.
  private let keys: [UInt32: Keys]

  /// Nil if any tree in `state` is not empty.
  init?(_ state: IndexSet.State, bytesMax: Int = bytesMax) {
    guard state.names?.tree.isEmpty ?? true, state.indexes.allSatisfy(\.tree.isEmpty) else { return nil }
    keys = Dictionary(uniqueKeysWithValues: state.indexes.map { ($0.id, Keys()) })
    self.bytesMax = bytesMax
  }

  private var isFull: Bool { bytes > bytesMax }

  /// Adds documents that exist in the store. No document may be added twice. The counts of their keys are
  /// added to `state`.
  func add(_ documents: RecoveredDocuments, state: inout IndexSet.State) {
    guard !isFull else { return state.apply(documents) }
    if state.names != nil {
      documents.names.forEach { entry, key in
        guard entry.isAdded else { return }
        add(key, documents.ordinals[entry.place], keys: names)
        state.names?.count(key, nestedID: documents.nestedIDs[entry.place], more: 1)
      }
    }
    var lost = Set<UInt32>()
    for place in state.indexes.indices {
      let id = state.indexes[place].id
      guard let keys = keys[id], let added = documents.keys[id] else { continue }
      if added.isUnknown { lost.insert(id) }
      added.forEach { entry, key in
        assert(entry.isAdded, "a new document has no keys to remove")
        add(key, documents.ordinals[entry.place], keys: keys)
        if StoredKey.isLong(key) { state.indexes[place].longKeys += 1 }
      }
      state.indexes[place].numbers.add(added.numbers)
    }
    state.markLost(lost)
    if isFull { build(into: &state) }
  }

  private func add(_ key: RawSpan, _ ordinal: UInt32, keys: Keys) {
    keys.sorter.add(key, ordinal)
    bytes += key.byteCount + OrderedIndexSorter.entryOverheadBytes
  }

  /// Call this after the last document.
  func finish(_ state: inout IndexSet.State) {
    if !isFull { build(into: &state) }
  }

  /// Builds the trees in parallel and releases the collected keys.
  private func build(into state: inout IndexSet.State) {
    // Safe, because each iteration uses only its own element, no other code uses the elements until all
    // iterations have returned, and the array itself is never written.
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
