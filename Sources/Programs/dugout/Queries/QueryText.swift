// The text form of queries, values and fields.
//
//   query := source documents [groups]        QuerySource, DocumentClauses, GroupClauses
//   value                                     ValueParser
//
// Keywords are case-insensitive. Brackets may be nested 100 deep, more than any document or query allows.
// The length of a text is unlimited, because parsing takes linear time.

import DocumentStore

/// The parsed text of a query, which asks for documents or for groups of them.
struct QueryRequest: Equatable {
  /// The documents, which the groups are made of if there are any.
  var query: StructuredQuery
  var grouping: Grouping?
}

enum QueryText {
  /// Parses a query for documents or for groups.
  static func request(_ text: String) throws -> QueryRequest {
    try complaining(about: text) {
      var source = QuerySource(text)
      let scope = try source.scope()
      var cursor = TokenCursor(try QueryTokens.all(of: text, from: source.place))
      let query = try cursor.documents(of: scope)
      let grouping = try cursor.groups()
      guard cursor.next.kind == .end else { throw cursor.expectedClause(after: grouping) }
      return QueryRequest(query: query, grouping: grouping)
    }
  }

  /// Parses a query for documents.
  static func query(_ text: String) throws -> StructuredQuery {
    let request = try request(text)
    guard request.grouping == nil else {
      throw CommandFailure(
        code: .usage,
        message:
          "this command takes a query for documents. \"group by\", \"distinct\" and results such as count "
          + "are for \"dugout query\", which prints them as CSV, too.")
    }
    return request.query
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

  /// Parses fields with commas between them.
  static func fields(_ text: String) throws -> [StoredFieldPath] {
    try complaining(about: text) {
      var cursor = TokenCursor(try QueryTokens.all(of: text))
      let fields = try cursor.list { try $0.field() }
      guard cursor.next.kind == .end else { throw cursor.expected("a comma and a field, or the end") }
      return fields
    }
  }

  /// Parses a field path, plain or with backticks.
  static func field(_ text: String) throws -> StoredFieldPath {
    if text == "__name__" { return .documentID }
    return try text.contains("`") ? StoredFieldPath(canonical: text) : StoredFieldPath(dotted: text)
  }

  // MARK: Problems

  /// Runs a parser, and shows its problem in the text.
  static func complaining<Result>(about text: String, _ body: () throws -> Result) throws -> Result {
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

extension TokenCursor {
  private static let clauses = [
    "where", "order", "start", "end", "limit", "group", "distinct", "count", "sum", "average", "min", "max",
  ]

  /// The problem of a token that begins no clause.
  fileprivate func expectedClause(after grouping: Grouping?) -> TextProblem {
    let clauses =
      switch grouping {
      case nil: "where, order by, start, end, limit, group by, distinct, count, sum, average, min, max or "
      case let grouping? where grouping.fields.isEmpty: "a comma or "
      case _?: "order by, limit or "
      }
    var problem = expected(clauses + "the end")
    if let keyword, !Self.clauses.contains(keyword),
      let near = Self.clauses.first(where: { Wording.areOneTypoApart($0, keyword) })
    {
      problem.message += ". Did you mean \(near)?"
    }
    return problem
  }
}
