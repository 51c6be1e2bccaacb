// What is written and read.

import DocumentStore
import Foundation

/// The document of every workload: eleven fields, about 350 bytes.
enum SampleDocument {
  static func write(_ number: Int) throws -> Mutation {
    let path = try DocumentPath(["users", "user-\(number * 7919 % 1_000_003)-\(number)"])
    return .set(path, fields(number))
  }

  /// Every other document in the collection `users`, the rest in a hundred collections of that name.
  static func path(_ number: Int) throws -> DocumentPath { try DocumentPath(segments(number)) }

  static func pathText(_ number: Int) -> String { segments(number).joined(separator: "/") }

  private static func segments(_ number: Int) -> [String] {
    let id = "user-\(number * 7919 % 1_000_003)-\(number)"
    return number % 2 == 0 ? ["users", id] : ["teams", "team-\(number / 2 % 100)", "users", id]
  }

  enum Column {
    case text(String)
    case integer(Int)
    case real(Double)
  }

  /// Path, parent, and the fields one after the other.
  static func row(_ number: Int) -> [Column] {
    var row: [Column] = [
      .text(pathText(number)), .text(segments(number).dropLast().joined(separator: "/")),
    ]
    let fields = fields(number)
    let tags: [StoredValue] = if case .array(let tags) = fields["tags"] { tags } else { [] }
    let address: StoredMap = if case .map(let address) = fields["address"] { address } else { StoredMap() }
    let values: [StoredValue?] =
      ["name", "email", "age", "score", "active", "createdAt", "city", "visits"].map { fields[$0] } + tags
      + ["street", "city", "zip", "country"].map { address[$0] } + [fields["bio"]]
    for value in values {
      switch value {
      case .string(let text): row.append(.text(text))
      case .integer(let number): row.append(.integer(Int(number)))
      case .double(let number): row.append(.real(number))
      case .boolean(let flag): row.append(.integer(flag ? 1 : 0))
      default: row.append(.text(""))
      }
    }
    return row
  }

  /// The same amount of bytes without a document.
  static func entry(_ number: Int) -> ByteEntry {
    let key = "users/user-\(number &* 7919 % 1_000_003)-\(number)"
    let text = "\(number) writes about the sea, the harbour and the weather. "
    let value = String(repeating: text, count: 1 + 240 / text.utf8.count).utf8.prefix(250)
    return ByteEntry(key: Array(key.utf8), value: Array(value))
  }

  static func fields(_ number: Int) -> StoredMap {
    let address = StoredMap([
      ("street", .string("\(number % 900) Harbour Street")), ("city", .string("Town \(number % 50)")),
      ("zip", .string("\(10_000 + number % 80_000)")), ("country", .string("Norway")),
    ])
    return StoredMap([
      ("name", .string("Person \(number)")), ("email", .string("person\(number)@example.org")),
      ("age", .integer(Int64(18 + number % 70))), ("score", .double(Double(number % 10_000) / 7)),
      ("active", .boolean(number % 3 == 0)), ("createdAt", .integer(1_700_000_000 + Int64(number))),
      ("city", .string("Town \(number % 50)")), ("visits", .integer(Int64(number % 1000))),
      ("tags", .array([.string("a\(number % 9)"), .string("b\(number % 5)"), .string("c")])),
      ("address", .map(address)),
      ("bio", .string("Writes about number \(number) and about the sea, the harbour and the weather.")),
    ])
  }
}
