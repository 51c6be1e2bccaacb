// JSON as values, for comparisons.

import ByteStore
import FirestoreWire

/// A JSON value.
package indirect enum JSONTree: Sendable, Equatable {
  case null
  case boolean(Bool)
  case number(Double)
  case string(String)
  case array([JSONTree])
  case object([String: JSONTree])

  /// Reads a JSON text; a text that is not JSON becomes a string.
  package init(_ bytes: [UInt8]) {
    do {
      var reader = try JSONReader(bytes.rawSpan)
      self = try Self.read(&reader)
      try reader.finish()
    } catch {
      self = .string(String(decoding: bytes, as: UTF8.self))
    }
  }

  private static func read(_ reader: inout JSONReader) throws(WireError) -> JSONTree {
    switch try reader.kind() {
    case .null:
      try reader.skip()
      return .null
    case .boolean: return .boolean(try reader.boolean())
    case .number: return .number(try reader.double())
    case .string: return .string(try reader.string())
    case .array:
      var elements: [JSONTree] = []
      var hasElement = try reader.beginArray()
      while hasElement {
        elements.append(try read(&reader))
        hasElement = try reader.nextElement()
      }
      return .array(elements)
    case .object:
      var members: [String: JSONTree] = [:]
      var key = try reader.beginObject()
      while let name = key {
        members[name] = try read(&reader)
        key = try reader.nextKey()
      }
      return .object(members)
    }
  }

  package subscript(name: String) -> JSONTree? {
    if case .object(let members) = self { members[name] } else { nil }
  }

  package var text: String? { if case .string(let text) = self { text } else { nil } }

  package var elements: [JSONTree] { if case .array(let elements) = self { elements } else { [] } }

  /// The first value of a member with this name, at any depth, in the order of names.
  package func first(_ name: String) -> JSONTree? {
    switch self {
    case .object(let members):
      if let member = members[name] { return member }
      for (_, member) in members.sorted(by: { $0.key < $1.key }) {
        if let found = member.first(name) { return found }
      }
      return nil
    case .array(let elements):
      for element in elements {
        if let found = element.first(name) { return found }
      }
      return nil
    case .null, .boolean, .number, .string: return nil
    }
  }
}

extension JSONTree: CustomStringConvertible {
  package var description: String {
    switch self {
    case .null: "null"
    case .boolean(let value): "\(value)"
    case .number(let number): "\(number)"
    case .string(let text): "\"\(text)\""
    case .array(let elements): "[\(elements.map(\.description).joined(separator: ", "))]"
    case .object(let members):
      "{\(members.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", "))}"
    }
  }
}
