// Writes Firestore exports for tests, by the grammar in DatastoreEntity.swift and RecordLog.swift.

import Foundation

@testable import dugout

struct ExportWriter {
  indirect enum Value {
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case text(String)
    case bytes([UInt8])
    case time(microseconds: Int64)
    case place(Double, Double)
    case reference(app: String, [String])
    case array([Value])
    case map([(String, Value)])
    case vector([Double])
  }

  private(set) var bytes: [UInt8] = []

  // MARK: Records

  mutating func add(_ path: [String], _ fields: [(String, Value)]) {
    append(record: Self.bytes(13, Self.key(path)) + Self.properties(fields))
  }

  mutating func append(record: [UInt8]) {
    var rest = record[...]
    var isFirst = true
    repeat {
      var left = 32_768 - bytes.count % 32_768
      if left < 7 {
        bytes += [UInt8](repeating: 0, count: left)
        left = 32_768
      }
      let part = Array(rest.prefix(left - 7))
      rest = rest.dropFirst(part.count)
      let type: UInt8 = isFirst ? (rest.isEmpty ? 1 : 2) : (rest.isEmpty ? 4 : 3)
      let checksum = RecordLog.checksum(type, part)
      bytes += (0..<4).map { UInt8(truncatingIfNeeded: checksum >> (8 * UInt32($0))) }
      bytes += [UInt8(part.count & 0xFF), UInt8(part.count >> 8), type] + part
      isFirst = false
    } while !rest.isEmpty
  }

  // MARK: Entities

  private static func key(_ path: [String]) -> [UInt8] {
    bytes(13, Array("s~project".utf8)) + bytes(14, elements(path, 1, kind: 2, id: 3, name: 4))
  }

  private static func elements(_ path: [String], _ element: Int, kind: Int, id: Int, name: Int) -> [UInt8] {
    stride(from: 0, to: path.count, by: 2).flatMap { place in
      let text = path[place + 1]
      let number = text.hasPrefix("__id") ? UInt64(text.dropFirst(4).dropLast(2)) : nil
      let identity = number.map { varint(UInt64(id) << 3) + varint($0) } ?? bytes(name, Array(text.utf8))
      return group(element, bytes(kind, Array(path[place].utf8)) + identity)
    }
  }

  private static func properties(_ fields: [(String, Value)]) -> [UInt8] {
    fields.flatMap { name, value -> [UInt8] in
      switch value {
      case .array(let elements) where elements.isEmpty: return property(name, (24, []), isMultiple: false)
      case .array(let elements): return elements.flatMap { property(name, encoded($0), isMultiple: true) }
      case .vector(let numbers):
        return numbers.flatMap { property(name, (31, encoded(.double($0)).1), isMultiple: true) }
      default: return property(name, encoded(value), isMultiple: false)
      }
    }
  }

  private static func property(_ name: String, _ value: (UInt64, [UInt8]), isMultiple: Bool) -> [UInt8] {
    let meaning = value.0 == 0 ? [] : varint(1 << 3) + varint(value.0)
    let content =
      meaning + bytes(3, Array(name.utf8)) + varint(4 << 3) + [isMultiple ? 1 : 0] + bytes(5, value.1)
    // Marks some properties as unindexed, which must not matter.
    return bytes(name.hasPrefix("x") ? 15 : 14, content)
  }

  /// Returns the meaning and the encoded value.
  private static func encoded(_ value: Value) -> (UInt64, [UInt8]) {
    switch value {
    case .null: return (0, [])
    case .integer(let number): return (0, varint(1 << 3) + varint(UInt64(bitPattern: number)))
    case .time(let microseconds): return (7, varint(1 << 3) + varint(UInt64(bitPattern: microseconds)))
    case .boolean(let flag): return (0, varint(2 << 3) + [flag ? 1 : 0])
    case .text(let text): return (15, bytes(3, Array(text.utf8)))
    case .bytes(let content): return (14, bytes(3, content))
    case .map(let fields): return (19, bytes(3, bytes(13, []) + properties(fields)))
    case .double(let number): return (0, varint(4 << 3 | 1) + fixed(number))
    case .place(let latitude, let longitude):
      return (9, group(5, varint(6 << 3 | 1) + fixed(latitude) + varint(7 << 3 | 1) + fixed(longitude)))
    case .reference(let app, let path):
      return (0, group(12, bytes(13, Array(app.utf8)) + elements(path, 14, kind: 15, id: 16, name: 17)))
    case .array, .vector: preconditionFailure("no array and no vector is in an array")
    }
  }

  // MARK: Encoding

  private static func varint(_ value: UInt64) -> [UInt8] {
    var rest = value
    var bytes: [UInt8] = []
    while rest >= 0x80 {
      bytes.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }

  private static func fixed(_ number: Double) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number.bitPattern >> (8 * UInt64($0))) }
  }

  private static func bytes(_ number: Int, _ content: [UInt8]) -> [UInt8] {
    varint(UInt64(number) << 3 | 2) + varint(UInt64(content.count)) + content
  }

  private static func group(_ number: Int, _ content: [UInt8]) -> [UInt8] {
    varint(UInt64(number) << 3 | 3) + content + varint(UInt64(number) << 3 | 4)
  }
}
