// Converts plain JSON into values.
//
//   null, true, "text"        null, boolean, string
//   a number                  an integer if it has neither a fraction nor an exponent, otherwise a double
//   […]                       an array, which must not directly contain another array
//   {…}                       a map
//
// A type that the user gave to a field applies to each element if the value is an array.

import DocumentStore
import Foundation

enum PlainValue {
  static func map(_ members: [JSON.Member], _ types: FieldTypes = .none) throws(JSONProblem) -> StoredMap {
    var entries: [StoredMap.Entry] = []
    entries.reserveCapacity(members.count)
    for member in members {
      do throws(JSONProblem) {
        entries.append((member.name, try value(of: member.value, types.types(of: member.name))))
      } catch {
        throw error.inside(member.name)
      }
    }
    return StoredMap(entries)
  }

  static func value(of json: JSON, _ types: FieldTypes = .none) throws(JSONProblem) -> StoredValue {
    if let type = types.type { return try value(of: json, as: type) }
    switch json {
    case .null: return .null
    case .boolean(let value): return .boolean(value)
    case .string(let text): return .string(text)
    case .number(let digits): return try number(digits)
    case .array(let elements):
      var values: [StoredValue] = []
      values.reserveCapacity(elements.count)
      for element in elements {
        if case .array = element { throw nestedArray }
        values.append(try value(of: element, types))
      }
      return .array(values)
    case .object(let members): return .map(try map(members, types))
    }
  }

  /// Refused by Firestore, too.
  private static let nestedArray = JSONProblem(
    message:
      "an array contains another array, which a document cannot hold: put the inner array into an object")

  private static func number(_ digits: String) throws(JSONProblem) -> StoredValue {
    guard digits.utf8.contains(where: { !isInInteger($0) }) else {
      if let integer = Int64(digits) { return .integer(integer) }
      throw JSONProblem(
        message: "\(digits) is not an integer of 64 bits: --type FIELD=string keeps its digits, and --type "
          + "FIELD=double rounds it")
    }
    if let double = Double(digits), double.isFinite { return .double(double) }
    throw JSONProblem(message: "\(digits) is too large for a double: --type FIELD=string keeps its digits")
  }

  private static func isInInteger(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
  }

  // MARK: Given types

  private static func value(of json: JSON, as type: FieldType) throws(JSONProblem) -> StoredValue {
    switch (type, json) {
    case (_, .null): return .null
    case (.json, .string(let text)):
      guard let value = type.value(of: text) else { throw mismatch(json, type) }
      return value
    case (.json, _): return try value(of: json)
    case (.vector, .array):
      guard let numbers = vector(json) else { throw mismatch(json, type) }
      return .vector(numbers)
    case (.geopoint, .object): if let point = point(json) { return .geoPoint(point) }
    case (_, .array(let elements)):
      var values: [StoredValue] = []
      for element in elements {
        if case .array = element { throw nestedArray }
        values.append(try value(of: element, as: type))
      }
      return .array(values)
    default: break
    }
    guard let text = text(json), let value = type.value(of: text) else { throw mismatch(json, type) }
    return value
  }

  /// The text of a scalar.
  private static func text(_ json: JSON) -> String? {
    switch json {
    case .string(let text), .number(let text): text
    case .boolean(let value): value ? "true" : "false"
    case .null, .array, .object: nil
    }
  }

  static func mismatch(_ text: String, _ type: FieldType) -> JSONProblem {
    JSONProblem(message: "\"\(text.shortened(toColumns: 60))\" is not \(type.expectation)")
  }

  private static func mismatch(_ json: JSON, _ type: FieldType) -> JSONProblem {
    mismatch(json.text ?? json.description, type)
  }

  static func vector(_ json: JSON) -> [Double]? {
    guard let elements = json.elements else { return nil }
    var numbers: [Double] = []
    for element in elements {
      guard case .number(let digits) = element, let number = Double(digits), number.isFinite else {
        return nil
      }
      numbers.append(number)
    }
    return numbers
  }

  /// Reads the coordinates under the names that programs commonly use.
  private static func point(_ json: JSON) -> StoredGeoPoint? {
    func coordinate(_ names: [String]) -> Double? {
      names.lazy.compactMap { json[$0] }.first.flatMap(text).flatMap { Double($0) }
    }
    guard json.members?.count == 2, let latitude = coordinate(["latitude", "lat"]),
      let longitude = coordinate(["longitude", "lon", "lng"])
    else { return nil }
    return StoredGeoPoint(latitude: latitude, longitude: longitude)
  }
}
