// Reads the tokens of a query one by one, for the parsers of clauses and values.

/// A position in a list of tokens. The parsers of clauses and values extend it.
struct TokenCursor {
  private static let depthMax = 100
  private static let bracketLimit = "brackets may be nested \(depthMax) deep"
  /// The nesting limit of documents, which is lower than that of the parser.
  private static let valueLimit = "Maps and arrays may be nested \(valueDepthMax) deep"
  private static let valueDepthMax = 20

  private var tokens: ArraySlice<QueryToken>
  /// The number of open brackets.
  private var depth = 0
  /// The number of open maps and arrays.
  private var valueDepth = 0

  init(_ tokens: [QueryToken]) { self.tokens = tokens[...] }

  /// The next token. The final end token is never consumed.
  var next: QueryToken { tokens[tokens.startIndex] }

  /// The token after `next`; the end token if there is none.
  var following: QueryToken { tokens.count > 1 ? tokens[tokens.startIndex + 1] : next }

  @discardableResult
  mutating func pop() -> QueryToken {
    let token = next
    if tokens.count > 1 { tokens.removeFirst() }
    return token
  }

  func expected(_ what: String) -> TextProblem {
    TextProblem(message: "expected \(what), found \(next.text)", place: next.place)
  }

  /// The next word in lower case; nil for another token. A word with a dot or a backtick is no keyword.
  var keyword: String? { if case .word(let word) = next.kind { word.lowercased() } else { nil } }

  mutating func take(_ keyword: String) -> Bool {
    guard self.keyword == keyword else { return false }
    pop()
    return true
  }

  mutating func take(symbol: String) -> Bool {
    guard next.kind == .symbol(symbol) else { return false }
    pop()
    return true
  }

  mutating func require(symbol: String) throws {
    guard take(symbol: symbol) else { throw expected(symbol) }
  }

  /// Parses a list of at least one part, with commas between the parts.
  mutating func list<Part>(_ part: (inout TokenCursor) throws -> Part) throws -> [Part] {
    var parts = [try part(&self)]
    while take(symbol: ",") { parts.append(try part(&self)) }
    return parts
  }

  /// Parses the content of a bracket at `place`. The depth of brackets is bounded, because the parser is
  /// recursive.
  mutating func nested<Result>(
    at place: Int, isValue: Bool = false, _ body: (inout TokenCursor) throws -> Result
  ) throws -> Result {
    guard depth < Self.depthMax else {
      let isOfValues = isValue && valueDepth >= Self.valueDepthMax
      throw TextProblem(message: isOfValues ? Self.valueLimit : Self.bracketLimit, place: place)
    }
    depth += 1
    valueDepth += isValue ? 1 : 0
    defer {
      depth -= 1
      valueDepth -= isValue ? 1 : 0
    }
    return try body(&self)
  }

  func end() throws {
    guard next.kind == .end else { throw expected("the end") }
  }
}
