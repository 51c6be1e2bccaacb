// Parses the clauses that choose documents.
//
//   documents := ["where" or] ["order" "by" order ("," order)*] ["start" ("at" | "after") values]
//                ["end" ("at" | "before") values] ["limit" ["last"] number]
//   or        := and ("or" and)*
//   and       := term ("and" term)*
//   term      := "(" or ")" | field operator value
//   operator  := "==" | "=" | "!=" | "<" | "<=" | ">" | ">=" | ["not"] "in" | "contains" ["any"]
//   order     := field ["asc" | "desc"]
//   field     := word ("." word)* | "__name__"   the last is the id of a document, or in a group its path
//
// A query has at most 100 sort fields.

import DocumentStore

extension TokenCursor {
  /// The limit of filters and orders in a query.
  private static let ordersMax = QueryLimits().partsMax
  private static let orderLimit = "a query sorts by \(ordersMax) fields at most"

  mutating func documents(of scope: StructuredQuery.Scope) throws -> StructuredQuery {
    var query = StructuredQuery(scope)
    if take("where") { query = try query.filtered(by: try or()) }
    if take("order") { query = try ordered(query) }
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
      let count = try wholeNumber()
      query = try query.limited(to: isLast ? .last(count) : .first(count))
    }
    return query
  }

  private mutating func ordered(_ query: StructuredQuery) throws -> StructuredQuery {
    var query = query
    guard take("by") else { throw expected("by") }
    repeat {
      let place = next.place
      let field = try field()
      let order = OrderBy(field, direction())
      // The limit is checked before the order is added, because each addition copies the query.
      guard query.explicitOrders.count < Self.ordersMax else {
        throw TextProblem(message: Self.orderLimit, place: place)
      }
      query = try query.ordered(by: order)
    } while take(symbol: ",")
    return query
  }

  mutating func direction() -> OrderBy.Direction {
    if take("desc") { return .descending }
    _ = take("asc")
    return .ascending
  }

  mutating func wholeNumber() throws -> Int {
    guard case .number(let text) = next.kind, let count = Int(text) else { throw expected("a whole number") }
    pop()
    return count
  }

  mutating func field() throws -> StoredFieldPath {
    guard case .word(let word) = next.kind else { throw expected("a field") }
    do {
      let field = try QueryText.field(word)
      pop()
      return field
    } catch {
      throw TextProblem(message: "\(error)", place: next.place)
    }
  }

  // MARK: Conditions

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
}
