// JSON of scenarios, with integers distinguished from booleans.

import DocumentStore
import Foundation

enum JSON: Decodable, Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case double(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .boolean(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
      self = .double(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSON].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: JSON].self))
    }
  }

  subscript(name: String) -> JSON? {
    guard case .object(let members) = self, let member = members[name] else { return nil }
    if case .null = member { return nil }
    return member
  }

  var isNull: Bool { if case .null = self { true } else { false } }
  var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
  var string: String? { if case .string(let value) = self { value } else { nil } }
  var array: [JSON]? { if case .array(let values) = self { values } else { nil } }
  var object: [String: JSON]? { if case .object(let members) = self { members } else { nil } }
  var integer: Int64? {
    switch self {
    case .integer(let value): value
    case .double(let value): Int64(exactly: value)
    default: nil
    }
  }

  var strings: [String] { array?.compactMap(\.string) ?? [] }
  var integers: [Int64] { array?.compactMap(\.integer) ?? [] }

  var value: StoredValue {
    switch self {
    case .null: .null
    case .boolean(let value): .boolean(value)
    case .integer(let value): .integer(value)
    case .double(let value): .double(value)
    case .string(let value): .string(value)
    case .array(let values): .array(values.map(\.value))
    case .object: .map(map)
    }
  }

  var map: StoredMap { StoredMap((object ?? [:]).map { ($0, $1.value) }) }
}
