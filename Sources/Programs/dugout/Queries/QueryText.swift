// The text form of queries and values.
//
//   query  := source ["where" or] ["order" "by" order ("," order)*] ["start" ("at" | "after") values]
//             ["end" ("at" | "before") values] ["limit" ["last"] number]
//   source := path | "group" id               of names, between backticks if they have spaces
//   or     := and ("or" and)*
//   and    := term ("and" term)*
//   term   := "(" or ")" | field operator value
//   operator := "==" | "=" | "!=" | "<" | "<=" | ">" | ">=" | ["not"] "in" | "contains" ["any"]
//   order  := field ["asc" | "desc"]
//   field  := word ("." word)* | "__name__"   the last is the id of a document, or in a group its path
//   value  := text | number | "true" | "false" | "null" | "nan" | "infinity" | "[" values "]"
//             | "{" key ":" value, … "}" | "timestamp" "(" text ")" | "bytes" "(" text ")"
//             | "ref" "(" text ")" | "geo" "(" number "," number ")" | "vector" "(" values ")"
//
//   key    := text | word                     other names are quoted with backticks, as in a field
//
// Any JSON is a value. Keywords are case-insensitive. Brackets may be nested 100 deep, more than any
// document or query allows. A query has at most 100 sort fields. The length of a text is unlimited,
// because parsing takes linear time.

import DocumentStore
import Foundation

enum QueryText {
  static func query(_ text: String) throws -> StructuredQuery {
    try complaining(about: text) {
      var source = Source(text)
      let scope = try source.scope()
      var parser = Parser(try QueryTokens.all(of: text, from: source.place))
      return try parser.query(scope)
    }
  }

  /// Parses the value of a document or a field.
  static func value(_ text: String) throws -> StoredValue {
    try complaining(about: text) {
      var parser = Parser(try QueryTokens.all(of: text))
      let value = try parser.value()
      try parser.end()
      return value
    }
  }

  /// Parses a field path, plain or with backticks.
  static func field(_ text: String) throws -> StoredFieldPath {
    if text == "__name__" { return .documentID }
    return try text.contains("`") ? StoredFieldPath(canonical: text) : StoredFieldPath(dotted: text)
  }

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

  /// Parses the source of a query. The source is parsed separately, because its paths may contain letters
  /// that no other token may contain.
  private struct Source {
    private let letters: [Character]
    private(set) var place = 0

    init(_ text: String) { letters = Array(text) }

    mutating func scope() throws -> StructuredQuery.Scope {
      let (first, start) = try word()
      guard !first.isEmpty else {
        throw TextProblem(message: "a query begins with a collection", place: start)
      }
      if first.lowercased() == "group" {
        let (id, start) = try word()
        guard !id.isEmpty else { throw TextProblem(message: "expected the id of a group", place: start) }
        let names = try segments(id, at: start)
        guard names.count == 1 else {
          throw TextProblem(message: "the id of a group is one name, such as posts", place: start)
        }
        // `CollectionPath` rejects reserved ids, because the groups with these ids contain the store's own
        // documents.
        return try valid(at: start) { .collectionGroup(try CollectionPath(names).id) }
      }
      let segments = try segments(first, at: start)
      return try valid(at: start) {
        segments.count % 2 == 1
          ? .collection(try CollectionPath(segments)) : .document(try DocumentPath(segments))
      }
    }

    private func segments(_ text: String, at start: Int) throws -> [String] {
      do throws(TextProblem) {
        return try PathText.segments(text)
      } catch {
        throw TextProblem(message: error.message, place: start)
      }
    }

    private func valid(
      at start: Int, _ scope: () throws -> StructuredQuery.Scope
    ) throws -> StructuredQuery.Scope {
      do { return try scope() } catch { throw TextProblem(message: "\(error)", place: start) }
    }

