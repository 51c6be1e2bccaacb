// Iterates over an index in both directions.
//
// A cursor is between two keys, and its position is the rank of the second key. It retains the snapshot of
// the index that existed when the cursor was created. It does not retain single nodes.

import ByteStore

struct OrderedIndexCursor: ~Copyable {
  private let tree: OrderedIndexTree?
  /// The ranks that the cursor may visit.
  let ranks: Range<Int>
  /// The rank of the next key.
  private(set) var position: Int
  /// The leaf that was visited last.
  private var leafPosition: OrderedIndexLeaf?
  private var lastRank: Int?
  private var keyBuffer: [UInt8] = []

  /// Creates a cursor before the first key. `leaf` is a leaf near the position where the cursor is used
  /// first.
  init(_ tree: OrderedIndexTree?, ranks: Range<Int>, leaf: OrderedIndexLeaf?) {
    self.tree = tree
    self.ranks = ranks
    position = ranks.lowerBound
    leafPosition = leaf
  }

  // MARK: Seeking

  mutating func seekToStart() { position = ranks.lowerBound }

  mutating func seekToEnd() { position = ranks.upperBound }

  /// Moves to the position before the key with this rank. The position is clamped to the cursor's range.
  mutating func seek(toRank rank: Int) { position = min(max(rank, ranks.lowerBound), ranks.upperBound) }

  /// Moves to the position before `key`, or to the position after it if `behind` is true. The position is
  /// clamped to the cursor's range. The key need not exist.
  mutating func seek(_ key: RawSpan, behind: Bool = false) throws(DocumentStoreError) {
    guard let tree else { return }
    let found = try tree.leafPosition(of: key)
    leafPosition = found.leafPosition
    seek(toRank: found.rank(through: behind))
  }

  // MARK: One key

  /// Moves past the next key. Returns false at the end of the range.
  mutating func next() throws(DocumentStoreError) -> Bool {
    guard position < ranks.upperBound else { return false }
    try enter(position)
    lastRank = position
    position += 1
    return true
  }

  mutating func previous() throws(DocumentStoreError) -> Bool {
    guard position > ranks.lowerBound else { return false }
    try enter(position - 1)
    position -= 1
    lastRank = position
    return true
  }

  /// The ordinal of the key that was passed last.
  var ordinal: UInt32 {
    defer { endRead() }
    let (leaf, index) = last
    return leaf.value(at: index)
  }

  /// The key that was passed last. Valid until the cursor is used again.
  @_lifetime(&self)
  mutating func key() -> RawSpan {
    defer { endRead() }
    let (leaf, index) = last
    if keyBuffer.isEmpty { keyBuffer = [UInt8](repeating: 0, count: OrderedIndexNode.keyBufferBytes) }
    let keyBytes = leaf.copyKey(at: index, to: &keyBuffer)
    return keyBuffer.rawSpan.extracting(first: keyBytes)
  }

  private var last: (leaf: OrderedIndexNode, index: Int) {
    guard let lastRank, let leafPosition, leafPosition.ranks.contains(lastRank) else {
      preconditionFailure("a cursor has a key once it has passed one")
    }
    return (leafPosition.leaf, lastRank - leafPosition.start)
  }

  // MARK: Many keys

  /// Moves past up to `count` keys and appends their ordinals. Returns the number of keys that were passed.
  mutating func next(_ count: Int, into ordinals: inout [UInt32]) throws(DocumentStoreError) -> Int {
    defer { endRead() }
    let target = position + min(count, ranks.upperBound - position)
    let start = position
    while position < target {
      let leafPosition = try enter(position)
      let end = min(target, leafPosition.ranks.upperBound)
      leafPosition.leaf.appendValues(
        position - leafPosition.start..<end - leafPosition.start, reversed: false, to: &ordinals)
      position = end
      lastRank = end - 1
    }
    return position - start
  }

  /// Moves backward past up to `count` keys and appends their ordinals. Returns the number of keys that were
  /// passed.
  mutating func previous(_ count: Int, into ordinals: inout [UInt32]) throws(DocumentStoreError) -> Int {
    defer { endRead() }
    let target = position - min(count, position - ranks.lowerBound)
    let start = position
    while position > target {
      let leafPosition = try enter(position - 1)
      let end = max(target, leafPosition.start)
      leafPosition.leaf.appendValues(
        end - leafPosition.start..<position - leafPosition.start, reversed: true, to: &ordinals)
      position = end
      lastRank = end
    }
    return start - position
  }

  /// Nodes are not retained here, so the tree must stay alive until the last access to a node.
  private borrowing func endRead() { tree?.endRead() }

  /// Makes `leafPosition` the leaf that contains the key of a rank.
  @discardableResult
  private mutating func enter(_ rank: Int) throws(DocumentStoreError) -> OrderedIndexLeaf {
    defer { endRead() }
    if let leafPosition, leafPosition.ranks.contains(rank) { return leafPosition }
    guard let tree else { preconditionFailure("an index with keys has a tree") }
    var next = try leafPosition?.neighbour(with: rank)
    if next == nil { next = try tree.leafPosition(ofRank: rank) }
    guard let next else { preconditionFailure("every rank has a leaf") }
    leafPosition = next
    return next
  }
}
