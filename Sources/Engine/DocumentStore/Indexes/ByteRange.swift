// Ranges of keys, with byte strings as bounds.

import ByteStore

/// The keys from `lower`, inclusive, to `upper`, exclusive.
struct ByteRange: Hashable, Sendable {
  var lower: [UInt8]
  /// The exclusive upper bound; nil if the range has no upper bound.
  var upper: [UInt8]?

  init(_ lower: [UInt8], _ upper: [UInt8]?) {
    self.lower = lower
    self.upper = upper
  }

  /// All keys with this prefix.
  static func prefix(_ bytes: [UInt8]) -> ByteRange { ByteRange(bytes, bytes.prefixSuccessor) }

  var isEmpty: Bool { upper.map { !lower.precedes($0) } ?? false }

  func contains(_ key: [UInt8]) -> Bool {
    !key.precedes(lower) && (upper.map { key.precedes($0) } ?? true)
  }

  func intersection(_ other: ByteRange) -> ByteRange {
    let lower = self.lower.precedes(other.lower) ? other.lower : self.lower
    switch (upper, other.upper) {
    case (nil, let end), (let end, nil): return ByteRange(lower, end)
    case (let left?, let right?): return ByteRange(lower, left.precedes(right) ? left : right)
    }
  }

  /// True if a bound is so long that a tree would truncate it.
  var hasLongBound: Bool { max(lower.count, upper?.count ?? 0) > StoredKey.keptBytes }

  /// The corresponding range in a tree. It can contain additional keys, because the tree truncates long
  /// keys.
  var inTree: OrderedIndexRange {
    let start = StoredKey.start(of: lower)
    // A key that equals the truncated bound sorts before the bound.
    let from: OrderedIndexRange.Bound = start.count < lower.count ? .excluding(start) : .including(start)
    guard let upper else { return OrderedIndexRange(from: from, to: .open) }
    let end = StoredKey.start(of: upper)
    guard end.count < upper.count else { return OrderedIndexRange(from: from, to: .excluding(end)) }
    return OrderedIndexRange(from: from, to: end.prefixSuccessor.map { .excluding($0) } ?? .open)
  }
}

extension [ByteRange] {
  /// Returns the intersection of two lists of ranges. Both lists and the result are in order and without
  /// overlap.
  func intersection(_ other: [ByteRange]) -> [ByteRange] {
    var ranges: [ByteRange] = []
    for left in self {
      for right in other {
        let range = left.intersection(right)
        if !range.isEmpty { ranges.append(range) }
      }
    }
    return ranges
  }
}

extension [UInt8] {
  func precedes(_ other: [UInt8]) -> Bool { rawSpan.precedes(other.rawSpan) }

  /// The smallest byte string that sorts after all strings with this prefix; nil if there is none.
  var prefixSuccessor: [UInt8]? {
    var next = self
    while next.last == 0xFF { next.removeLast() }
    guard let last = next.last else { return nil }
    next[next.count - 1] = last + 1
    return next
  }
}
