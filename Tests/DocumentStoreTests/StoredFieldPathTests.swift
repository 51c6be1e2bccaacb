// Field paths: names, dotted text, canonical text, order.

import DocumentStore
import Testing

@Suite struct StoredFieldPathTests {
  // MARK: Names

  @Test func namesAreLiteral() throws {
    let path = try StoredFieldPath(["a.b", "~*/[]", "`", " ", "__name__"])
    #expect(path.names == ["a.b", "~*/[]", "`", " ", "__name__"])
    #expect(path == field("a.b", "~*/[]", "`", " ", "__name__"))
  }

  @Test func pathWithoutNamesIsAnError() {
    #expect(error { try StoredFieldPath([]) } == .noNames)
    #expect("\(FieldPathError.noNames)" == "Invalid field path. Provided names must not be empty.")
  }

  @Test func anEmptyNameIsAnErrorWithItsIndex() {
    #expect(error { try StoredFieldPath([""]) } == .emptyName(index: 0))
    #expect(error { try StoredFieldPath(["a", "", ""]) } == .emptyName(index: 1))
    #expect(
      "\(FieldPathError.emptyName(index: 1))"
        == "Invalid field name at index 1. Field names must not be empty.")
  }

  @Test func uncheckedPathWithoutNamesTraps() async {
    await #expect(processExitsWith: .failure) { _ = StoredFieldPath(unchecked: []) }
  }

  @Test func documentIDPathIsTheReservedFieldName() throws {
    #expect(StoredFieldPath.documentID.names == ["__name__"])
    #expect(try StoredFieldPath(dotted: "__name__") == .documentID)
    #expect(StoredFieldPath.documentID.canonical == "__name__")
  }

  // MARK: Dotted text

  @Test(arguments: [
    ("a", ["a"]), ("a.b.c", ["a", "b", "c"]), ("0.-1", ["0", "-1"]), (" . ", [" ", " "]),
    ("a`b.`", ["a`b", "`"]), ("\\.\\", ["\\", "\\"]), ("é.😀", ["é", "😀"]),
    // A dot and a combining accent are one character, but the dot still separates names.
    ("a.\u{301}b", ["a", "\u{301}b"]), ("\r.\n", ["\r", "\n"]),
  ])
  func dottedTextIsSplitAtEveryDot(text: String, names: [String]) throws {
    let path = try StoredFieldPath(dotted: text)
    #expect(path == StoredFieldPath(unchecked: names))
  }

  @Test(arguments: ["", ".", "..", ".a", "a.", "a..b", "a.b..", "a..\u{301}"])
  func misplacedDotsInDottedTextAreRefused(text: String) {
    let found = error { try StoredFieldPath(dotted: text) }
    #expect(found == .misplacedDot(text))
    #expect(
      found?.description
        == "Invalid field path (\(text)). Paths must not be empty, begin with '.', end with '.', or "
        + "contain '..'")
  }

  @Test(arguments: ["~", "a*", "/", "a[0]", "a]", "a.b~c", "*\u{301}", "a/b", "..["])
  func forbiddenCharactersInDottedTextAreRefused(text: String) {
    let found = error { try StoredFieldPath(dotted: text) }
    #expect(found == .forbiddenCharacter(text))
    #expect(
      found?.description
        == "Invalid field path (\(text)). Paths must not contain '~', '*', '/', '[', or ']'")
  }

  // MARK: Canonical text

  static let texts: [(names: [String], text: String)] = [
    (["a"], "a"), (["_"], "_"), (["a1", "_9", "Z_z"], "a1._9.Z_z"), (["__name__"], "__name__"),
    (["0"], "`0`"), (["1a"], "`1a`"), (["a-b"], "`a-b`"), (["a b"], "`a b`"), (["a.b", "c"], "`a.b`.c"),
    (["`"], "`\\``"), (["\\"], "`\\\\`"), (["\\`"], "`\\\\\\``"), (["é"], "`é`"), (["."], "`.`"),
    (["a\u{301}"], "`a\u{301}`"), (["\u{301}"], "`\u{301}`"), (["\n"], "`\n`"), (["\0"], "`\0`"),
  ]

  @Test(arguments: texts) func nonIdentifierNamesAreQuotedWithBackticks(
    names: [String], text: String
  ) throws {
    let path = try StoredFieldPath(names)
    #expect(path.canonical.utf8.elementsEqual(text.utf8))
    #expect(path.description == path.canonical)
    #expect(try StoredFieldPath(canonical: text) == path)
  }

  @Test func quotesThatAreNotNeededAreRead() throws {
    #expect(try StoredFieldPath(canonical: "`a`.`b`") == field("a", "b"))
  }

  @Test(arguments: [
    "`", "``", "`a", "a`", "`a`b", "`a``b`", "a`b`", "a.`", "`a\\", "`a\\`", "`a\\b`", "`\\.`", "a\\", "é",
    "a b",
    "0", "a.0", "-", "`a`.-", "a\u{301}", "a.`b`\u{301}", "~", "a/b",
  ])
  func nonCanonicalTextIsRefused(text: String) {
    #expect(error { try StoredFieldPath(canonical: text) } == .notCanonical(text))
  }

  @Test(arguments: ["", ".", ".a", "a.", "a..b", "`a`.", "`a`..b", ".`a`"])
  func misplacedDotsInCanonicalTextAreRefused(text: String) {
    #expect(error { try StoredFieldPath(canonical: text) } == .misplacedDot(text))
  }

  private static let letters = [
    "a", "Z", "0", "_", ".", "`", "\\", "~", "*", "/", "[", "]", " ", "-", "\0", "\n", "\r\n", "é",
    "e\u{301}",
    "\u{301}", "\u{7F}", "\u{80}", "\u{FFFF}", "😀", "\u{10FFFF}", "\u{200D}",
  ]

  private static func name(_ rng: inout SeededRNG) -> String {
    (0...rng.roll(4)).map { _ in rng.pick(letters) }.joined()
  }

  @Test func canonicalTextRoundTrips() throws {
    let seed: UInt64 = 51
    var rng = SeededRNG(seed: seed)
    var paths: [[UInt8]: StoredFieldPath] = [:]
    for round in 0..<20_000 {
      let path = try StoredFieldPath((0...rng.roll(3)).map { _ in Self.name(&rng) })
      let text = path.canonical
      try #require(try StoredFieldPath(canonical: text) == path, "seed \(seed), round \(round): \(text)")
      let other = paths.updateValue(path, forKey: Array(text.utf8)) ?? path
      try #require(other == path, "seed \(seed), round \(round): \(text)")
    }
  }

  /// Each text is either refused or parsed to a path. The path prints as this text, except for unnecessary
  /// quotes.
  @Test func parsedTextPrintsCanonically() throws {
    let seed: UInt64 = 52
    var rng = SeededRNG(seed: seed)
    var accepted = 0
    var wrong: [String] = []
    for round in 0..<50_000 {
      let text = (0...rng.roll(8)).map { _ in rng.pick(["a", "_", "0", ".", "`", "`", "\\", "é"]) }.joined()
      guard let path = try? StoredFieldPath(canonical: text) else { continue }
      accepted += 1
      let again = path.canonical
      try #require(try StoredFieldPath(canonical: again) == path, "seed \(seed), round \(round): \(text)")
      let isLonger = again.utf8.count > text.utf8.count
      if isLonger || again.utf8.count != text.utf8.count && !text.contains("`") {
        wrong.append("round \(round): \(text), then \(again)")
      }
    }
    #expect(wrong == [], "seed \(seed)")
    #expect(accepted > 1000)
  }

  @Test func dottedTextEqualsItsJoinedNames() throws {
    var rng = SeededRNG(seed: 53)
    var wrong: [[String]] = []
    for _ in 0..<2000 {
      let names = (0...rng.roll(3)).map { _ in rng.pick(["a", "b_", "é", "`", "\\", " ", "e\u{301}", "9"]) }
      let path = try StoredFieldPath(dotted: names.joined(separator: "."))
      if try path != StoredFieldPath(names) { wrong.append(names) }
    }
    #expect(wrong == [])
  }

  // MARK: Equality and order

  @Test func canonicallyEquivalentNamesAreDistinctPaths() throws {
    let composed = try StoredFieldPath(["\u{E9}"])
    let decomposed = try StoredFieldPath(["e\u{301}"])
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed, composed]).count == 2)
    #expect(try Set([StoredFieldPath(["a.b"]), StoredFieldPath(["a", "b"])]).count == 2)
  }

  @Test func pathsSortByNameBytesAndBeforeNestedPaths() throws {
    let ordered = try [
      ["\0"], ["A"], ["a"], ["a", "\0"], ["a", "b"], ["a", "b", "c"], ["a\0"], ["a.b"], ["aa"], ["b"],
      ["e\u{301}"], ["\u{E9}"], ["\u{FFFF}"], ["\u{1F600}"],
    ].map { try StoredFieldPath($0) }
    var wrong: [String] = []
    for (index, left) in ordered.enumerated() {
      for (other, right) in ordered.enumerated() {
        if (left < right) != (index < other) { wrong.append("\(left) < \(right)") }
        if (left == right) != (index == other) { wrong.append("\(left) == \(right)") }
      }
    }
    #expect(wrong == [])
  }

  @Test func aPathIsAPrefixOfItselfAndOfPathsBelow() {
    #expect(field("a").isPrefix(of: field("a")))
    #expect(field("a").isPrefix(of: field("a", "b")))
    #expect(field("a", "b").isPrefix(of: field("a", "b", "c")))
    #expect(!field("a", "b").isPrefix(of: field("a")))
    #expect(!field("a").isPrefix(of: field("ab")))
    #expect(!field("a").isPrefix(of: field("a.b")))
    #expect(!field("\u{E9}").isPrefix(of: field("e\u{301}", "a")))
  }
}

private func error(_ body: () throws -> StoredFieldPath) -> FieldPathError? {
  do {
    _ = try body()
    return nil
  } catch {
    return error as? FieldPathError
  }
}
