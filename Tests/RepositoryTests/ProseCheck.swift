// Checks the wording of comments and names: the openers of doc comments, words for actors, the line width,
// the stems of identifiers, and the glossary.

struct ProseCheck {
  /// The maximum width of a comment, which equals the maximum width of code (`lineLength` in .swift-format).
  static let columnsMax = 110
  static let glossaryEntriesMax = 35

  private static let openers = ["Of", "The same", "That of", "One that", "What", "Whoever"]
  private static let actors: Set<String> = ["whoever", "nobody", "somebody", "someone"]

  /// Returns the violations in the comments of all Swift files, except for files that the list exempts.
  ///
  /// A line `prefix — reason` in the list exempts the files whose paths begin with the prefix.
  static func comments(in tree: RepositoryTree, exempt list: String = "") -> [Violation] {
    let prefixes = list.split(separator: "\n").filter { !$0.hasPrefix("#") }
      .map { $0.split(separator: " ").first ?? "" }
    return swiftFiles(of: tree).filter { path in !prefixes.contains { path.hasPrefix($0) } }
      .flatMap { path in comments(in: tree.texts[path]!, path) }
  }

  private static func comments(in text: String, _ path: String) -> [Violation] {
    let code = SwiftSource(text, keepingStrings: true).code.split(
      separator: "\n", omittingEmptySubsequences: false)
    var violations: [Violation] = []
    var wasDocComment = false
    var isInFence = false
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let trimmed = line.trimmed
      // A comment is blank in `code`. A line of a string literal that begins with `//` is not blank.
      guard trimmed.hasPrefix("//"), code[index].allSatisfy({ $0 == " " }) else {
        (wasDocComment, isInFence) = (false, false)
        continue
      }
      let isDocComment = trimmed.hasPrefix("///")
      let words = trimmed.drop { $0 == "/" }.trimmed
      if words.hasPrefix("```") { isInFence.toggle() }
      func report(_ sentence: String) {
        violations.append(Violation(path: path, line: index + 1, sentence: sentence))
      }
      // Rows of the layer table in Package.swift may be wider.
      if line.count > columnsMax, !words.hasPrefix("|") { report("The comment has \(line.count) columns.") }
      if isDocComment, !wasDocComment, let opener = openers.first(where: { opens(words, with: $0) }) {
        report("The doc comment opens with '\(opener)'.")
      }
      if !isInFence, let actor = actor(in: words) { report("The comment calls an actor '\(actor)'.") }
      wasDocComment = isDocComment
    }
    return violations
  }

  private static func opens(_ words: Substring, with opener: String) -> Bool {
    guard words.hasPrefix(opener) else { return false }
    return words.dropFirst(opener.count).first.map { !$0.isLetter && !$0.isNumber } ?? true
  }

  /// Returns the first word in `words` that names an actor. Code in backticks and quoted words are not
  /// checked.
  private static func actor(in words: Substring) -> String? {
    words.replacing(#/`[^`]*`|"[^"]*"/#, with: " ").split { !$0.isLetter }.map { $0.lowercased() }
      .first { actors.contains($0) }
  }

  // MARK: Identifiers

  /// Returns a violation for each identifier in a Swift file that contains a stem of the list as whole words
  /// in camel case.
  ///
  /// The list has one stem per line. A line `stem: identifier — reason` allows one identifier.
  static func identifiers(in tree: RepositoryTree, stems list: String) -> [Violation] {
    let stems = Stems(list)
    return swiftFiles(of: tree).flatMap { path -> [Violation] in
      var seen: Set<String> = []
      return SwiftSource(tree.texts[path]!).tokens().compactMap { token -> Violation? in
        guard token.isIdentifier, seen.insert(token.text).inserted, let stem = stems.stem(of: token.text)
        else { return nil }
        return Violation(
          path: path, line: token.line, sentence: "The identifier \(token.text) has the stem '\(stem)'.")
      }
    }
  }

  private struct Stems {
    private var stems: [[String]] = []
    private var allowed: Set<String> = []

    init(_ list: String) {
      for line in list.split(separator: "\n") where !line.hasPrefix("#") {
        let parts = line.split(separator: ":", maxSplits: 1)
        stems.append(Self.words(parts[0].trimmed))
        guard parts.count > 1, let identifier = parts[1].trimmed.split(separator: " ").first else { continue }
        allowed.insert(String(identifier))
      }
    }

    func stem(of identifier: String) -> String? {
      guard !allowed.contains(identifier) else { return nil }
      let words = Self.words(identifier[...])
      let found = stems.first { stem in
        words.indices.contains { words[$0...].starts(with: stem) }
      }
      return found?.joined(separator: " ")
    }

    /// Splits an identifier into its words: `letGoOf` becomes `let`, `go`, `of`.
    private static func words(_ identifier: Substring) -> [String] {
      identifier.replacing(#/([a-z0-9])([A-Z])/#) { "\($0.1)_\($0.2)" }.split(separator: "_")
        .map { $0.lowercased() }
    }
  }

  // MARK: Glossary

  static func glossary(in tree: RepositoryTree) -> [Violation] {
    let path = "docs/architecture.md"
    let lines = (tree.texts[path] ?? "").split(separator: "\n", omittingEmptySubsequences: false)
    guard let start = lines.firstIndex(of: "## Glossary") else {
      return [Violation(path: path, line: nil, sentence: "There is no section Glossary.")]
    }
    let entries = lines[(start + 1)...].prefix { !$0.hasPrefix("## ") }.count { $0.hasPrefix("| **") }
    guard entries > glossaryEntriesMax || entries == 0 else { return [] }
    let sentence = "The glossary has \(entries) entries, and may have \(glossaryEntriesMax)."
    return [Violation(path: path, line: start + 1, sentence: sentence)]
  }

  private static func swiftFiles(of tree: RepositoryTree) -> [String] {
    tree.texts.keys.filter { $0.hasSuffix(".swift") }.sorted()
  }
}
