// JSON with the members of an object in an order, and their names told apart by their bytes: two names that look
// alike are two.

import DocumentStore
import Foundation

enum JSON: Sendable {
  case null
  case boolean(Bool)
  /// As it is written: no digit is lost before somebody says what kind of number it is.
  case number(String)
  case string(String)
  case array([JSON])
  case object([Member])

  struct Member: Sendable {
    var name: String
    var value: JSON
  }

  /// The member of an object; nil if there is none, or this is no object.
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
  /// In one line, the members of objects in the order of their names' bytes.
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

  /// Whether each name comes before the next, so that none is there twice: the fields of documents are kept so.
  static func areInOrder(_ members: [Member]) -> Bool {
    for index in members.indices.dropFirst()
    where !members[index - 1].name.precedesInUTF8(members[index].name) {
      return false
    }
    return true
  }

  /// Whether nothing has to be escaped for this byte: control characters from U+0080 on begin with 0xC2, as do some
  /// letters.
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
        // Those that JSON would take as they are as well: what is printed may be printed to a terminal.
        case _ where ShownText.isControl(scalar): text += ShownText.escape(scalar)
        default: text.unicodeScalars.append(scalar)
        }
      }
    }
    text += "\""
  }
}

// MARK: From values

/// What a literal of JSON may hold.
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
  /// JSON has no words for three of them.
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
