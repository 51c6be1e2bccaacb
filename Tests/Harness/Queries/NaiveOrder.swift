// A second implementation of the order of values, from the contract alone, to detect errors in the engine.

import DocumentStore

/// Compares values. Each function returns a negative number, zero or a positive number if the first value is
/// before, equal to, or after the second.
enum NaiveOrder {
  static func compare(_ left: StoredValue, _ right: StoredValue) -> Int {
    if kind(of: left) != kind(of: right) { return sign(kind(of: left), kind(of: right)) }
    switch (left, right) {
    case (.boolean(let left), .boolean(let right)):
      return left == right ? 0 : left ? 1 : -1
    case (.integer, _), (.double, _):
      return compareNumbers(left, right)
    case (.timestamp(let left), .timestamp(let right)):
      return firstDifference([sign(left.seconds, right.seconds), sign(left.nanoseconds, right.nanoseconds)])
    case (.pendingTimestamp(let left, _), .pendingTimestamp(let right, _)):
      return sign(left.microseconds, right.microseconds)
    case (.string(let left), .string(let right)):
      return compare(left, right)
    case (.bytes(let left), .bytes(let right)):
      return compareLists(left, right, sign)
    case (.reference(let left), .reference(let right)):
      return firstDifference([
        compare(left.projectID, right.projectID), compare(left.databaseID, right.databaseID),
        compare(left.path, right.path),
      ])
    case (.geoPoint(let left), .geoPoint(let right)):
      return firstDifference([
        compareNumbers(.double(left.latitude), .double(right.latitude)),
        compareNumbers(.double(left.longitude), .double(right.longitude)),
      ])
    case (.array(let left), .array(let right)):
      return compareLists(left, right, compare)
    case (.vector(let left), .vector(let right)):
      return firstDifference([
        sign(left.count, right.count), compareLists(left, right) { compareNumbers(.double($0), .double($1)) },
      ])
    case (.map(let left), .map(let right)):
      // Maps are compared as lists in which each key is followed by its value.
      let flat = { (map: StoredMap) in map.entries.flatMap { [.string($0.name), $0.value] } }
      return compareLists(flat(left), flat(right), compare)
    default:
      return 0
    }
  }

  static func compare(_ left: DocumentPath, _ right: DocumentPath) -> Int {
    compareLists(left.segments, right.segments) { left, right in
      switch (number(of: left), number(of: right)) {
      case (let left?, let right?): sign(left, right)
      case (_?, nil): -1
      case (nil, _?): 1
      case (nil, nil): compare(left, right)
      }
    }
  }

  static func compare(_ left: StoredFieldPath, _ right: StoredFieldPath) -> Int {
    compareLists(left.names, right.names, compare)
  }

  static func compare(_ left: String, _ right: String) -> Int {
    compareLists(Array(left.utf8), Array(right.utf8), sign)
  }

  /// Returns the rank of the value's type in the order of types. Integers and doubles have the same rank.
  static func kind(of value: StoredValue) -> Int {
    switch value {
    case .null: 0
    case .boolean: 1
    case .integer, .double: 2
    case .timestamp: 3
    case .pendingTimestamp: 4
    case .string: 5
    case .bytes: 6
    case .reference: 7
    case .geoPoint: 8
    case .array: 9
    case .vector: 10
    case .map: 11
    }
  }

  static func isNaN(_ value: StoredValue) -> Bool {
    if case .double(let number) = value { number != number } else { false }
  }

  // MARK: Numbers and names

  /// Compares the regions of the numbers first. The regions are, in order: NaN, numbers below all integers,
  /// the range of integers, including fractions, and numbers above all integers.
  private static func compareNumbers(_ left: StoredValue, _ right: StoredValue) -> Int {
    let (left, right) = (parts(of: left), parts(of: right))
    return firstDifference([
      sign(left.region, right.region), sign(left.whole, right.whole), sign(left.rest, right.rest),
    ])
  }

  private static func parts(of value: StoredValue) -> (region: Int, whole: Int64, rest: Double) {
    switch value {
    case .integer(let number): return (2, number, 0)
    case .double(let number):
      if number != number { return (0, 0, 0) }
      if number < -9_223_372_036_854_775_808 { return (1, 0, number) }
      if number >= 9_223_372_036_854_775_808 { return (3, 0, number) }
      let whole = number.rounded(.towardZero)
      return (2, Int64(whole), number - whole)
    default: return (0, 0, 0)
    }
  }

  /// Returns the number in an id of the form `__id7__`.
  private static func number(of id: String) -> Int64? {
    let bytes = Array(id.utf8)
    guard bytes.count > 6, bytes.prefix(4) == Array("__id".utf8)[...],
      bytes.suffix(2) == Array("__".utf8)[...],
      let digits = String(validating: bytes[4..<(bytes.count - 2)], as: UTF8.self),
      let number = Int64(digits), Array(String(number).utf8) == Array(digits.utf8)
    else { return nil }
    return number
  }

  // MARK: Lists

  private static func sign<Number: Comparable>(_ left: Number, _ right: Number) -> Int {
    left < right ? -1 : left > right ? 1 : 0
  }

  private static func firstDifference(_ orders: [Int]) -> Int { orders.first { $0 != 0 } ?? 0 }

  private static func compareLists<Part>(
    _ left: [Part], _ right: [Part], _ compare: (Part, Part) -> Int
  ) -> Int {
    for index in 0..<max(left.count, right.count) {
      if index == left.count { return -1 }
      if index == right.count { return 1 }
      let order = compare(left[index], right[index])
      if order != 0 { return order }
    }
    return 0
  }
}