    /// Reads up to the next space that is not between backticks.
    private mutating func word() throws -> (String, Int) {
      while place < letters.count, letters[place].isWhitespace { place += 1 }
      let start = place
      var isQuoted = false
      while place < letters.count, isQuoted || !letters[place].isWhitespace {
        // In any other place a backtick is a letter.
        let isFirst = place == start || letters[place - 1] == "/"
        let next = place + 1 < letters.count ? letters[place + 1] : " "
        let isLast = next == "/" || next.isWhitespace
        if letters[place] == "`", isQuoted ? isLast : isFirst { isQuoted.toggle() }
        // An escaped letter cannot end a name.
        if isQuoted, letters[place] == "\\", place + 1 < letters.count { place += 1 }
        place += 1
      }
      guard !isQuoted else {
        throw TextProblem(message: "a backtick opens a name and none closes it", place: start)
      }
      return (String(letters[start..<place]), start)
    }
  }

  // MARK: Parsing

  private struct Parser {
    private static let depthMax = 100
    private static let bracketLimit = "brackets may be nested \(depthMax) deep"
    /// The nesting limit of documents, which is lower than that of the parser.
    private static let valueLimit = "Maps and arrays may be nested \(valueDepthMax) deep"
    private static let valueDepthMax = 20
    /// The limit of filters and orders in a query.
    private static let ordersMax = QueryLimits().partsMax
    private static let orderLimit = "a query sorts by \(ordersMax) fields at most"

    private var tokens: ArraySlice<QueryToken>
    /// The number of open brackets.
    private var depth = 0
    /// The number of open maps and arrays.
    private var valueDepth = 0

    init(_ tokens: [QueryToken]) { self.tokens = tokens[...] }

    /// The next token. The final end token is never consumed.
    private var next: QueryToken { tokens[tokens.startIndex] }

    private mutating func pop() -> QueryToken {
      let token = next
      if tokens.count > 1 { tokens.removeFirst() }
      return token
    }

    private func expected(_ what: String) -> TextProblem {
      TextProblem(message: "expected \(what), found \(next.text)", place: next.place)
    }

    private mutating func take(_ keyword: String) -> Bool {
      guard case .word(let word) = next.kind, word.lowercased() == keyword else { return false }
      _ = pop()
      return true
    }

    private mutating func take(symbol: String) -> Bool {
      guard next.kind == .symbol(symbol) else { return false }
      _ = pop()
      return true
    }

    private mutating func require(symbol: String) throws {
      guard take(symbol: symbol) else { throw expected(symbol) }
    }

