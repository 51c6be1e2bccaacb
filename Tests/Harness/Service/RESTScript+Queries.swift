// Queries and aggregates of scripts.

extension RESTScript {
  /// The place of a parent, and a query below it.
  mutating func query() -> (place: String, query: String) {
    let path = collection()
    let segments = path.split(separator: "/")
    let isGroup = random.oneIn(4)
    let id = String(segments.last ?? "k")
    let place = isGroup || segments.count == 1 ? "" : "/" + segments.dropLast().joined(separator: "/")
    var parts = [#""from":[\#(selector(id, isGroup: isGroup))]"#]
    if random.oneIn(2) { parts.append(#""where":\#(filter(depth: 2))"#) }
    let orders = (0..<random.below(3)).map { _ in order() }
    if !orders.isEmpty { parts.append(#""orderBy":[\#(orders.joined(separator: ","))]"#) }
    if random.oneIn(4) { parts.append(#""startAt":\#(cursor(orders.count))"#) }
    if random.oneIn(5) { parts.append(#""endAt":\#(cursor(orders.count))"#) }
    if random.oneIn(3) { parts.append(#""limit":\#(pick(["0", "1", "2", "3", "-1", "100"]))"#) }
    if random.oneIn(5) { parts.append(#""offset":\#(pick(["0", "1", "2", "-1", "50"]))"#) }
    if random.oneIn(4) {
      let fields = (0..<random.below(3)).map { _ in #"{"fieldPath":"\#(fieldPath())"}"# }
      parts.append(#""select":{"fields":[\#(fields.joined(separator: ","))]}"#)
    }
    return (place, "{\(parts.joined(separator: ","))}")
  }

  private mutating func selector(_ id: String, isGroup: Bool) -> String {
    if random.oneIn(25) {
      return pick([
        #"{"collectionId":"a/b"}"#, #"{"collectionId":"__a__"}"#,
        #"{"collectionId":"k"},{"collectionId":"l"}"#,
      ])
    }
    return #"{"collectionId":"\#(id)"\#(isGroup ? #","allDescendants":true"# : "")}"#
  }

  mutating func order() -> String {
    let direction = pick([#","direction":"DESCENDING""#, #","direction":"ASCENDING""#, ""])
    return #"{"field":{"fieldPath":"\#(queriedField())"}\#(direction)}"#
  }

  private mutating func queriedField() -> String {
    random.oneIn(15) ? fieldPath() : pick(["n", "n", "s", "m.k", "l", "__name__"])
  }

  private mutating func cursor(_ orderCount: Int) -> String {
    let count = random.oneIn(10) ? orderCount + 1 : random.below(orderCount + 1)
    let values = (0..<count).map { _ in
      random.oneIn(3) ? #"{"referenceValue":"\#(name(path()))"}"# : plainValue()
    }
    return #"{"values":[\#(values.joined(separator: ","))],"before":\#(random.oneIn(2))}"#
  }

  /// A value whose comparisons have the same results in the emulator: see `EmulatorComparison` for others.
  private mutating func plainValue() -> String {
    pick([
      #"{"integerValue":"1"}"#, #"{"integerValue":"2"}"#, #"{"integerValue":"0"}"#, #"{"stringValue":"a"}"#,
      #"{"stringValue":"b"}"#, #"{"booleanValue":true}"#, #"{"doubleValue":1.5}"#,
      #"{"timestampValue":"2020-01-01T00:00:00Z"}"#,
    ])
  }

  // MARK: Filters

  mutating func filter(depth: Int) -> String {
    if random.oneIn(30) {
      return pick(["{}", #"{"fieldFilter":{}}"#, #"{"unaryFilter":{}}"#, #"{"compositeFilter":{}}"#])
    }
    switch random.below(depth > 0 ? 6 : 4) {
    case 0...2: return fieldFilter()
    case 3:
      let op = pick(["IS_NULL", "IS_NAN", "IS_NOT_NULL", "IS_NOT_NAN"])
      return #"{"unaryFilter":{"op":"\#(op)","field":{"fieldPath":"\#(queriedField())"}}}"#
    default:
      let parts = (0..<random.below(4)).map { _ in filter(depth: depth - 1) }
      let op = random.oneIn(20) ? "OPERATOR_UNSPECIFIED" : pick(["AND", "OR"])
      return #"{"compositeFilter":{"op":"\#(op)","filters":[\#(parts.joined(separator: ","))]}}"#
    }
  }

  private mutating func fieldFilter() -> String {
    let field = queriedField()
    let op = pick([
      "EQUAL", "EQUAL", "LESS_THAN", "LESS_THAN_OR_EQUAL", "GREATER_THAN", "GREATER_THAN_OR_EQUAL",
      "NOT_EQUAL",
      "ARRAY_CONTAINS", "IN", "NOT_IN", "ARRAY_CONTAINS_ANY",
    ])
    let operand: String
    switch op {
    case "IN", "NOT_IN", "ARRAY_CONTAINS_ANY":
      let values = (0..<random.below(4)).map { _ in operandValue(of: field) }
      operand =
        random.oneIn(12) ? plainValue() : #"{"arrayValue":{"values":[\#(values.joined(separator: ","))]}}"#
    default: operand = random.oneIn(30) ? "{}" : operandValue(of: field)
    }
    return #"{"fieldFilter":{"field":{"fieldPath":"\#(field)"},"op":"\#(op)","value":\#(operand)}}"#
  }

  private mutating func operandValue(of field: String) -> String {
    if field == "__name__" {
      return random.oneIn(8) ? plainValue() : #"{"referenceValue":"\#(name(path()))"}"#
    }
    return plainValue()
  }

  // MARK: Aggregates

  mutating func aggregations() -> String {
    (0..<(random.oneIn(15) ? 0 : 1 + random.below(3))).map { _ in
      let alias = pick([#""alias":"a","#, #""alias":"b","#, "", "", #""alias":"x y","#, #""alias":"__a__","#])
      let operation: String
      switch random.below(8) {
      case 0...2: operation = #""count":{}"#
      case 3: operation = #""count":{"upTo":\#(pick(["\"1\"", "\"0\"", "\"-1\"", "3"]))}"#
      case 4...5: operation = #""sum":{"field":{"fieldPath":"\#(queriedField())"}}"#
      case 6: operation = #""avg":{"field":{"fieldPath":"\#(queriedField())"}}"#
      default: return alias.isEmpty ? "{}" : "{\(alias.dropLast())}"
      }
      return "{\(alias)\(operation)}"
    }.joined(separator: ",")
  }
}
