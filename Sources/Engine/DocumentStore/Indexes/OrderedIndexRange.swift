// A range of keys in an index.

import ByteStore

struct OrderedIndexRange: Hashable, Sendable {
  enum Bound: Hashable, Sendable {
    case open
    case including([UInt8])
    case excluding([UInt8])

    fileprivate var key: [UInt8]? {
      switch self {
      case .open: nil
      case .including(let key), .excluding(let key): key
      }
    }

    fileprivate var isIncluding: Bool { if case .including = self { true } else { false } }
  }

  var lower: Bound
  var upper: Bound

  init(from lower: Bound, to upper: Bound) {
    self.lower = lower
    self.upper = upper
  }

  static let all = OrderedIndexRange(from: .open, to: .open)

  /// Returns the range of all keys with this prefix.
  static func prefix(_ bytes: [UInt8]) -> OrderedIndexRange {
    var next = bytes
    while next.last == 0xFF { next.removeLast() }
    guard let last = next.last else { return OrderedIndexRange(from: .including(bytes), to: .open) }
    next[next.count - 1] = last + 1
    return OrderedIndexRange(from: .including(bytes), to: .excluding(next))
  }
}

extension OrderedIndex {
  /// Returns the number of keys before `key`.
  func rank(of key: RawSpan) throws(DocumentStoreError) -> Int { try tree?.leafPosition(of: key).rank() ?? 0 }

  /// Returns the ranks of the keys in a range. This takes at most two descents from the root to a leaf,
  /// regardless of the number of keys.
  func ranks(in range: OrderedIndexRange) throws(DocumentStoreError) -> Range<Int> {
    try ends(of: range).ranks
  }

  /// The ends of a range in the tree.
  private struct Ends {
    var ranks: Range<Int>
    /// The leaves in which the bounds lie; nil for an open bound.
    var firstLeaf: OrderedIndexLeaf?
    var lastLeaf: OrderedIndexLeaf?
  }

  private func ends(of range: OrderedIndexRange) throws(DocumentStoreError) -> Ends {
    guard let tree else { return Ends(ranks: 0..<0) }
    let first: OrderedIndexLeaf.Found?
    let last: OrderedIndexLeaf.Found?
    switch (range.lower.key, range.upper.key) {
    case (nil, nil): (first, last) = (nil, nil)
    case (let key?, nil): (first, last) = (try tree.leafPosition(of: key.rawSpan), nil)
    case (nil, let key?): (first, last) = (nil, try tree.leafPosition(of: key.rawSpan))
    case (let lower?, let upper?): (first, last) = try tree.leafPositions(of: lower.rawSpan, upper.rawSpan)
    }
    let lower = first?.rank(through: !range.lower.isIncluding) ?? 0
    let upper = last?.rank(through: range.upper.isIncluding) ?? count
    return Ends(
      ranks: lower..<max(lower, upper), firstLeaf: first?.leafPosition, lastLeaf: last?.leafPosition)
  }

  func count(in range: OrderedIndexRange) throws(DocumentStoreError) -> Int { try ranks(in: range).count }

  /// Returns a cursor before the first key of the range, or after the last key if `fromEnd` is true.
  func cursor(
    over range: OrderedIndexRange = .all, fromEnd: Bool = false
  ) throws(DocumentStoreError) -> OrderedIndexCursor {
    let ends = try ends(of: range)
    // The cursor starts in the leaf that the search has found, and needs no descent of its own.
    var cursor = OrderedIndexCursor(tree, ranks: ends.ranks, leaf: fromEnd ? ends.lastLeaf : ends.firstLeaf)
    if fromEnd { cursor.seekToEnd() }
    return cursor
  }
}
