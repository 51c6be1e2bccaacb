// Parses JSON (RFC 8259) from bytes. An object with a repeated name is an error, because it is ambiguous.

import DocumentStore
import Foundation

/// The reason why a text is not valid JSON.
struct JSONError: Error, CustomStringConvertible {
  var problem: String
  var offset: Int

  var description: String { "\(problem) at byte \(offset)" }
}

struct JSONReader {
  /// The nesting limit of objects and arrays, at least three times the limit of documents.
  private static let depthMax = 256

  /// The byte order mark, with which some programs start a text. The reader ignores it.
  static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  private let bytes: UnsafeRawBufferPointer
  private var offset = 0
  private var depth = 0

  static func read(_ data: Data) throws(JSONError) -> JSON {
    let result = data.withUnsafeBytes { bytes -> Result<JSON, JSONError> in
      Result { () throws(JSONError) in
        var reader = JSONReader(bytes: bytes)
        return try reader.whole()
      }
    }
    return try result.get()
  }

  private init(bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    if bytes.starts(with: Self.byteOrderMark) { offset = Self.byteOrderMark.count }
  }

  private mutating func whole() throws(JSONError) -> JSON {
    let value = try value()
    guard next() == nil else { throw error("there is more text after the value") }
    return value
  }

  // MARK: Values

  private mutating func value() throws(JSONError) -> JSON {
    guard let byte = next() else { throw error("the text ends too early") }
    switch byte {
    case UInt8(ascii: "{"): return try object()
    case UInt8(ascii: "["): return try array()
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .boolean(true))
    case UInt8(ascii: "f"): return try word("false", .boolean(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return .number(try number())
    }
  }

  private mutating func object() throws(JSONError) -> JSON {
    try enter()
    var members: [JSON.Member] = []
    // The offsets of the names.
    var starts: [Int] = []
    if next() == UInt8(ascii: "}") { return leave(.object(members)) }
    while true {
      guard next() == UInt8(ascii: "\"") else { throw error("a name is expected") }
      starts.append(offset)
      let name = try string()
      guard next() == UInt8(ascii: ":") else { throw error("a colon is expected") }
      offset += 1
      members.append(JSON.Member(name: name, value: try value()))
      switch next() {
      case UInt8(ascii: ","): offset += 1
      case UInt8(ascii: "}"):
        if let index = Self.repeated(members) {
          throw JSONError(
            problem: "\"\(members[index].name)\" appears twice in the object", offset: starts[index])
        }
        return leave(.object(members))
      default: throw error("a comma or a closing brace is expected")
      }
    }
  }

  private mutating func array() throws(JSONError) -> JSON {
    try enter()
    var elements: [JSON] = []
    if next() == UInt8(ascii: "]") { return leave(.array(elements)) }
    while true {
      elements.append(try value())
      switch next() {
      case UInt8(ascii: ","): offset += 1
      case UInt8(ascii: "]"): return leave(.array(elements))
      default: throw error("a comma or a closing bracket is expected")
      }
    }
  }

  private mutating func enter() throws(JSONError) {
    guard depth < Self.depthMax else { throw error("more than \(Self.depthMax) nested values") }
    depth += 1
    offset += 1
  }

  private mutating func leave(_ value: JSON) -> JSON {
    depth -= 1
    offset += 1
    return value
  }

  /// Returns the index of the first member that repeats the name of an earlier member.
  private static func repeated(_ members: [JSON.Member]) -> Int? {
    // Fast path for sorted members, which most objects have.
    if JSON.areInOrder(members) { return nil }
    // The sort is stable, so members with equal names keep their order.
    let sorted = members.indices.sorted { members[$0].name.precedesInUTF8(members[$1].name) }
    return zip(sorted, sorted.dropFirst()).filter { members[$0].name.isSameUTF8(as: members[$1].name) }
      .map { $0.1 }.min()
  }

  private mutating func word(_ word: StaticString, _ value: JSON) throws(JSONError) -> JSON {
    let end = offset + word.utf8CodeUnitCount
    guard end <= bytes.count,
      bytes[offset..<end].elementsEqual(
        UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    else { throw error("a value is expected") }
    offset = end
    return value
  }

  // MARK: Numbers

  /// Parses `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`.
  private mutating func number() throws(JSONError) -> String {
    let start = offset
    _ = skip(UInt8(ascii: "-"))
    if !skip(UInt8(ascii: "0")) { try digits("a value is expected") }
    if skip(UInt8(ascii: ".")) { try digits("a digit is expected") }
    if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
      if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
      try digits("a digit is expected")
    }
    return String(decoding: bytes[start..<offset], as: UTF8.self)
  }

  private mutating func digits(_ problem: String) throws(JSONError) {
    let start = offset
    while offset < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[offset]) {
      offset += 1
    }
    if offset == start { throw error(problem) }
  }

