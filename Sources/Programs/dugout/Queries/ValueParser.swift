// Parses values.
//
//   value  := text | number | "true" | "false" | "null" | "nan" | "infinity" | "[" values "]"
//             | "{" key ":" value, … "}" | "timestamp" "(" text ")" | "bytes" "(" text ")"
//             | "ref" "(" text ")" | "geo" "(" number "," number ")" | "vector" "(" values ")"
//   values := value ("," value)*
//   key    := text | word                     other names are quoted with backticks, as in a field
//
// Any JSON is a value.

import DocumentStore
import Foundation

extension TokenCursor {
  mutating func values() throws -> [StoredValue] { try list { try $0.value() } }

  mutating func value() throws -> StoredValue {
    let place = next.place
    if take(symbol: "[") {
      return .array(try nested(at: place, isValue: true) { try $0.list(until: "]") })
    }
    if take(symbol: "{") { return .map(try nested(at: place, isValue: true) { try $0.map() }) }
    switch next.kind {
    case .string(let text):
      pop()
      return .string(text)
    case .number(let text):
      if Self.isLargeInteger(text) {
        throw TextProblem(
          message: "\(text) is too large for an integer; with a point it is a double, which has 15 digits",
          place: next.place)
      }
      guard let number = Self.number(text) else { throw expected("a number") }
      pop()
      return number
    case .word(let word):
      return try named(word.lowercased())
    case .symbol, .end:
      throw expected("a value; strings need quotes")
    }
  }

  private static func number(_ text: String) -> StoredValue? {
    if let integer = Int64(text) { return .integer(integer) }
    switch text.lowercased() {
    case "-infinity": return .double(-.infinity)
    case "+infinity": return .double(.infinity)
    case "-nan", "+nan": return nil
    default: break
    }
    // Numbers are as in JSON: `Double` alone would also accept 0x10, and would turn 1e400 into infinity.
    guard text.allSatisfy({ !$0.isLetter || $0 == "e" || $0 == "E" }), let number = Double(text),
      number.isFinite
    else { return nil }
    return .double(number)
  }

  /// Whether the text is an integer that exceeds 64 bits.
  private static func isLargeInteger(_ text: String) -> Bool {
    let digits = text.first == "-" || text.first == "+" ? text.dropFirst() : text[...]
    return !digits.isEmpty && digits.allSatisfy { $0.isASCII && $0.isNumber } && Int64(text) == nil
  }

  private mutating func named(_ word: String) throws -> StoredValue {
    let start = next
    func problem(_ message: String) -> TextProblem { TextProblem(message: message, place: start.place) }
    switch word {
    case "true", "false":
      pop()
      return .boolean(word == "true")
    case "null":
      pop()
      return .null
    case "nan":
      pop()
      return .double(.nan)
    case "infinity":
      pop()
      return .double(.infinity)
    case "timestamp", "bytes", "ref", "geo", "vector": break
    default: throw expected("a value; strings need quotes")
    }
    pop()
    let place = next.place
    try require(symbol: "(")
    let arguments = try nested(at: place) { try $0.list(until: ")") }
    switch (word, arguments) {
    case ("timestamp", _) where arguments.count == 1:
      guard case .string(let text) = arguments[0], let time = TimestampText.parse(text) else {
        throw problem("a timestamp looks like timestamp(\"2026-03-01T12:00:00Z\")")
      }
      return .timestamp(time)
    case ("bytes", _) where arguments.count == 1:
      guard case .string(let text) = arguments[0], let data = Data(base64Encoded: text) else {
        throw problem("bytes are written in Base64: bytes(\"AQID\")")
      }
      return .bytes([UInt8](data))
    case ("ref", _) where arguments.count == 1:
      // A reference that an app created includes its project and database.
      if case .string(let text) = arguments[0], let whole = DocumentJSON.reference(text) {
        return .reference(whole)
      }
      guard case .string(let text) = arguments[0], let path = try? DocumentPath(text.pathSegments) else {
        throw problem("a reference looks like ref(\"users/ada\")")
      }
      return .reference(DocumentJSON.ownReference(path))
    case ("geo", _) where arguments.count == 2:
      guard let latitude = arguments[0].asDouble, let longitude = arguments[1].asDouble,
        let point = StoredGeoPoint(latitude: latitude, longitude: longitude)
      else { throw problem("a geo point looks like geo(48.1, 11.6)") }
      return .geoPoint(point)
    case ("vector", _):
      let numbers = arguments.compactMap(\.asDouble)
      guard numbers.count == arguments.count else { throw problem("a vector has numbers only") }
      return .vector(numbers)
    default:
      throw problem("\(word) does not take \(arguments.count) values")
    }
  }

  private mutating func list(until close: String) throws -> [StoredValue] {
    if take(symbol: close) { return [] }
    let list = try values()
    try require(symbol: close)
    return list
  }

  private mutating func map() throws -> StoredMap {
    var entries: [(name: String, value: StoredValue)] = []
    var names: Set<String> = []
    guard !take(symbol: "}") else { return StoredMap([]) }
    repeat {
      let name = try name()
      entries.append((name, .null))
      let start = pop()
      guard names.insert(name).inserted else {
        throw TextProblem(message: "\(start.text) appears twice", place: start.place)
      }
      try require(symbol: ":")
      entries[entries.count - 1].value = try value()
    } while take(symbol: ",")
    try require(symbol: "}")
    return StoredMap(entries)
  }

  /// Returns the name of the next field without consuming it. Backticks in the name quote it, as in a
  /// query; backticks in a quoted string are letters.
  private func name() throws -> String {
    switch next.kind {
    case .string(let name): return name
    case .word(let word):
      guard word.contains("`") else { return word }
      guard let path = try? StoredFieldPath(canonical: word) else {
        throw TextProblem(
          message: "a name is enclosed in backticks, with \\ before a backtick inside it",
          place: next.place)
      }
      guard path.names.count == 1 else {
        throw TextProblem(
          message: "a field in a map is written inside its own braces, such as {a: {b: 1}}",
          place: next.place)
      }
      return path.names[0]
    default: throw expected("the name of a field")
    }
  }
}

extension StoredValue {
  fileprivate var asDouble: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }
}
