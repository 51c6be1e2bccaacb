// Compares the messages that the API description quotes with the messages that tests produce.
//
// The repository contains a list of the messages, but not the descriptions. FIRESTORE_CONTRACT names the
// directory that contains them, as `firestore.md` and `core.md`. If it is set, the list must contain
// exactly the quoted messages.

import Foundation
import Testing

@Suite struct ContractMessageTests {
  private static let directory = ProcessInfo.processInfo.environment["FIRESTORE_CONTRACT"]
  private static let list = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Fixtures/Firestore/messages.txt")

  /// Returns the messages of the list.
  private static func listed() throws -> [String] {
    try String(contentsOf: list, encoding: .utf8).split(separator: "\n").map(String.init)
      .filter { !$0.hasPrefix("#") }
  }

  @Test func everyListedMessageIsProduced() throws {
    let listed = try Self.listed()
    try #require(listed.count > 50)
    let said = Misuse.all.map(\.message) + Complaint.all.map(\.message)
    var covered = 0
    for message in listed {
      let pattern = try Self.pattern(for: message)
      if said.contains(where: { $0.contains(pattern) }) {
        covered += 1
      } else {
        Issue.record("never said: \(message)")
      }
    }
    print("messages: \(covered)/\(listed.count) covered")
  }

  @Test(.enabled(if: directory != nil, "FIRESTORE_CONTRACT names no directory: messages are NOT looked for"))
  func theMessageListMatchesTheContract() throws {
    let directory = try #require(Self.directory)
    let quoted = try ["firestore", "core"].flatMap { name in
      let text = try String(contentsOfFile: directory + "/\(name).md", encoding: .utf8)
      let messages = Self.messages(in: text).filter { !Self.isNoMessage($0) }
      try #require(messages.count > (name == "core" ? 1 : 50))
      return messages
    }
    let listed = try Self.listed()
    let (missing, extra) = (quoted.filter { !listed.contains($0) }, listed.filter { !quoted.contains($0) })
    #expect(missing.isEmpty, "not in the list: \(missing.joined(separator: "\n"))")
    #expect(extra.isEmpty, "quoted nowhere: \(extra.joined(separator: "\n"))")
  }

  /// Returns the distinct quotations of three words or more.
  private static func messages(in text: String) -> [String] {
    let text = text.replacing("\"__\"\"", with: "'__'\"")
    var seen = Set<String>()
    return text.matches(of: #/"([^"]+)"/#).compactMap { match in
      let message = match.output.1.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        .replacing(" .delete()", with: ".delete()")
      guard message.split(separator: " ").count >= 3, seen.insert(message).inserted else { return nil }
      return message
    }
  }

  /// Whether a quotation is not an error message.
  private static func isNoMessage(_ text: String) -> Bool {
    ["Same type class", "in document P", "The query requires an index…"].contains(text)
      || text.contains(" where a field is known")
  }

  /// Returns a pattern for the message, in which a single capital letter or an ellipsis matches any text.
  private static func pattern(for message: String) throws -> Regex<AnyRegexOutput> {
    var pattern = NSRegularExpression.escapedPattern(for: message)
    pattern = pattern.replacing(#/\b[A-Z]\b/#, with: ".+").replacing("…", with: ".*")
    pattern = pattern.replacing(#/database [pq]\\?\/[de]/#, with: "database .+")
    pattern = pattern.replacing("'__'", with: "\"__\"")
    return try Regex(pattern)
  }
}
