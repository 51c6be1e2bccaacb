// Bounds of filters and cursors on index keys.

import ByteStore

/// A gap in the order of byte strings: before or after all strings with the given prefix.
enum KeyBound {
  case before([UInt8])
  case after([UInt8])

  /// The corresponding gap among byte strings with all bits inverted. Inverting the bits reverses the order.
  var inverted: KeyBound {
    switch self {
    case .before(let bytes): .after(bytes.map { ~$0 })
    case .after(let bytes): .before(bytes.map { ~$0 })
    }
  }

  /// The lower bound of the keys after the gap; nil if the gap is after all keys.
  var bytes: [UInt8]? {
    switch self {
    case .before(let bytes): bytes
    case .after(let bytes): bytes.prefixSuccessor
    }
  }

  /// Returns the lower bound of the keys after the gap. The gap is in the part of the keys that follows
  /// `prefix`. Nil if the gap is after all keys.
  func bytes(behind prefix: [UInt8]) -> [UInt8]? {
    switch self {
    case .before(let bytes): prefix + bytes
    case .after(let bytes): (prefix + bytes).prefixSuccessor
    }
  }
}

extension KeyBound {
  /// The bound that a cursor sets on keys that begin with `prefix` and continue with the values of `orders`.
  /// The cursor has a value for each of the first orders, and no more values than there are orders.
  init(_ cursor: Cursor, _ orders: [OrderBy], behind prefix: [UInt8]) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(prefix.count + Self.valueBytes * cursor.values.count)
    bytes.append(contentsOf: prefix)
    for place in cursor.values.indices {
      IndexKey.append(cursor.values[place], orders[place].direction, to: &bytes)
    }
    self = cursor.side == .before ? .before(bytes) : .after(bytes)
  }

  /// The space that most values take in a key.
  static let valueBytes = 24
}

extension ByteRange {
  /// Returns the keys of a range that lie between two bounds; nil if there are none.
  func between(_ start: KeyBound?, _ end: KeyBound?) -> ByteRange? {
    var range = self
    if let start {
      guard let first = start.bytes else { return nil }
      if lower.precedes(first) { range.lower = first }
    }
    if let end = end?.bytes, upper.map({ end.precedes($0) }) ?? true { range.upper = end }
    return range.isEmpty ? nil : range
  }
}

/// The values between two gaps.
struct ValueInterval {
  var lower: KeyBound
  var upper: KeyBound

  static let all = ValueInterval(lower: .before([]), upper: .after([]))

  func directed(_ direction: OrderBy.Direction) -> ValueInterval {
    direction == .ascending ? self : ValueInterval(lower: upper.inverted, upper: lower.inverted)
  }

  func range(behind prefix: [UInt8]) -> ByteRange? {
    guard let lower = lower.bytes(behind: prefix) else { return nil }
    let range = ByteRange(lower, upper.bytes(behind: prefix))
    return range.isEmpty ? nil : range
  }
}

extension FieldFilter {
  /// The values that satisfy a filter on a field other than the document's name, as ascending intervals.
  /// Nil if the filter does not correspond to intervals.
  var intervals: [ValueInterval]? {
    let key = operand.indexKey
    switch self.operator {
    case .equal: return [ValueInterval(lower: .before(key), upper: .after(key))]
    case .lessThan: return [ValueInterval(lower: Self.start(ofClassOf: key), upper: .before(key))]
    case .lessThanOrEqual: return [ValueInterval(lower: Self.start(ofClassOf: key), upper: .after(key))]
    case .greaterThan: return [ValueInterval(lower: .after(key), upper: Self.end(ofClassOf: key))]
    case .greaterThanOrEqual: return [ValueInterval(lower: .before(key), upper: Self.end(ofClassOf: key))]
    case .notEqual: return Self.allBut([key])
    case .notIn:
      let list = (list ?? []).map(\.indexKey)
      return list.contains(Self.null) ? [] : Self.allBut(list)
    case .isIn, .arrayContains, .arrayContainsAny: return nil
    }
  }

  private static let null = StoredValue.null.indexKey

  // The upper four bits of a key's first byte are the type class. Pending timestamps have the same class as
  // timestamps, but a higher first byte.
  private static func start(ofClassOf key: [UInt8]) -> KeyBound {
    .before([key[0] == IndexKey.pendingTimestamp ? key[0] : key[0] & 0xF0])
  }

  private static func end(ofClassOf key: [UInt8]) -> KeyBound {
    .before([key[0] == IndexKey.timestamp ? IndexKey.pendingTimestamp : key[0] & 0xF0 + 0x10])
  }

  /// Returns the intervals of all values except the given keys and null.
  private static func allBut(_ keys: [[UInt8]]) -> [ValueInterval] {
    var intervals: [ValueInterval] = []
    var lower = KeyBound.after(null)
    for key in Set(keys).sorted(by: { $0.precedes($1) }) where key != null {
      intervals.append(ValueInterval(lower: lower, upper: .before(key)))
      lower = .after(key)
    }
    intervals.append(ValueInterval(lower: lower, upper: .after([])))
    return intervals
  }
}

extension StoredValue {
  var indexKey: [UInt8] {
    var key: [UInt8] = []
    IndexKey.append(self, .ascending, to: &key)
    return key
  }
}
