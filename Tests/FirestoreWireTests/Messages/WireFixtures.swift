// Reads the fixtures that Tests/Fixtures/Wire/generate.py writes.

import Foundation
import Harness
import Testing

@testable import FirestoreWire

enum WireFixtures {
  /// A message of the official implementation.
  struct Sample: CustomTestStringConvertible {
    var line: Int
    var type: any WireMessage.Type
    var protobuf: [UInt8]
    var json: [UInt8]

    var testDescription: String { "line \(line) of messages.tsv, \(type)" }
  }

  /// A message of the official descriptors.
  struct Descriptor {
    var name: String
    var fields: [FieldList.Field] = []
    /// The numbers of the fields in each oneof with several members.
    var oneofs: [String: [Int32]] = [:]
  }

  static func samples() throws -> [Sample] {
    let types = Dictionary(uniqueKeysWithValues: WireMessages.all.map { (name(of: $0), $0) })
    return try rows("messages.tsv").enumerated().map { index, row in
      Sample(
        line: index + 1, type: try #require(types[row[0]]), protobuf: try #require(bytes(row[1])),
        json: Array(row[2].utf8))
    }
  }

  static func descriptors() throws -> (messages: [Descriptor], enums: Set<FieldList.Enum>) {
    var messages: [Descriptor] = []
    var enums: [FieldList.Enum] = []
    for row in try rows("descriptors.tsv") {
      switch row[0] {
      case "message": messages.append(Descriptor(name: row[1]))
      case "field":
        let number = try #require(Int32(row[1]))
        messages[messages.count - 1].fields.append(.init(number: number, name: row[2], type: row[3]))
        if !row[4].isEmpty { messages[messages.count - 1].oneofs[row[4], default: []].append(number) }
      case "enum": enums.append(.init(name: row[1], cases: []))
      case "case": enums[enums.count - 1].cases.append("\(row[1]) \(row[2])")
      default: Issue.record("descriptors.tsv has the row \(row)")
      }
    }
    return (messages, Set(enums))
  }

  static func name(of type: any WireMessage.Type) -> String {
    func name<Message: WireMessage>(_ type: Message.Type) -> String { WireMessages.name(of: type) }
    return name(type)
  }

  private static func rows(_ file: String) throws -> [[String]] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Fixtures/Wire")
    let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
    return text.utf8.split(separator: UInt8(ascii: "\n")).map { line in
      line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
        .map { String(decoding: $0, as: UTF8.self) }
    }
  }

  private static func bytes(_ hexadecimal: String) -> [UInt8]? {
    let digits = hexadecimal.compactMap(\.hexDigitValue)
    guard digits.count == hexadecimal.count, digits.count % 2 == 0 else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}
