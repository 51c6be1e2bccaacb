// Bulk-loads an index from keys in ascending order.

import ByteStore

struct OrderedIndexBuilder: ~Copyable {
  /// Leaves keep a sixteenth of their page free, so that the first inserts do not split every leaf.
  private static let contentBytesMax = OrderedIndexNode.contentBytesMax / 16 * 15

  private var leaves: [OrderedIndexPiece] = []
  /// The entries of the next leaf.
  private var entries = OrderedIndexEntries(level: 0)
  private var bound: [UInt8] = []
  private var size = LeafSize()

  init() {}

  deinit { for leaf in leaves { leaf.node.release() } }

  /// Appends a key, which must be greater than all previous keys.
  mutating func append(_ key: RawSpan, _ ordinal: UInt32) {
    precondition(put(key, ordinal) == .after, "keys come in ascending order, each once")
  }

  /// Appends a key, or changes the ordinal of the last key. Returns how the key compares to the last key. A
  /// key that is less than the last key changes nothing.
  mutating func put(_ key: RawSpan, _ ordinal: UInt32) -> OrderedIndexKey.Order {
    precondition((1...OrderedIndex.keyBytesMax).contains(key.byteCount), "a key has 1 to 768 bytes")
    guard entries.count > 0 else {
      entries.append(key, ordinal)
      size = LeafSize(first: key.byteCount)
      return .after
    }
    let (commonBytes, order) = entries.comparedWithLast(key)
    guard order == .after else {
      if order == .same { entries.setLastValue(ordinal) }
      return order
    }
    var grown = size
    let prefixChanged = grown.add(key.byteCount, commonBytes: commonBytes)
    if prefixChanged {
      grown.contentBytes = entries.contentBytes(prefix: grown.prefixBytes, with: key.byteCount)
    }
    if grown.contentBytes > Self.contentBytesMax {
      endLeaf()
      bound = Array(copying: key.extracting(first: commonBytes + 1))
      grown = LeafSize(first: key.byteCount)
    }
    size = grown
    entries.append(key, ordinal)
    return .after
  }

  private mutating func endLeaf() {
    var leaf = entries.piece(0..<entries.count)
    leaf.bound = bound
    leaves.append(leaf)
    entries.removeAll()
  }

  /// Returns an index of all keys so far and resets the builder.
  mutating func finish() -> OrderedIndex {
    guard entries.count > 0 else { return OrderedIndex() }
    endLeaf()
    defer {
      leaves = []
      bound = []
    }
    return OrderedIndex(root: .root(over: leaves))
  }
}

/// The size of a leaf, updated with each key.
private struct LeafSize {
  var contentBytes = 0
  private(set) var prefixBytes = 0

  init() {}

  init(first keyBytes: Int) {
    prefixBytes = keyBytes
    contentBytes = OrderedIndexNode.entryBytes + keyBytes
  }

  /// Adds a key to the size. Returns true if the common prefix has changed; `contentBytes` must then be
  /// recomputed.
  mutating func add(_ keyBytes: Int, commonBytes: Int) -> Bool {
    guard commonBytes >= prefixBytes else {
      prefixBytes = commonBytes
      return true
    }
    contentBytes +=
      OrderedIndexNode.entryBytes + max(0, keyBytes - prefixBytes - OrderedIndexNode.headBytesMax)
    return false
  }
}

extension OrderedIndex {
  /// Creates an index. The keys must be in ascending order, without duplicates.
  init(sorted entries: [(key: [UInt8], ordinal: UInt32)]) {
    var builder = OrderedIndexBuilder()
    for (key, ordinal) in entries { builder.append(key.rawSpan, ordinal) }
    self = builder.finish()
  }
}
