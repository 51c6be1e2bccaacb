// Whether every message that the description of the API quotes is one that we have been seen to say.
//
// The descriptions are not part of this repository: FIRESTORE_CONTRACT names the directory that has them, as
// `firestore.md` and `core.md`. Without it the test says so and is skipped.

import Foundation
import Testing

@Suite struct ContractMessageTests {
  static let directory = ProcessInfo.processInfo.environment["FIRESTORE_CONTRACT"]

  @Test(.enabled(if: directory != nil, "FIRESTORE_CONTRACT names no directory: messages are NOT compared"))
  func everyQuotedMessageIsSaid() throws {
    let directory = try #require(Self.directory)
    let quoted = try ["firestore", "core"].flatMap { name in
      let text = try String(contentsOfFile: directory + "/\(name).md", encoding: .utf8)
      let messages = Self.messages(in: text).filter { !Self.isNoMessage($0) }
      try #require(messages.count > (name == "core" ? 1 : 50))
      return messages
    }
    let said = Misuse.all.map(\.message) + Complaint.all.map(\.message)
    var covered = 0
    for message in quoted {
      let pattern = try Self.pattern(for: message)
      if said.contains(where: { $0.contains(pattern) }) {
        covered += 1
      } else {
        Issue.record("never said: \(message)")
      }
    }
    print("messages: \(covered)/\(quoted.count) covered")
  }

  /// What is quoted and has three words or more, each once.
  static func messages(in text: String) -> [String] {
    let text = text.replacing("\"__\"\"", with: "'__'\"")
    var seen = Set<String>()
    return text.matches(of: #/"([^"]+)"/#).compactMap { match in
      let message = match.output.1.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        .replacing(" .delete()", with: ".delete()")
      guard message.split(separator: " ").count >= 3, seen.insert(message).inserted else { return nil }
      return message
    }
  }

  /// Words in quotes that nobody says.
  private static func isNoMessage(_ text: String) -> Bool {
    ["Same type class", "in document P", "The query requires an index…"].contains(text)
      || text.contains(" where a field is known")
  }

  /// A capital letter on its own stands for any text, as does what follows an ellipsis.
  static func pattern(for message: String) throws -> Regex<AnyRegexOutput> {
    var pattern = NSRegularExpression.escapedPattern(for: message)
    pattern = pattern.replacing(#/\b[A-Z]\b/#, with: ".+").replacing("…", with: ".*")
    pattern = pattern.replacing(#/database [pq]\\?\/[de]/#, with: "database .+")
    pattern = pattern.replacing("'__'", with: "\"__\"")
    return try Regex(pattern)
  }
}
