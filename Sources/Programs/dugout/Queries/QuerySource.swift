// Parses the source of a query: a collection, a collection group or a document.
//
//   source := path | "group" id               of names, between backticks if they have spaces

import DocumentStore

/// Parses the source of a query. The source is parsed separately, because its paths may contain letters
/// that no other token may contain.
struct QuerySource {
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
