// JSON values whose objects keep the order of their members.
//
// Names are compared by their bytes, so canonically equivalent Unicode names are different.

import DocumentStore
import Foundation

enum JSON: Sendable {
  case null
  case boolean(Bool)
  /// The literal text, so that no digit is lost before the type of the number is known.
  case number(String)
  case string(String)
  case array([JSON])
  case object([Member])

  struct Member: Sendable {
    var name: String
    var value: JSON
  }

  /// The member of an object; nil if it does not exist or this is not an object.
  subscript(name: String) -> JSON? {
    get { members?.first { $0.name.isSameUTF8(as: name) }?.value }
    set {
      var members = (members ?? []).filter { !$0.name.isSameUTF8(as: name) }
      if let newValue { members.append(Member(name: name, value: newValue)) }
      self = .object(members)
    }
  }

  var members: [Member]? { if case .object(let members) = self { members } else { nil } }
  var elements: [JSON]? { if case .array(let elements) = self { elements } else { nil } }
  var text: String? { if case .string(let text) = self { text } else { nil } }
}

// MARK: Writing

extension JSON: CustomStringConvertible {
  /// The value on one line, with the members of objects in the order of their names' bytes.
  var description: String {
    var text = ""
    write(to: &text)
    return text
  }

  private func write(to text: inout String) {
    switch self {
    case .null: text += "null"
    case .boolean(let value): text += value ? "true" : "false"
    case .number(let digits): text += digits
    case .string(let value): Self.write(value, to: &text)
    case .array(let elements):
      text += "["
      for (index, element) in elements.enumerated() {
        if index > 0 { text += "," }
        element.write(to: &text)
      }
      text += "]"
    case .object(let members):
      text += "{"
      let sorted =
        Self.areInOrder(members) ? members : members.sorted { $0.name.precedesInUTF8($1.name) }
      for (index, member) in sorted.enumerated() {
        if index > 0 { text += "," }
        Self.write(member.name, to: &text)
        text += ":"
        member.value.write(to: &text)
      }
      text += "}"
    }
  }

  /// Whether the names are strictly ascending, as the fields of documents are stored.
  static func areInOrder(_ members: [Member]) -> Bool {
    for index in members.indices.dropFirst()
    where !members[index - 1].name.precedesInUTF8(members[index].name) {
      return false
    }
    return true
  }

  /// Whether the byte never needs an escape. Control characters from U+0080 on start with 0xC2, as some
  /// letters do.
  private static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") && byte != 0x7F && byte != 0xC2
  }

  private static func write(_ value: String, to text: inout String) {
    text += "\""
    if value.utf8.allSatisfy(isPlain) {
      text += value
    } else {
      for scalar in value.unicodeScalars {
        switch scalar {
        case "\"": text += "\\\""
        case "\\": text += "\\\\"
        // Escapes also control characters that JSON allows, because the output may go to a terminal.
        case _ where ShownText.isControl(scalar): text += ShownText.escape(scalar)
        default: text.unicodeScalars.append(scalar)
        }
      }
    }
    text += "\""
  }
}

// MARK: From values

/// A type that can be used in a JSON literal.
protocol JSONConvertible {
  var json: JSON { get }
}

extension JSON: JSONConvertible {
  var json: JSON { self }
}

extension JSON: ExpressibleByDictionaryLiteral {
  init(dictionaryLiteral members: (String, any JSONConvertible)...) {
    self = .object(members.map { Member(name: $0, value: $1.json) })
  }
}

extension String: JSONConvertible {
  var json: JSON { .string(self) }
}

extension Bool: JSONConvertible {
  var json: JSON { .boolean(self) }
}

extension BinaryInteger where Self: JSONConvertible {
  var json: JSON { .number("\(self)") }
}

extension Int: JSONConvertible {}
extension UInt32: JSONConvertible {}
extension UInt64: JSONConvertible {}

extension Double: JSONConvertible {
  /// NaN and the infinities are strings, because JSON has no literals for them.
  var json: JSON {
    if isNaN { return .string("NaN") }
    if isInfinite { return .string(self < 0 ? "-Infinity" : "Infinity") }
    let text = description
    return .number(text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
  }
}

extension Array: JSONConvertible where Element: JSONConvertible {
  var json: JSON { .array(map(\.json)) }
}

extension Optional: JSONConvertible where Wrapped: JSONConvertible {
  var json: JSON { self?.json ?? .null }
}

extension Dictionary: JSONConvertible where Key == String, Value: JSONConvertible {
  var json: JSON { .object(map { JSON.Member(name: $0.key, value: $0.value.json) }) }
}
