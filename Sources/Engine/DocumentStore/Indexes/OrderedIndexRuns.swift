// Builds an index from unsorted keys within a limit for the memory.
//
// Keys are sorted in runs. The first run becomes the tree, and the keys of each later run are inserted in
// order, so that neighbouring inserts meet the same nodes.

import ByteStore

struct OrderedIndexRuns: ~Copyable {
  private var sorter = OrderedIndexSorter()
  private var tree: OrderedIndex?
  private(set) var treeBytes = 0
  /// The size of all keys so far.
  private(set) var keyBytes = 0
  private let runBytesMax: Int

  /// `runBytesMax` is the memory for one run. Without a limit, there is one run.
  init(runBytesMax: Int = .max) { self.runBytesMax = runBytesMax }

  /// The memory for the keys so far.
  var bytes: Int { treeBytes + sorter.peakBytes }

  mutating func add(_ key: RawSpan, _ ordinal: UInt32) {
    keyBytes += key.byteCount + OrderedIndexSorter.entryOverheadBytes
    sorter.add(key, ordinal)
  }

  /// Sorts the run into the tree if it has reached its limit.
  mutating func endRunIfFull() throws(DocumentStoreError) {
    if sorter.peakBytes >= runBytesMax { _ = try endRun { _ in true } }
  }

  /// Returns the index of all keys. `proceed` receives the completed fraction from time to time. If it
  /// returns false, the result is nil.
  mutating func finish(_ proceed: (Double) -> Bool = { _ in true }) throws(DocumentStoreError)
    -> OrderedIndex?
  {
    guard try endRun(proceed) else { return nil }
    return tree ?? OrderedIndex()
  }

  private mutating func endRun(_ proceed: (Double) -> Bool) throws(DocumentStoreError) -> Bool {
    guard let run = sorter.build(proceed) else { return false }
    if tree == nil {
      tree = run
    } else {
      var cursor = try run.cursor()
      while try cursor.next() {
        let ordinal = cursor.ordinal
        try tree?.insert(cursor.key(), ordinal)
      }
    }
    treeBytes = tree?.memory.bytes ?? 0
    return true
  }
}
