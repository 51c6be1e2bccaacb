// The total order of values across all types, and its equality.
//
//   null < booleans < numbers < timestamps < pending timestamps < strings < bytes < references < geo points
//     < arrays < vectors < maps
//
// This equality differs from that of `StoredValue`: here, 1 equals 1.0, and 0.0 equals -0.0.

/// The result of a comparison.
package enum Ordering: Sendable {
  case before, same, after

  package var reversed: Ordering {
    switch self {
    case .before: .after
    case .same: .same
    case .after: .before
    }
  }
}

/// A class of types whose values a range filter can compare: `< 5` matches only numbers.
package enum TypeClass: UInt8, Sendable {
  case null, boolean, number, timestamp, pendingTimestamp, string, bytes, reference, geoPoint, array, vector,
    map
}

extension StoredValue {
  package var typeClass: TypeClass {
    switch self {
    case .null: .null
    case .boolean: .boolean
    case .integer, .double: .number
    case .timestamp: .timestamp
    case .pendingTimestamp: .pendingTimestamp
    case .string: .string
    case .bytes: .bytes
    case .reference: .reference
    case .geoPoint: .geoPoint
    case .array: .array
    case .vector: .vector
    case .map: .map
    }
  }
}

package enum ValueOrder {
  /// Whether two values are equal in this order.
  package static func areEqual(_ left: StoredValue, _ right: StoredValue) -> Bool {
    compare(left, right) == .same
  }

  package static func compare(_ left: StoredValue, _ right: StoredValue) -> Ordering {
    switch (left, right) {
    case (.null, .null): .same
    case (.boolean(let left), .boolean(let right)): compare(left ? 1 : 0, right ? 1 : 0)
    case (.integer(let left), .integer(let right)): compare(left, right)
    case (.integer(let left), .double(let right)): compare(left, right)
    case (.double(let left), .integer(let right)): compare(right, left).reversed
    case (.double(let left), .double(let right)): compare(left, right)
    case (.timestamp(let left), .timestamp(let right)): compare(left.microseconds, right.microseconds)
    case (.pendingTimestamp(let left, _), .pendingTimestamp(let right, _)):
      compare(left.microseconds, right.microseconds)
    case (.string(let left), .string(let right)): compare(left, right)
    case (.bytes(let left), .bytes(let right)): compare(left, right, by: compare)
    case (.reference(let left), .reference(let right)): compare(left, right)
    case (.geoPoint(let left), .geoPoint(let right)): compare(left, right)
    case (.array(let left), .array(let right)): compare(left, right, by: compare)
    case (.vector(let left), .vector(let right)): compare(left, right)
    case (.map(let left), .map(let right)): compare(left.entries, right.entries, by: compare)
    default: compare(left.typeClass.rawValue, right.typeClass.rawValue)
    }
  }

  /// Compares segment by segment; a document sorts before the documents below it.
  package static func compare(_ left: DocumentPath, _ right: DocumentPath) -> Ordering {
    compare(left.segments, right.segments, by: compareIDs)
  }

  // MARK: Numbers

  private static func compare<Number: FixedWidthInteger>(_ left: Number, _ right: Number) -> Ordering {
    left < right ? .before : left == right ? .same : .after
  }

  /// NaN sorts before all other numbers and equals itself.
  private static func compare(_ left: Double, _ right: Double) -> Ordering {
    if left < right { return .before }
    if left > right { return .after }
    if left == right { return .same }
    return left.isNaN ? right.isNaN ? .same : .before : .after
  }

  /// Exact: integers are not rounded to doubles, because rounding would make neighbors beyond 2^53 equal.
  private static func compare(_ left: Int64, _ right: Double) -> Ordering {
    if right.isNaN || right < -0x1p63 { return .after }
    if right >= 0x1p63 { return .before }
    let whole = Int64(right)
    // Where doubles can have fractions, every integer is exactly representable as a double.
    return left == whole ? compare(Double(left), right) : compare(left, whole)
  }

  // MARK: Names

  package static func compare(_ left: String, _ right: String) -> Ordering {
    compare(left.comparedInUTF8(to: right), 0)
  }

  /// Numeric ids sort before all others, by number.
  private static func compareIDs(_ left: String, _ right: String) -> Ordering {
    switch (left.numericID, right.numericID) {
    case (let left?, let right?): compare(left, right)
    case (_?, nil): .before
    case (nil, _?): .after
    case (nil, nil): compare(left, right)
    }
  }

  private static func compare(_ left: StoredReference, _ right: StoredReference) -> Ordering {
    first(
      compare(left.projectID, right.projectID),
      or: first(compare(left.databaseID, right.databaseID), or: compare(left.path, right.path)))
  }

  // MARK: Composite values

  private static func compare(_ left: StoredGeoPoint, _ right: StoredGeoPoint) -> Ordering {
    first(compare(left.latitude, right.latitude), or: compare(left.longitude, right.longitude))
  }

  private static func compare(_ left: [Double], _ right: [Double]) -> Ordering {
    first(compare(left.count, right.count), or: compare(left, right, by: compare))
  }

  private static func compare(_ left: StoredMap.Entry, _ right: StoredMap.Entry) -> Ordering {
    first(compare(left.name, right.name), or: compare(left.value, right.value))
  }

  /// Compares element by element, then by length.
  private static func compare<Part>(
    _ left: [Part], _ right: [Part], by compareParts: (Part, Part) -> Ordering
  ) -> Ordering {
    for (left, right) in zip(left, right) {
      let order = compareParts(left, right)
      if order != .same { return order }
    }
    return compare(left.count, right.count)
  }

  private static func first(_ order: Ordering, or next: @autoclosure () -> Ordering) -> Ordering {
    order == .same ? next() : order
  }
}
