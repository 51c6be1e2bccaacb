// Completes commands, options, paths and fields in the shell, from the contents of the store.

import DocumentStore

struct ShellCompleter {
  /// A longer list is of no use.
  static let candidatesMax = 100
  private static let fieldsFrom = 20
  private static let keywords = [
    "and", "asc", "by", "contains", "desc", "end", "in", "limit", "not", "or", "order", "start", "where",
  ]

  let store: DocumentStore

  /// Returns the completions at the end of the text. Errors are ignored here, because the command itself
  /// reports them.
  func completion(_ text: String) -> Completion {
    let words = Self.words(text)
    let word = words.last ?? ""
    let before = words.dropLast().filter { !$0.isEmpty }
    // Names with control characters can be neither typed nor displayed.
    let candidates = ((try? candidates(word, before)) ?? []).filter {
      !$0.unicodeScalars.contains(where: ShownText.isControl)
    }
    return Completion(
      replaced: word.count,
      candidates: Array(candidates.filter { Self.begins($0, with: word) }.prefix(Self.candidatesMax)))
  }

  /// Whether the candidate starts with the word; the backticks of a quoted name may be missing in the word.
  private static func begins(_ candidate: String, with word: String) -> Bool {
    candidate.hasPrefix(word)
      || (candidate.contains("`") && candidate.replacing("`", with: "").hasPrefix(word))
  }

  /// Splits at spaces that are not between backticks.
  private static func words(_ text: String) -> [String] {
    var words = [""]
    var (isQuoted, isEscaped) = (false, false)
    for letter in text {
      if letter == " ", !isQuoted {
        words.append("")
        continue
      }
      words[words.count - 1].append(letter)
      if letter == "`", !isEscaped { isQuoted.toggle() }
      isEscaped = isQuoted && letter == "\\" && !isEscaped
    }
    return words
  }

  private func groups() throws -> [String] {
    try store.collectionGroups().filter(PathArgument.isCollectionID).sorted().map(PathText.quoted)
  }

  private func candidates(_ word: String, _ before: [String]) throws -> [String] {
    guard let name = before.first else { return ShellSession.names.map { $0 + " " } }
    let command = ShellSession.command(name)
    if name == "help" { return ShellSession.names }
    if word.hasPrefix("-") {
      return ((command?.options ?? []).map { String($0.option.prefix { $0 != " " }) } + ["--help"]).sorted()
    }
    if name == "watch" { return before.count == 1 ? try paths(word) : try query(Array(before.dropFirst())) }
    if name == "index" { return try index(before) }
    if name == "set", before.count > 2,
      OptionWord(before[before.count - 1], of: SetCommand.self)?.takesValue == true
    {
      return try store.document(at: DocumentPath(PathText.segments(before[1])))?.fields.entries
        .map { StoredFieldPath.canonical([$0.name]) } ?? []
    }
    switch command?.shellForm {
    case .text(let wordsBefore)? where before.count > 1 + wordsBefore:
      return try query(Array(before.dropFirst(1 + wordsBefore)))
    // The first argument of an export is a file.
    case .text? where name != "export" || before.count > 1: return try paths(word)
    case .words? where ["ls", "get"].contains(name) && before.count == 1: return try paths(word)
    default: return []
    }
  }

  /// Returns keywords and the fields of the collection's first documents.
  private func query(_ words: [String]) throws -> [String] {
    let source = words[0].lowercased() == "group" ? words.prefix(2).joined(separator: " ") : words[0]
    guard source != "group" else { return try groups() }
    let documents = try store.documents(
      QueryText.query(source).limited(to: .first(Self.fieldsFrom)))
    let fields = Set(documents.flatMap { $0.fields.entries.map(\.name) })
    return (Self.keywords + fields.map { StoredFieldPath.canonical([$0]) }).sorted()
  }

  private func index(_ before: [String]) throws -> [String] {
    switch before.count {
    case 1: ["create ", "drop ", "list"]
    case 2: try groups()
    default: try query(["group", before[2]]).filter { !Self.keywords.contains($0) }
    }
  }

  // MARK: Paths

  private func paths(_ word: String) throws -> [String] {
    let names = PathText(word).names
    let parent = Array(names.dropLast())
    let prefix = names.last ?? ""
    let start = parent.map { PathText.quoted($0) + "/" }.joined()
    if parent.count % 2 == 0 {
      let document = parent.isEmpty ? nil : try DocumentPath(parent)
      let direct = try store.collections(below: document).map {
        start + PathText.quoted($0.path.segments[parent.count])
      }.sorted()
      return direct + (try deeper(parent))
    }
    var query = try StructuredQuery(.collection(CollectionPath(parent))).ordered(by: OrderBy(.documentID))
    if !prefix.isEmpty { query = try query.starting(.before, [.string(prefix)]) }
    let documents = try store.documents(query.limited(to: .first(Self.candidatesMax))).map {
      start + PathText.quoted($0.path.id)
    }
    return documents.isEmpty ? try deeper(parent) : documents
  }

  /// Returns collections that can only be reached by their complete path.
  private func deeper(_ parent: [String]) throws -> [String] {
    try UnreachableCollections(below: parent, in: store).found.map {
      $0.path.segments.map(PathText.quoted).joined(separator: "/")
    }
  }
}