  private mutating func skip(_ byte: UInt8) -> Bool {
    guard offset < bytes.count, bytes[offset] == byte else { return false }
    offset += 1
    return true
  }

  // MARK: Text

  /// Parses from the opening quotation mark to the closing one.
  private mutating func string() throws(JSONError) -> String {
    offset += 1
    let start = offset
    while offset < bytes.count {
      switch bytes[offset] {
      case UInt8(ascii: "\""):
        let text = try text(bytes[start..<offset])
        offset += 1
        return text
      case UInt8(ascii: "\\"): return try escaped(start)
      case ..<0x20: throw error("a control character is in a string")
      default: offset += 1
      }
    }
    throw error("a string has no end")
  }

  private func text(_ part: some Collection<UInt8>) throws(JSONError) -> String {
    guard let text = String(validating: part, as: UTF8.self) else { throw error("a string is not UTF-8") }
    return text
  }

  /// Continues a string with an escape at `offset`.
  private mutating func escaped(_ start: Int) throws(JSONError) -> String {
    var content = [UInt8](bytes[start..<offset])
    while offset < bytes.count {
      let byte = bytes[offset]
      switch byte {
      case UInt8(ascii: "\""):
        let text = try text(content)
        offset += 1
        return text
      case UInt8(ascii: "\\"): content.append(contentsOf: try escape().utf8)
      case ..<0x20: throw error("a control character is in a string")
      default:
        content.append(byte)
        offset += 1
      }
    }
    throw error("a string has no end")
  }

  private mutating func escape() throws(JSONError) -> String {
    guard offset + 1 < bytes.count else { throw error("a string has no end") }
    let letter = bytes[offset + 1]
    guard letter != UInt8(ascii: "u") else { return String(try scalar()) }
    guard let meaning = Self.meanings[letter] else { throw error("an unknown escape is in a string") }
    offset += 2
    return meaning
  }

  private static let meanings: [UInt8: String] = [
    UInt8(ascii: "\""): "\"", UInt8(ascii: "\\"): "\\", UInt8(ascii: "/"): "/", UInt8(ascii: "b"): "\u{8}",
    UInt8(ascii: "f"): "\u{c}", UInt8(ascii: "n"): "\n", UInt8(ascii: "r"): "\r", UInt8(ascii: "t"): "\t",
  ]

  /// Parses `\uXXXX`, or two of them that form a surrogate pair.
  private mutating func scalar() throws(JSONError) -> Unicode.Scalar {
    let first = try unit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xDC00, offset + 1 < bytes.count, bytes[offset] == UInt8(ascii: "\\"),
      bytes[offset + 1] == UInt8(ascii: "u")
    else { throw error("half a character is in a string") }
    let second = try unit()
    guard (0xDC00...0xDFFF).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { throw error("half a character is in a string") }
    return scalar
  }

  private mutating func unit() throws(JSONError) -> UInt32 {
    guard offset + 6 <= bytes.count,
      let unit = UInt32(String(decoding: bytes[offset + 2..<offset + 6], as: UTF8.self), radix: 16),
      bytes[offset + 2] != UInt8(ascii: "+"), bytes[offset + 2] != UInt8(ascii: "-")
    else { throw error("four hexadecimal digits are expected") }
    offset += 6
    return unit
  }

  // MARK: Bytes

  /// Skips white space and returns the next byte without consuming it.
  private mutating func next() -> UInt8? {
    while offset < bytes.count {
      switch bytes[offset] {
      case 0x20, 0x0A, 0x0D, 0x09: offset += 1
      default: return bytes[offset]
      }
    }
    return nil
  }

  private func error(_ problem: String) -> JSONError { JSONError(problem: problem, offset: offset) }
}
