// A part of an index: the keys between two bounds.

import ByteStore

struct OrderedIndexRange: Hashable, Sendable {
  enum Bound: Hashable, Sendable {
    case open
    case including([UInt8])
    case excluding([UInt8])
  }

  var lower: Bound
  var upper: Bound

  init(from lower: Bound, to upper: Bound) {
    self.lower = lower
    self.upper = upper
  }

  static let all = OrderedIndexRange(from: .open, to: .open)

  /// Of all keys that begin with these bytes.
  static func prefix(_ bytes: [UInt8]) -> OrderedIndexRange {
    var next = bytes
    while next.last == 0xFF { next.removeLast() }
    guard let last = next.last else { return OrderedIndexRange(from: .including(bytes), to: .open) }
    next[next.count - 1] = last + 1
    return OrderedIndexRange(from: .including(bytes), to: .excluding(next))
  }
}

extension OrderedIndex {
  /// How many keys come before `key`; with `through`, the key itself counts too.
  func rank(of key: RawSpan, through: Bool = false) throws(DocumentStoreError) -> Int {
    guard let tree else { return 0 }
    let (spot, index, isFound) = try tree.spot(of: key)
    return spot.start + index + (through && isFound ? 1 : 0)
  }

  /// The ranks of the keys in a range. Takes two ways from the root to a leaf, however many keys there are.
  func ranks(in range: OrderedIndexRange) throws(DocumentStoreError) -> Range<Int> {
    let lower: Int
    switch range.lower {
    case .open: lower = 0
    case .including(let key): lower = try rank(of: key.rawSpan)
    case .excluding(let key): lower = try rank(of: key.rawSpan, through: true)
    }
    let upper: Int
    switch range.upper {
    case .open: upper = count
    case .including(let key): upper = try rank(of: key.rawSpan, through: true)
    case .excluding(let key): upper = try rank(of: key.rawSpan)
    }
    return lower..<max(lower, upper)
  }

  func count(in range: OrderedIndexRange) throws(DocumentStoreError) -> Int { try ranks(in: range).count }

  /// A cursor that stands before the first key of the range.
  func cursor(
    over range: OrderedIndexRange = .all
  ) throws(DocumentStoreError) -> OrderedIndexCursor {
    OrderedIndexCursor(tree, ranks: try ranks(in: range))
  }
}
