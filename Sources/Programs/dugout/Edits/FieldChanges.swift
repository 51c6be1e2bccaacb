// Parses the changes of `dugout update`.
//
//   changes := change ([","] change)*
//   change  := field "=" (value | "delete" "(" ")" | "serverTimestamp" "(" ")" | "increment" "(" number ")"
//              | ("arrayUnion" | "arrayRemove") "(" value ("," value)* ")")
//
// The names of the functions are those of Firestore, and are case-insensitive.

import DocumentStore

struct FieldChanges {
  let list: [(field: StoredFieldPath, change: Mutation.FieldChange)]

  /// Each text has one or more changes.
  init(_ texts: [String]) throws {
    list = try texts.flatMap { text in
      try QueryText.complaining(about: text) {
        var cursor = TokenCursor(try QueryTokens.all(of: text))
        return try cursor.fieldChanges()
      }
    }
    try checkOverlap()
  }

  /// Refuses fields that are named twice, because the result would be ambiguous.
  private func checkOverlap() throws {
    let fields = list.map(\.field).sorted()
    for (outer, inner) in zip(fields, fields.dropFirst()) where outer.isPrefix(of: inner) {
      let twice = outer == inner ? "\(outer) is named twice" : "\(inner) lies in \(outer), and both are named"
      throw CommandFailure(code: .usage, message: "\(twice): name each field once. Nothing was written.")
    }
  }

  /// Whether the changes have the same effect on a document that has them already.
  var areRepeatable: Bool {
    list.allSatisfy { if case .compute(.increment) = $0.change { false } else { true } }
  }

  /// A missing document is not created.
  func mutation(of path: DocumentPath) throws(DocumentStoreError) -> Mutation {
    try Mutation.update(path, list, precondition: .exists(true))
  }
}

extension TokenCursor {
  fileprivate mutating func fieldChanges() throws -> [(field: StoredFieldPath, change: Mutation.FieldChange)]
  {
    var changes: [(field: StoredFieldPath, change: Mutation.FieldChange)] = []
    repeat {
      changes.append(try fieldChange())
      _ = take(symbol: ",")
    } while next.kind != .end
    return changes
  }

  private mutating func fieldChange() throws -> (field: StoredFieldPath, change: Mutation.FieldChange) {
    let start = next
    guard case .word = start.kind else {
      throw expected("a field and its value, such as age=37 or city=\"Paris\"")
    }
    let field = try field()
    guard field != .documentID else {
      throw TextProblem(message: "the name of a document cannot be changed", place: start.place)
    }
    if next.kind == .symbol("==") {
      throw TextProblem(message: "one equals sign sets a field, such as \(field)=37", place: next.place)
    }
    guard take(symbol: "=") else {
      let hint = "A query with blanks needs quotes around all of it, such as 'users where age > 3'"
      throw TextProblem(message: "expected = behind the field \(start.text). \(hint)", place: next.place)
    }
    return (field, try change(of: field))
  }

  private mutating func change(of field: StoredFieldPath) throws -> Mutation.FieldChange {
    if following.kind == .symbol("("), let function = keyword, Self.functions.contains(function) {
      pop()
      return try change(function)
    }
    if case .word(let word) = next.kind, following.kind != .symbol("("),
      !Self.literals.contains(word.lowercased())
    {
      throw TextProblem(
        message:
          "\(word) is no value. Text needs double quotes, and single quotes around the whole word keep them "
          + "from the command line: '\(field)=\"\(word)\"'",
        place: next.place)
    }
    return .set(try value())
  }

  private static let functions: Set = ["delete", "servertimestamp", "increment", "arrayunion", "arrayremove"]
  private static let literals: Set = ["true", "false", "null", "nan", "infinity"]

  private mutating func change(_ function: String) throws -> Mutation.FieldChange {
    let place = next.place
    try require(symbol: "(")
    let values = try nested(at: place) { cursor in
      cursor.next.kind == .symbol(")") ? [] : try cursor.values()
    }
    func problem(_ message: String) -> TextProblem { TextProblem(message: message, place: place) }
    try require(symbol: ")")
    switch (function, values.count) {
    case ("delete", 0): return .delete
    case ("servertimestamp", 0): return .compute(.serverTimestamp)
    case ("delete", _), ("servertimestamp", _): throw problem("expected nothing between these brackets")
    case ("increment", 1):
      // Infinities and NaN would destroy the stored number.
      guard let number = StoredNumber(values[0]), number.isFinite else { fallthrough }
      return .compute(.increment(number))
    case ("increment", _): throw problem("increment takes one number, such as increment(1)")
    case (_, 0): throw problem("expected the elements of the array, such as (\"vip\")")
    case ("arrayunion", _): return .compute(.arrayUnion(values))
    default: return .compute(.arrayRemove(values))
    }
  }
}

extension StoredNumber {
  fileprivate var isFinite: Bool { if case .double(let double) = self { double.isFinite } else { true } }
}
