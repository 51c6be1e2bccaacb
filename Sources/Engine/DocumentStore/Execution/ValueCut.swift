// Where filters and cursors cut an order of values, in the bytes of their keys.

import ByteStore

/// A gap in an order of byte strings, beside all that begin with some bytes.
enum ValueCut {
  case before([UInt8])
  case after([UInt8])

  /// The same gap where all bits are inverted, which turns the order round.
  var inverted: ValueCut {
    switch self {
    case .before(let bytes): .after(bytes.map { ~$0 })
    case .after(let bytes): .before(bytes.map { ~$0 })
    }
  }

  /// The first key behind the gap, of keys that begin with `prefix`; nil if it is behind all keys.
  func bytes(behind prefix: [UInt8]) -> [UInt8]? {
    switch self {
    case .before(let bytes): prefix + bytes
    case .after(let bytes): (prefix + bytes).behindAllWithPrefix
    }
  }
}

/// Values between two gaps.
struct ValueInterval {
  var lower: ValueCut
  var upper: ValueCut

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
  /// The values that satisfy a filter on a field other than the document's name, in ascending order; nil if
  /// they are no intervals.
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

  // The first half of a key's first byte is the class of its value; timestamps that are pending have the second half of
  // what begins like a timestamp.
  private static func start(ofClassOf key: [UInt8]) -> ValueCut {
    .before([key[0] == IndexKey.pendingTimestamp ? key[0] : key[0] & 0xF0])
  }

  private static func end(ofClassOf key: [UInt8]) -> ValueCut {
    .before([key[0] == IndexKey.timestamp ? IndexKey.pendingTimestamp : key[0] & 0xF0 + 0x10])
  }

  /// Null is none of them either.
  private static func allBut(_ keys: [[UInt8]]) -> [ValueInterval] {
    var intervals: [ValueInterval] = []
    var lower = ValueCut.after(null)
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
