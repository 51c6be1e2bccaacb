// The text form of queries, values and fields.
//
//   query := source documents                 QuerySource, DocumentClauses
//   value                                     ValueParser
//
// Keywords are case-insensitive. Brackets may be nested 100 deep, more than any document or query allows.
// The length of a text is unlimited, because parsing takes linear time.

import DocumentStore

enum QueryText {
  static func query(_ text: String) throws -> StructuredQuery {
    try complaining(about: text) {
      var source = QuerySource(text)
      let scope = try source.scope()
      var cursor = TokenCursor(try QueryTokens.all(of: text, from: source.place))
      let query = try cursor.documents(of: scope)
      guard cursor.next.kind == .end else {
        throw cursor.expected("where, order by, start, end, limit or the end")
      }
      return query
    }
  }

  /// Parses the value of a document or a field.
  static func value(_ text: String) throws -> StoredValue {
    try complaining(about: text) {
      var cursor = TokenCursor(try QueryTokens.all(of: text))
      let value = try cursor.value()
      try cursor.end()
      return value
    }
  }

  /// Parses a field path, plain or with backticks.
  static func field(_ text: String) throws -> StoredFieldPath {
    if text == "__name__" { return .documentID }
    return try text.contains("`") ? StoredFieldPath(canonical: text) : StoredFieldPath(dotted: text)
  }

  // MARK: Problems

  /// Runs a parser, and shows its problem in the text.
  private static func complaining<Result>(about text: String, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let problem as TextProblem {
      throw CommandFailure(code: .usage, message: "\(problem.message)\n\(shown(text, problem.place))")
    } catch let error as DocumentStoreError {
      throw CommandFailure(code: .usage, message: error.description)
    }
  }

  private static let lettersShown = 240

  /// Shows an excerpt of the text on one line, and an arrow below the position.
  private static func shown(_ text: String, _ place: Int) -> String {
    var letters = text.map { $0.isNewline ? " " : $0 }
    var place = place
    if letters.count > lettersShown {
      let start = max(0, place - lettersShown / 2)
      let end = min(letters.count, start + lettersShown)
      var part = Array(letters[start..<end])
      if end < letters.count { part.append("…") }
      if start > 0 {
        part.insert("…", at: 0)
        place -= start - 1
      }
      letters = part
    }
    return "  \(String(letters))\n  \(String(repeating: " ", count: place))^"
  }
}
