// What is written and read.

import DocumentStore
import Foundation

/// The document of every workload: eleven fields, about 350 bytes.
enum SampleDocument {
  static func write(_ number: Int) throws -> Mutation {
    let path = try DocumentPath(["users", "user-\(number * 7919 % 1_000_003)-\(number)"])
    return .set(path, fields(number))
  }

  /// The same amount of bytes without a document.
  static func entry(_ number: Int) -> ByteEntry {
    let key = "users/user-\(number &* 7919 % 1_000_003)-\(number)"
    let text = "\(number) writes about the sea, the harbour and the weather. "
    let value = String(repeating: text, count: 1 + 240 / text.utf8.count).utf8.prefix(250)
    return ByteEntry(key: Array(key.utf8), value: Array(value))
  }

  private static func fields(_ number: Int) -> StoredMap {
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
