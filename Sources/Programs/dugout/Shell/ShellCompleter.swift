// Completes commands, options, paths and fields in the shell, from the contents of the store.

import DocumentStore

struct ShellCompleter {
  /// A longer list is of no use.
  static let candidatesMax = 100
  private static let fieldsFrom = 20
  private static let keywords = [
    "and", "asc", "average", "by", "contains", "count", "desc", "distinct", "end", "group", "in", "limit",
    "max", "min", "not", "or", "order", "start", "sum", "where",
  ]
  /// The commands whose first argument is the path of a document. A collection is only a part of it.
  private static let documentCommands: Set<String> = ["get", "set", "delete"]

  private typealias Candidate = Completion.Candidate

  let store: DocumentStore

  /// Returns the completions at the end of the text. Errors are ignored here, because the command itself
  /// reports them.
  func completion(_ text: String) -> Completion {
    let words = Self.words(text)
    let before = words.dropLast().filter { !$0.isEmpty }
    let word = Self.part(of: words.last ?? "", after: before)
    // Names with control characters can be neither typed nor displayed.
    let all = ((try? candidates(word, before)) ?? []).filter {
      !$0.text.unicodeScalars.contains(where: ShownText.isControl) && Self.begins($0.text, with: word)
    }
    let sorted = all.sorted { ($0.kind.rawValue, $0.text) < ($1.kind.rawValue, $1.text) }
    return Completion(
      replaced: word.count, candidates: Array(sorted.prefix(Self.candidatesMax)),
      isTruncated: sorted.count > Self.candidatesMax)
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

  /// Returns the part of a word to complete: in a query, a field may follow a bracket or a comma.
  private static func part(of word: String, after before: [String]) -> String {
    guard before.count > 1, !word.contains("`") else { return word }
    return word.lastIndex { "(,[".contains($0) }.map { String(word[word.index(after: $0)...]) } ?? word
  }

  private func candidates(_ word: String, _ before: [String]) throws -> [Candidate] {
    guard let name = before.first else { return Self.commands }
    let command = ShellSession.command(name)
    let plain = before.filter { !$0.hasPrefix("-") }
    // A document follows a collection, unless the collection is that of a query.
    let behind = Self.documentCommands.contains(name) && !before.contains("--query") ? "/" : " "
    if name == "help" { return before.count == 1 ? Self.commands + Self.topics : [] }
    if word.hasPrefix("-") { return Self.options(of: command) }
    if name == "watch" {
      return before.count == 1 ? try paths(word, behind) : try query(Array(before.dropFirst()), word)
    }
    if name == "index" { return try index(before, word) }
    if name == "diff" { return before.count == 2 ? try paths(word, behind) : [] }
    if name == "set", before.count > 2,
      let option = OptionWord(before[before.count - 1], of: SetCommand.self),
      option.takesValue
    {
      return try ofDocument(before[1], word, suffix: option.option.contains("=") ? "=" : " ")
    }
    switch command?.shellForm {
    case .text(let wordsBefore)? where plain.count > 1 + wordsBefore:
      return try query(Array(plain.dropFirst(1 + wordsBefore)), word)
    // The first argument of an export is a file.
    case .text? where name != "export" || plain.count > 1: return try paths(word, behind)
    case .words? where ["ls", "get"].contains(name) && before.count == 1: return try paths(word, behind)
    default: return []
    }
  }

  // MARK: Words of the shell

  private static var commands: [Candidate] {
    ShellSession.names.map { Candidate(text: $0, kind: .commands) }
  }

  private static var topics: [Candidate] {
    HelpTopic.allCases.map { Candidate(text: $0.rawValue, kind: .topics) }
  }

  private static func options(of command: (any Command.Type)?) -> [Candidate] {
    let names = (command?.options ?? []).map { String($0.option.prefix { $0 != " " }) }
    return (names + ["--help"]).map { Candidate(text: $0, kind: .options) }
  }

  // MARK: Fields

  /// Returns keywords and the fields of the collection's first documents.
  private func query(_ words: [String], _ word: String) throws -> [Candidate] {
    let source = words[0].lowercased() == "group" ? words.prefix(2).joined(separator: " ") : words[0]
    guard source != "group" else { return try groups() }
    let keywords = Self.keywords.map { Candidate(text: $0, kind: .keywords) }
    return try fields(of: source, word) + keywords
  }

  private func fields(of source: String, _ word: String) throws -> [Candidate] {
    let query = try QueryText.query(source).limited(to: .first(Self.fieldsFrom))
    return Self.fields(of: try store.documents(query).map(\.fields), word)
  }

  private func ofDocument(_ path: String, _ word: String, suffix: String) throws -> [Candidate] {
    guard let document = try store.document(at: DocumentPath(PathText.segments(path))) else { return [] }
    return Self.fields(of: [document.fields], word).map {
      Candidate(text: $0.text, kind: $0.kind, suffix: $0.suffix == " " ? suffix : $0.suffix)
    }
  }

  private static func fields(of maps: [StoredMap], _ word: String) -> [Candidate] {
    var found: [String: Candidate] = [:]
    for map in maps { add(map, below: [], word: word, to: &found) }
    return Array(found.values)
  }

  /// Adds the fields of a map, and those of a map inside it once the word has its path.
  private static func add(
    _ map: StoredMap, below names: [String], word: String, to found: inout [String: Candidate]
  ) {
    for (name, value) in map.entries {
      let text = StoredFieldPath.canonical(names + [name])
      guard case .map(let inner) = value, !inner.isEmpty else {
        if found[text] == nil { found[text] = Candidate(text: text, kind: .fields) }
        continue
      }
      // The word may end here, or continue in the map.
      found[text] = Candidate(text: text, kind: .fields, suffix: "")
      if begins(word, with: text) || word.hasPrefix(text.replacing("`", with: "")) {
        add(inner, below: names + [name], word: word, to: &found)
      }
    }
  }

  // MARK: Collections and documents

  private func groups() throws -> [Candidate] {
    try store.collectionGroups().filter(PathArgument.isCollectionID).map {
      Candidate(text: PathText.quoted($0), kind: .collections)
    }
  }

  private func index(_ before: [String], _ word: String) throws -> [Candidate] {
    switch before.count {
    case 1: ["create", "drop", "list"].map { Candidate(text: $0, kind: .commands) }
    case 2: try groups()
    default: try fields(of: "group \(before[2])", word)
    }
  }

  private func paths(_ word: String, _ behind: String) throws -> [Candidate] {
    let names = PathText(word).names
    let parent = Array(names.dropLast())
    let prefix = names.last ?? ""
    let start = parent.map { PathText.quoted($0) + "/" }.joined()
    if parent.count % 2 == 0 {
      let document = parent.isEmpty ? nil : try DocumentPath(parent)
      let direct = try store.collections(below: document).map {
        Candidate(
          text: start + PathText.quoted($0.path.segments[parent.count]), kind: .collections, suffix: behind)
      }
      return direct + (try deeper(parent, behind))
    }
    var query = try StructuredQuery(.collection(CollectionPath(parent))).ordered(by: OrderBy(.documentID))
    if !prefix.isEmpty { query = try query.starting(.before, [.string(prefix)]) }
    // One more than is shown, so that a longer list is noticed.
    let documents = try store.documents(query.limited(to: .first(Self.candidatesMax + 1))).map {
      Candidate(text: start + PathText.quoted($0.path.id), kind: .documents)
    }
    return documents.isEmpty ? try deeper(parent, behind) : documents
  }

  /// Returns collections that can only be reached by their complete path.
  private func deeper(_ parent: [String], _ behind: String) throws -> [Candidate] {
    try UnreachableCollections(below: parent, in: store).found.map {
      Candidate(
        text: $0.path.segments.map(PathText.quoted).joined(separator: "/"), kind: .collections, suffix: behind
      )
    }
  }
}
