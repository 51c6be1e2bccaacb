// Queries over all collections of scripts.

extension RESTScript {
  /// The place of a parent, and a query below it of one collection, of a group, or of all collections. The
  /// emulator fails on those of all collections in a transaction.
  mutating func anyQuery(in transaction: String?) -> (place: String, query: String) {
    transaction == nil && random.oneIn(5) ? nameQuery() : query()
  }

  private mutating func nameQuery() -> (place: String, query: String) {
    let place = random.oneIn(2) ? "" : "/\(path())"
    let selector = random.oneIn(4) ? pick(["{}", "", "{},{}"]) : #"{"allDescendants":true}"#
    var parts = [#""from":[\#(selector)]"#]
    if random.oneIn(2) {
      parts.append(#""where":\#(random.oneIn(5) ? filter(depth: 1) : nameFilter(depth: 2))"#)
    }
    let isOrdered = random.oneIn(2)
    if isOrdered {
      parts.append(#""orderBy":[\#(random.oneIn(6) ? order() : #"{"field":{"fieldPath":"__name__"}}"#)]"#)
    }
    if isOrdered, random.oneIn(2) { parts.append(#""startAt":\#(nameCursor())"#) }
    if random.oneIn(isOrdered ? 2 : 12) { parts.append(#""endAt":\#(nameCursor())"#) }
    if random.oneIn(3) { parts.append(#""limit":\#(pick(["0", "1", "2", "3", "-1", "100"]))"#) }
    if random.oneIn(5) { parts.append(#""offset":\#(pick(["0", "1", "2", "-1", "50"]))"#) }
    if random.oneIn(4) { parts.append(#""select":{"fields":[{"fieldPath":"\#(pick(["__name__", "n"]))"}]}"#) }
    return (place, "{\(parts.joined(separator: ","))}")
  }

  private mutating func reference() -> String { #"{"referenceValue":"\#(name(path()))"}"# }

  private mutating func nameCursor() -> String {
    #"{"values":[\#(random.oneIn(8) ? "" : reference())],"before":\#(random.oneIn(2))}"#
  }

  private mutating func nameFilter(depth: Int) -> String {
    guard depth > 0, random.oneIn(2) else {
      let op = pick([
        "LESS_THAN", "LESS_THAN_OR_EQUAL", "GREATER_THAN", "GREATER_THAN_OR_EQUAL", "EQUAL", "NOT_EQUAL",
        "IN",
        "NOT_IN",
      ])
      let operand =
        op.hasSuffix("IN") ? #"{"arrayValue":{"values":[\#(reference()),\#(reference())]}}"# : reference()
      return #"{"fieldFilter":{"field":{"fieldPath":"__name__"},"op":"\#(op)","value":\#(operand)}}"#
    }
    let parts = [nameFilter(depth: depth - 1), nameFilter(depth: depth - 1)]
    return
      #"{"compositeFilter":{"op":"\#(pick(["AND", "OR"]))","filters":[\#(parts.joined(separator: ","))]}}"#
  }
}