    /// Parses the content of a bracket at `place`. The depth of brackets is bounded, because the parser is
    /// recursive.
    private mutating func nested<Result>(
      at place: Int, isValue: Bool = false, _ body: (inout Parser) throws -> Result
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

    // MARK: Queries

    mutating func query(_ scope: StructuredQuery.Scope) throws -> StructuredQuery {
      var query = StructuredQuery(scope)
      if take("where") { query = try query.filtered(by: try or()) }
      if take("order") {
        guard take("by") else { throw expected("by") }
        repeat {
          let place = next.place
          let order = try order()
          // The limit is checked before the order is added, because each addition copies the query.
          guard query.explicitOrders.count < Self.ordersMax else {
            throw TextProblem(message: Self.orderLimit, place: place)
          }
          query = try query.ordered(by: order)
        } while take(symbol: ",")
      }
      if take("start") {
        let isAfter = take("after")
        guard isAfter || take("at") else { throw expected("at or after") }
        query = try query.starting(isAfter ? .after : .before, try values())
      }
      if take("end") {
        let isBefore = take("before")
        guard isBefore || take("at") else { throw expected("at or before") }
        query = try query.ending(isBefore ? .before : .after, try values())
      }
      if take("limit") {
        let isLast = take("last")
        guard case .number(let text) = next.kind, let count = Int(text) else {
          throw expected("a whole number")
        }
        _ = pop()
        query = try query.limited(to: isLast ? .last(count) : .first(count))
      }
      guard next.kind == .end else { throw expected("where, order by, start, end, limit or the end") }
      return query
    }

    private mutating func order() throws -> OrderBy {
      let field = try field()
      if take("desc") { return OrderBy(field, .descending) }
      _ = take("asc")
      return OrderBy(field)
    }

    private mutating func or() throws -> FilterTree {
      var parts = [try and()]
      while take("or") { parts.append(try and()) }
      return parts.count == 1 ? parts[0] : .any(parts)
    }

    private mutating func and() throws -> FilterTree {
      var parts = [try term()]
      while take("and") { parts.append(try term()) }
      return parts.count == 1 ? parts[0] : .all(parts)
    }

    private mutating func term() throws -> FilterTree {
      let place = next.place
      if take(symbol: "(") {
        return try nested(at: place) { parser in
          let inner = try parser.or()
          try parser.require(symbol: ")")
          return inner
        }
      }
      let field = try field()
      let kind = try comparison()
      let start = next
      let operand = try value()
      if kind.takesList {
        guard case .array = operand else {
          throw TextProblem(
            message: "expected a list such as [1, 2], found \(start.text)", place: start.place)
        }
      }
      return .field(field, kind, operand)
    }

    private mutating func field() throws -> StoredFieldPath {
      guard case .word(let word) = next.kind else { throw expected("a field") }
      do {
        let field = try QueryText.field(word)
        _ = pop()
        return field
      } catch {
        throw TextProblem(message: "\(error)", place: next.place)
      }
    }

    private mutating func comparison() throws -> FieldFilter.Operator {
      let symbols: [(String, FieldFilter.Operator)] = [
        ("==", .equal), ("=", .equal), ("!=", .notEqual), ("<=", .lessThanOrEqual),
        (">=", .greaterThanOrEqual),
        ("<", .lessThan), (">", .greaterThan),
      ]
      for (symbol, kind) in symbols where take(symbol: symbol) { return kind }
      if take("in") { return .isIn }
      if take("not") {
        guard take("in") else { throw expected("in") }
        return .notIn
      }
      if take("contains") { return take("any") ? .arrayContainsAny : .arrayContains }
      throw expected("==, !=, <, <=, >, >=, in, not in, contains or contains any")
    }

    // MARK: Values

    private mutating func values() throws -> [StoredValue] {
      var values = [try value()]
      while take(symbol: ",") { values.append(try value()) }
      return values
    }

    mutating func value() throws -> StoredValue {
      let place = next.place
      if take(symbol: "[") {
        return .array(try nested(at: place, isValue: true) { try $0.list(until: "]") })
      }
      if take(symbol: "{") { return .map(try nested(at: place, isValue: true) { try $0.map() }) }
      switch next.kind {
      case .string(let text):
        _ = pop()
        return .string(text)
      case .number(let text):
        if Self.isLargeInteger(text) {
          throw TextProblem(
            message: "\(text) is too large for an integer; with a point it is a double, which has 15 digits",
            place: next.place)
        }
        guard let number = Self.number(text) else { throw expected("a number") }
        _ = pop()
        return number
      case .word(let word):
        return try named(word.lowercased())
      case .symbol, .end:
        throw expected("a value; strings need quotes")
      }
    }

    private static func number(_ text: String) -> StoredValue? {
      if let integer = Int64(text) { return .integer(integer) }
      switch text.lowercased() {
      case "-infinity": return .double(-.infinity)
      case "+infinity": return .double(.infinity)
      case "-nan", "+nan": return nil
      default: break
      }
      // Numbers are as in JSON: `Double` alone would also accept 0x10, and would turn 1e400 into infinity.
      guard text.allSatisfy({ !$0.isLetter || $0 == "e" || $0 == "E" }), let number = Double(text),
        number.isFinite
      else { return nil }
      return .double(number)
    }

    /// Whether the text is an integer that exceeds 64 bits.
    private static func isLargeInteger(_ text: String) -> Bool {
      let digits = text.first == "-" || text.first == "+" ? text.dropFirst() : text[...]
      return !digits.isEmpty && digits.allSatisfy { $0.isASCII && $0.isNumber } && Int64(text) == nil
    }

    private mutating func named(_ word: String) throws -> StoredValue {
      let start = next
      func problem(_ message: String) -> TextProblem { TextProblem(message: message, place: start.place) }
      switch word {
      case "true", "false":
        _ = pop()
        return .boolean(word == "true")
      case "null":
        _ = pop()
        return .null
      case "nan":
        _ = pop()
        return .double(.nan)
      case "infinity":
        _ = pop()
        return .double(.infinity)
      case "timestamp", "bytes", "ref", "geo", "vector": break
      default: throw expected("a value; strings need quotes")
      }
      _ = pop()
      let place = next.place
      try require(symbol: "(")
      let arguments = try nested(at: place) { try $0.list(until: ")") }
      switch (word, arguments) {
      case ("timestamp", _) where arguments.count == 1:
        guard case .string(let text) = arguments[0], let time = TimestampText.parse(text) else {
          throw problem("a timestamp looks like timestamp(\"2026-03-01T12:00:00Z\")")
        }
        return .timestamp(time)
      case ("bytes", _) where arguments.count == 1:
        guard case .string(let text) = arguments[0], let data = Data(base64Encoded: text) else {
          throw problem("bytes are written in Base64: bytes(\"AQID\")")
        }
        return .bytes([UInt8](data))
      case ("ref", _) where arguments.count == 1:
        // A reference that an app created includes its project and database.
        if case .string(let text) = arguments[0], let whole = DocumentJSON.reference(text) {
          return .reference(whole)
        }
        guard case .string(let text) = arguments[0], let path = try? DocumentPath(text.pathSegments) else {
          throw problem("a reference looks like ref(\"users/ada\")")
        }
        return .reference(DocumentJSON.ownReference(path))
      case ("geo", _) where arguments.count == 2:
        guard let latitude = arguments[0].asDouble, let longitude = arguments[1].asDouble,
          let point = StoredGeoPoint(latitude: latitude, longitude: longitude)
        else { throw problem("a geo point looks like geo(48.1, 11.6)") }
        return .geoPoint(point)
      case ("vector", _):
        let numbers = arguments.compactMap(\.asDouble)
        guard numbers.count == arguments.count else { throw problem("a vector has numbers only") }
        return .vector(numbers)
      default:
        throw problem("\(word) does not take \(arguments.count) values")
      }
    }

    private mutating func list(until close: String) throws -> [StoredValue] {
      if take(symbol: close) { return [] }
      let list = try values()
      try require(symbol: close)
      return list
    }

    private mutating func map() throws -> StoredMap {
      var entries: [(name: String, value: StoredValue)] = []
      var names: Set<String> = []
      guard !take(symbol: "}") else { return StoredMap([]) }
      repeat {
        let name = try name()
        entries.append((name, .null))
        let start = pop()
        guard names.insert(name).inserted else {
          throw TextProblem(message: "\(start.text) appears twice", place: start.place)
        }
        try require(symbol: ":")
        entries[entries.count - 1].value = try value()
      } while take(symbol: ",")
      try require(symbol: "}")
      return StoredMap(entries)
    }

    /// Returns the name of the next field without consuming it. Backticks in the name quote it, as in a
    /// query; backticks in a quoted string are letters.
    private func name() throws -> String {
      switch next.kind {
      case .string(let name): return name
      case .word(let word):
        guard word.contains("`") else { return word }
        guard let path = try? StoredFieldPath(canonical: word) else {
          throw TextProblem(
            message: "a name is enclosed in backticks, with \\ before a backtick inside it",
            place: next.place)
        }
        guard path.names.count == 1 else {
          throw TextProblem(
            message: "a field in a map is written inside its own braces, such as {a: {b: 1}}",
            place: next.place)
        }
        return path.names[0]
      default: throw expected("the name of a field")
      }
    }
  }
}

extension StoredValue {
  fileprivate var asDouble: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }
}
