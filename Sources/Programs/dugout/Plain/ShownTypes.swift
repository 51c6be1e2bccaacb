// The types of the fields in some documents, to show them to the user.

import DocumentStore

struct ShownTypes {
  struct Field {
    var path: [String]
    /// The names of the types, such as "integer, string".
    var types: String
    /// Whether the field is a string, and its value a timestamp.
    var looksLikeTime: Bool
  }

  private struct Seen {
    var path: [String]
    var types: [String] = []
    var areTimes = true
  }

  private var seen: [Seen] = []
  /// By the bytes of the path, because canonically equivalent names are different fields.
  private var places: [[[UInt8]]: Int] = [:]

  var fields: [Field] {
    seen.map { field in
      Field(
        path: field.path, types: field.types.joined(separator: ", "),
        looksLikeTime: field.types == ["string"] && field.areTimes)
    }
  }

  /// Takes a document into account. The fields of its maps count, and the map itself does not.
  mutating func see(_ fields: StoredMap, inside path: [String] = []) {
    for (name, value) in fields.entries {
      let path = path + [name]
      if case .map(let map) = value, !map.isEmpty {
        see(map, inside: path)
      } else {
        see(value, at: path)
      }
    }
  }

  private mutating func see(_ value: StoredValue, at path: [String]) {
    let place = places[path.map { Array($0.utf8) }, default: seen.count]
    if place == seen.count {
      seen.append(Seen(path: path))
      places[path.map { Array($0.utf8) }] = place
    }
    let type = Self.name(value)
    if !seen[place].types.contains(type) { seen[place].types.append(type) }
    guard case .string(let text) = value, TimestampText.parse(text) != nil else {
      seen[place].areTimes = false
      return
    }
  }

  private static func name(_ value: StoredValue) -> String {
    switch value {
    case .null: "null"
    case .boolean: "boolean"
    case .integer: "integer"
    case .double: "double"
    case .timestamp, .pendingTimestamp: "timestamp"
    case .string: "string"
    case .bytes: "bytes"
    case .reference: "reference"
    case .geoPoint: "geopoint"
    case .array: "array"
    case .vector: "vector"
    case .map: "map"
    }
  }
}
