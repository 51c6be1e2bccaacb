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
    guard let tree else { return 0..<0 }
    var (lower, upper) = (0, count)
    switch (range.lower.key, range.upper.key) {
    case (nil, nil): break
    case (let key?, nil):
      lower = try tree.leafPosition(of: key.rawSpan).rank(through: !range.lower.isIncluding)
    case (nil, let key?):
      upper = try tree.leafPosition(of: key.rawSpan).rank(through: range.upper.isIncluding)
    case (let first?, let last?):
      let found = try tree.leafPositions(of: first.rawSpan, last.rawSpan)
      lower = found.lower.rank(through: !range.lower.isIncluding)
      upper = found.upper.rank(through: range.upper.isIncluding)
    }
    return lower..<max(lower, upper)
  }

  func count(in range: OrderedIndexRange) throws(DocumentStoreError) -> Int { try ranks(in: range).count }

  /// Returns a cursor before the first key of the range.
  func cursor(
    over range: OrderedIndexRange = .all
  ) throws(DocumentStoreError) -> OrderedIndexCursor {
    OrderedIndexCursor(tree, ranks: try ranks(in: range))
  }
}
