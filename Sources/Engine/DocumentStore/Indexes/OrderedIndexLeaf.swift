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
    guard var path = parent else { return nil }
    let parent = path
    if rank == ranks.upperBound, index + 1 < path.node.count {
      try path.descend(to: index + 1)
      return OrderedIndexLeaf(path.node, rank, parent: parent, index: index + 1)
    }
    if rank == start - 1, index > 0 {
      try path.descend(to: index - 1)
      return OrderedIndexLeaf(path.node, start - path.node.count, parent: parent, index: index - 1)
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
  func leafPositions(
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
    var path = OrderedIndexPath(root)
    var parent: OrderedIndexPath?
    var index = 0
    var rest = rank
    while !path.node.isLeaf {
      parent = path
      (index, rest) = path.node.childIndex(ofRank: rest)
      try path.descend(to: index)
    }
    return OrderedIndexLeaf(path.node, rank - rest, parent: parent, index: index)
  }
}

/// A descent to the leaf of a key, one level at a time.
private struct OrderedIndexDescent {
  private var path: OrderedIndexPath
  private var parent: OrderedIndexPath?
  /// The chosen child.
  private var index = 0
  private var start = 0

  init(_ root: OrderedIndexNode) { path = OrderedIndexPath(root) }

  var isAtLeaf: Bool { path.node.isLeaf }

  mutating func choose(_ key: RawSpan) { index = path.node.childIndex(of: key) }

  var isNextOnDisk: Bool { path.node.child(at: index).inMemory == nil }

  /// Prefetches the next nodes of both descents. Before the last step, also prefetches the leaves that are
  /// next to them inside the range.
  func startReading(with last: Self) {
    path.startReading(childAt: index)
    let isSameNode = path.node.identity == last.path.node.identity
    guard !isSameNode || index < last.index else { return }
    last.path.startReading(childAt: last.index)
    guard path.node.level == 1, !isSameNode || index + 1 < last.index else { return }
    path.startReading(childAt: index + 1)
    last.path.startReading(childAt: last.index - 1)
  }

  mutating func descend() throws(DocumentStoreError) {
    parent = path
    start += path.node.keys(before: index)
    try path.descend(to: index)
  }

  func leafPosition(of key: RawSpan) -> OrderedIndexLeaf.Found {
    let (place, isFound) = path.node.search(key, from: 0)
    return OrderedIndexLeaf.Found(
      leafPosition: OrderedIndexLeaf(path.node, start, parent: parent, index: index), index: place,
      isFound: isFound)
  }
}
