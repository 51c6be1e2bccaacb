// The encoding of vectors as maps where Firestore has no vector type.
//
//   {"__type__": "__vector__", "value": [1, 0.5]}

import DocumentStore

enum VectorMap {
  private static let typeField = "__type__"
  private static let type = "__vector__"
  private static let numbersField = "value"

  /// Returns the vector that a map encodes, or else the map itself.
  static func value(of map: StoredMap) -> StoredValue {
    guard map.count == 2, case .string(type)? = map[typeField],
      case .array(let elements)? = map[numbersField]
    else { return .map(map) }
    let numbers = elements.compactMap(number)
    return numbers.count == elements.count ? .vector(numbers) : .map(map)
  }

  static func map(of numbers: [Double]) -> StoredMap {
    StoredMap([(typeField, .string(type)), (numbersField, .array(numbers.map { .double($0) }))])
  }

  static func number(_ value: StoredValue) -> Double? {
    switch value {
    case .double(let number): number
    case .integer(let number): Double(number)
    default: nil
    }
  }
}
