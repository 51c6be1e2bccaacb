// Parses the clauses that group documents. They follow the clauses that choose the documents.
//
//   groups := "group" "by" field ("," field)* [results] [order] [limit]
//             | "distinct" field ("," field)* [order] [limit]
//             | results                       over all documents
//   results := result ("," result)*           without results, a group has its count
//   result  := "count" | ("sum" | "average" | "min" | "max") (field | "(" field ")")
//   order   := "order" "by" column ["asc" | "desc"] ("," …)*
//   column  := field | result | the name of a result, such as avg_age
//   limit   := "limit" number
//
// A group has at most 10 fields and 20 results.

import DocumentStore

extension TokenCursor {
  private static let groupFieldsMax = 10
  private static let resultsMax = 20

  /// Returns nil if no such clause follows.
  mutating func groups() throws -> Grouping? {
    var grouping: Grouping
    if take("group") {
      guard take("by") else { throw expected("by") }
      grouping = Grouping(fields: try groupFields(), results: [])
      // A comma may separate the results from the fields.
      grouping.results = isAtResult ? try results() : [.count]
    } else if take("distinct") {
      grouping = Grouping(fields: try groupFields(), results: [])
    } else if isAtResult {
      return Grouping(fields: [], results: try results())
    } else {
      return nil
    }
    if take("order") {
      guard take("by") else { throw expected("by") }
      grouping.orders = try list { cursor in
        let column = try cursor.column(of: grouping)
        return Grouping.Order(column: column, direction: cursor.direction())
      }
    }
    if take("limit") {
      let place = next.place
      let count = try wholeNumber()
      guard count > 0 else { throw TextProblem(message: "a limit is a number above 0", place: place) }
      grouping.limit = count
    }
    return grouping
  }

  private mutating func groupFields() throws -> [StoredFieldPath] {
    var fields: [StoredFieldPath] = []
    repeat {
      // After a comma, a result may follow instead of a field.
      if !fields.isEmpty, isAtResult, isFollowedByOperand { break }
      let place = next.place
      let field = try storedField("a group")
      guard !fields.contains(field) else {
        throw TextProblem(message: "\(field) is named twice", place: place)
      }
      guard fields.count < Self.groupFieldsMax else {
        throw TextProblem(message: "a group has \(Self.groupFieldsMax) fields at most", place: place)
      }
      fields.append(field)
    } while take(symbol: ",")
    return fields
  }

  /// Parses a field of the document itself, because each document has another name.
  private mutating func storedField(_ what: String) throws -> StoredFieldPath {
    let place = next.place
    let field = try field()
    guard field != .documentID else {
      throw TextProblem(
        message: "\(what) needs a field, and __name__ is different in each document", place: place)
    }
    return field
  }

  // MARK: Results

  /// Whether the next word begins a result, unless it is a field of this name.
  private var isAtResult: Bool { keyword.map { $0 == "count" || Self.function($0) != nil } ?? false }

  /// Whether a field or a bracket follows the next word.
  private var isFollowedByOperand: Bool {
    switch following.kind {
    case .word(let word): !["asc", "desc", "order", "limit"].contains(word.lowercased())
    case .symbol(let symbol): symbol == "("
    case .string, .number, .end: false
    }
  }

  private static func function(_ name: String) -> ((StoredFieldPath) -> GroupResult)? {
    switch name {
    case "sum": GroupResult.sum
    case "average", "avg": GroupResult.average
    case "min", "minimum": GroupResult.minimum
    case "max", "maximum": GroupResult.maximum
    default: nil
    }
  }

  private mutating func results() throws -> [GroupResult] {
    var results: [GroupResult] = []
    repeat {
      let place = next.place
      let result = try result()
      // A repeated result is shown once.
      guard !results.contains(result) else { continue }
      guard results.count < Self.resultsMax else {
        throw TextProblem(message: "a group has \(Self.resultsMax) results at most", place: place)
      }
      results.append(result)
    } while take(symbol: ",")
    return results
  }

  private mutating func result() throws -> GroupResult {
    guard let keyword, isAtResult else {
      throw expected("count, or sum, average, min or max and a field")
    }
    pop()
    guard let function = Self.function(keyword) else {
      // As in `count()`.
      if take(symbol: "(") { try require(symbol: ")") }
      return .count
    }
    let isInBrackets = take(symbol: "(")
    let field = try storedField(keyword)
    if isInBrackets { try require(symbol: ")") }
    return function(field)
  }

  // MARK: Orders

  private mutating func column(of grouping: Grouping) throws -> Grouping.Column {
    let start = next
    if isAtResult, keyword == "count" || isFollowedByOperand {
      // A field may have the name of a result that is not shown.
      if keyword == "count", !grouping.results.contains(.count), let column = fieldColumn(of: grouping) {
        return column
      }
      let result = try result()
      if let place = grouping.results.firstIndex(of: result) { return .result(place) }
      throw problem(of: result.name, at: start, in: grouping)
    }
    if case .word(let word) = next.kind,
      let place = grouping.results.firstIndex(where: { $0.name == word })
    {
      pop()
      return .result(place)
    }
    if let column = fieldColumn(of: grouping) { return column }
    throw problem(of: "\(try field())", at: start, in: grouping)
  }

  private mutating func fieldColumn(of grouping: Grouping) -> Grouping.Column? {
    guard case .word(let word) = next.kind, let field = try? QueryText.field(word),
      let place = grouping.fields.firstIndex(of: field)
    else { return nil }
    pop()
    return .field(place)
  }

  private func problem(of name: String, at start: QueryToken, in grouping: Grouping) -> TextProblem {
    let columns = grouping.fields.map(\.canonical) + grouping.results.map(\.name)
    return TextProblem(
      message: "the groups have no \(name) to order by, only \(columns.joined(separator: ", "))",
      place: start.place)
  }
}
