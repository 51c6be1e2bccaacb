// Finds leaves by key and by rank.

import ByteStore

/// A leaf, and the path to its siblings. The tree must be retained while this value is in use.
struct OrderedIndexLeaf {
  let leaf: OrderedIndexNode
  /// The rank of the leaf's first key.
  let start: Int
  /// The path to the parent, and the leaf's index in it. A root leaf has no parent.
  private let parent: OrderedIndexPath?
  private let index: Int

  /// The position at which a key is found, or at which it would be inserted.
  struct Found {
    let leafPosition: OrderedIndexLeaf
    let index: Int
    let isFound: Bool

    /// Returns the number of keys before the key. If `through` is true and the key exists, the key itself is
    /// counted, too.
    func rank(through: Bool = false) -> Int { leafPosition.start + index + (through && isFound ? 1 : 0) }
  }

  fileprivate init(_ leaf: OrderedIndexNode, _ start: Int, parent: OrderedIndexPath?, index: Int) {
    self.leaf = leaf
    self.start = start
    self.parent = parent
    self.index = index
  }

  var ranks: Range<Int> { start..<start + leaf.count }

  /// Returns the leaf with the key of a rank, if that leaf is an adjacent sibling.
  func neighbour(with rank: Int) throws(DocumentStoreError) -> OrderedIndexLeaf? {
    guard var way = parent else { return nil }
    let parent = way
    if rank == ranks.upperBound, index + 1 < way.node.count {
      try way.descend(to: index + 1)
      return OrderedIndexLeaf(way.node, rank, parent: parent, index: index + 1)
    }
    if rank == start - 1, index > 0 {
      try way.descend(to: index - 1)
      return OrderedIndexLeaf(way.node, start - way.node.count, parent: parent, index: index - 1)
    }
    return nil
  }
}

extension OrderedIndexTree {
  /// Returns the leaf that contains a key or into which the key would be inserted. Also returns the position
  /// in the leaf, and whether the key exists.
  func leafPosition(of key: RawSpan) throws(DocumentStoreError) -> OrderedIndexLeaf.Found {
    defer { endRead() }
    var descent = OrderedIndexDescent(root)
    while !descent.isAtLeaf {
      descent.choose(key)
      try descent.descend()
    }
    return descent.leafPosition(of: key)
  }

  /// Returns the positions of both ends of a range. Waits for the disk at most once per level.
  func spots(
    of lower: RawSpan, _ upper: RawSpan
  ) throws(DocumentStoreError) -> (lower: OrderedIndexLeaf.Found, upper: OrderedIndexLeaf.Found) {
    defer { endRead() }
    var (first, second) = (OrderedIndexDescent(root), OrderedIndexDescent(root))
    while !first.isAtLeaf {
      first.choose(lower)
      second.choose(upper)
      if first.isNextOnDisk || second.isNextOnDisk { first.startReading(with: second) }
      try first.descend()
      try second.descend()
    }
    return (first.leafPosition(of: lower), second.leafPosition(of: upper))
  }

  func leafPosition(ofRank rank: Int) throws(DocumentStoreError) -> OrderedIndexLeaf {
    defer { endRead() }
    var way = OrderedIndexPath(root)
    var parent: OrderedIndexPath?
    var index = 0
    var rest = rank
    while !way.node.isLeaf {
      parent = way
      (index, rest) = way.node.childIndex(ofRank: rest)
      try way.descend(to: index)
    }
    return OrderedIndexLeaf(way.node, rank - rest, parent: parent, index: index)
  }
}

/// A descent to the leaf of a key, one level at a time.
private struct OrderedIndexDescent {
  private var way: OrderedIndexPath
  private var parent: OrderedIndexPath?
  /// The chosen child.
  private var index = 0
  private var start = 0

  init(_ root: OrderedIndexNode) { way = OrderedIndexPath(root) }

  var isAtLeaf: Bool { way.node.isLeaf }

  mutating func choose(_ key: RawSpan) { index = way.node.childIndex(of: key) }

  var isNextOnDisk: Bool { way.node.child(at: index).inMemory == nil }

  /// Prefetches the next nodes of both descents. Before the last step, also prefetches the leaves that are
  /// next to them inside the range.
  func startReading(with last: Self) {
    way.startReading(childAt: index)
    let isSameNode = way.node.identity == last.way.node.identity
    guard !isSameNode || index < last.index else { return }
    last.way.startReading(childAt: last.index)
    guard way.node.level == 1, !isSameNode || index + 1 < last.index else { return }
    way.startReading(childAt: index + 1)
    last.way.startReading(childAt: last.index - 1)
  }

  mutating func descend() throws(DocumentStoreError) {
    parent = way
    start += way.node.keys(before: index)
    try way.descend(to: index)
  }

  func leafPosition(of key: RawSpan) -> OrderedIndexLeaf.Found {
    let (place, isFound) = way.node.search(key, from: 0)
    return OrderedIndexLeaf.Found(
      leafPosition: OrderedIndexLeaf(way.node, start, parent: parent, index: index), index: place,
      isFound: isFound)
  }
}
