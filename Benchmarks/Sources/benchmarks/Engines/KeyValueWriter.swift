// Documents and their indexes in a store of keys and values.

import Foundation

/// The bytes of the sample documents.
enum DocumentEntries {
  /// The document itself: its fields one after the other, with their names.
  static func document(_ number: Int, score: Double? = nil) throws -> ByteEntry {
    var value: [UInt8] = []
    for (name, field) in zip(names, SampleDocument.row(number).dropFirst(2)) {
      value += name.utf8
      value.append(0)
      switch field {
      case .text(let text): value += text.utf8
      case .integer(let number): withUnsafeBytes(of: number) { value += $0 }
      case .real(let number): withUnsafeBytes(of: name == "score" ? score ?? number : number) { value += $0 }
      }
      value.append(0)
    }
    return ByteEntry(key: Array(SampleDocument.pathText(number).utf8), value: value)
  }

  /// The keys of three indexes.
  static func indexes(_ number: Int, score: Double? = nil) -> [ByteEntry] {
    let row = SampleDocument.row(number)
    let path = SampleDocument.pathText(number)
    guard case .text(let parent) = row[1], case .real(let oldScore) = row[5],
      case .integer(let createdAt) = row[7],
      case .text(let town) = row[8]
    else { return [] }
    return [
      "s/\(parent)/\(ordered((score ?? oldScore).bitPattern))\(path)",
      "t/\(parent)/\(town)/\(ordered(UInt64(createdAt)))\(path)", "g/\(ordered(UInt64(createdAt)))\(path)",
    ].map { ByteEntry(key: Array($0.utf8), value: []) }
  }

  private static let names = [
    "name", "email", "age", "score", "active", "createdAt", "city", "visits", "tag0", "tag1", "tag2",
    "street",
    "addressCity", "zip", "country", "bio",
  ]

  private static func ordered(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

final class KeyValueWriter<Store: ByteEngine>: DocumentWriter {
  static var name: String { Store.name }
  private let store: Store

  init(_ directory: URL) throws { store = try Store(directory) }

  func write(_ numbers: Range<Int>) throws {
    let entries = try numbers.flatMap { [try DocumentEntries.document($0)] + DocumentEntries.indexes($0) }
    try store.commit(entries[...])
  }

  func load(_ count: Int) throws {
    for start in stride(from: 0, to: count, by: 500) { try write(start..<min(start + 500, count)) }
  }

  func update(_ numbers: Range<Int>, score: Double) throws {
    let entries = try numbers.flatMap { number in
      let score = score + Double(number % 10_000) / 7
      // What an update builds on is read, as by the others.
      _ = try store.value(for: Array(SampleDocument.pathText(number).utf8))
      return [
        try DocumentEntries.document(number, score: score), DocumentEntries.indexes(number, score: score)[0],
      ]
    }
    try store.commit(entries[...])
  }

  func close() throws { try store.close() }
}
