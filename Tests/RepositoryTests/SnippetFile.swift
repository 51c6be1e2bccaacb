// The Swift file generated from a snippet.
//
// Imports come first. Types, extensions, tests and declarations with an access level move to file scope and
// become private, so that snippets do not see each other. All other statements keep their order in the
// body of one async throwing function. `#sourceLocation` maps the compiler's messages to the page.

struct SnippetFile {
  private struct Line {
    var text: String
    /// The line with comments and strings blanked.
    var code: String
    var number: Int
  }

  private enum Place {
    case imports
    case fileScope
    case body
  }

  private let page: String
  private var imports: [[Line]] = []
  private var fileScope: [[Line]] = []
  private var body: [[Line]] = []

  static func text(of snippet: Snippet) -> String {
    var file = SnippetFile(page: snippet.page)
    for fence in snippet.fences { file.add(fence) }
    return file.rendered
  }

  private init(page: String) { self.page = page }

  private mutating func add(_ fence: MarkdownPage.Fence) {
    let code = SwiftSource(fence.lines.joined(separator: "\n")).code
    let codeLines = code.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let lines = zip(fence.lines, codeLines).enumerated().map { index, pair in
      Line(text: pair.0, code: pair.1, number: fence.line + 1 + index)
    }
    for item in items(lines) {
      switch place(of: item) {
      case .imports: imports.append(item)
      case .fileScope: fileScope.append(isConditional(item) ? item : addingPrivate(item))
      case .body: body.append(item)
      }
    }
  }

  /// Splits the lines into items. An item is a declaration with its attributes, a statement, or a whole `#if
  /// … #endif`. Each item starts at column 0.
  private func items(_ lines: [Line]) -> [[Line]] {
    var items: [[Line]] = []
    var depth = 0
    var conditions = 0
    var awaitsDeclaration = false
    for line in lines {
      let continues =
        depth > 0 || conditions > 0 || awaitsDeclaration || !startsSomething(line.code) || items.isEmpty
      if continues && !items.isEmpty {
        items[items.count - 1].append(line)
      } else {
        items.append([line])
      }
      let isBlank = line.code.trimmed.isEmpty
      if line.code.trimmed.hasPrefix("#if") { conditions += 1 }
      if line.code.trimmed.hasPrefix("#endif") { conditions -= 1 }
      if !isBlank { awaitsDeclaration = depth == 0 && line.code.wholeMatch(of: attributesOnly) != nil }
      for character in line.code {
        if "([{".contains(character) { depth += 1 }
        if ")]}".contains(character) { depth -= 1 }
      }
    }
    return items
  }

  private func startsSomething(_ code: String) -> Bool {
    guard let first = code.first else { return false }
    return first.isLetter || "_@#([\"~`".contains(first)
  }

  private func place(of item: [Line]) -> Place {
    if isConditional(item) {
      let code = item.map(\.code)
      if code.contains(where: { $0.trimmed.firstMatch(of: importLine) != nil }) { return .imports }
      return code.contains(where: { declaresType($0) }) ? .fileScope : .body
    }
    guard let line = item.first(where: { isDeclarationLine($0) }) else { return .body }
    if line.code.firstMatch(of: importLine) != nil { return .imports }
    // A test must not be inside a function.
    if item.contains(where: { $0.code.hasPrefix("@Test") }) { return .fileScope }
    if declaresType(line.code) { return .fileScope }
    return line.code.firstMatch(of: accessLine) != nil ? .fileScope : .body
  }

  /// Whether the code declares a type. Also true for extensions and operators, which are valid only at file
  /// scope.
  private func declaresType(_ code: String) -> Bool {
    guard let rest = code.firstMatch(of: attributesThenRest)?.2 else { return false }
    let words = rest.split(separator: " ").drop { modifiers.contains(String($0)) }.prefix(2)
    guard words.count == 2, let keyword = words.first, let name = words.last?.first else { return false }
    if ["operator", "precedencegroup"].contains(keyword) { return true }
    let keywords = ["struct", "class", "enum", "protocol", "actor", "extension", "typealias"]
    return keywords.contains(String(keyword)) && (name.isLetter || name == "_" || name == "`")
  }

  private func isConditional(_ item: [Line]) -> Bool {
    item.first { !$0.code.trimmed.isEmpty }?.code.hasPrefix("#if") == true
  }

  /// Whether the line has more than attributes and comments.
  private func isDeclarationLine(_ line: Line) -> Bool {
    !line.code.trimmed.isEmpty && line.code.wholeMatch(of: attributesOnly) == nil
  }

  /// Removes `@main`, and adds `private` where the language allows it.
  private func addingPrivate(_ item: [Line]) -> [Line] {
    var item = item
    for index in item.indices {
      item[index].text = item[index].text.replacing(#/^@main\b\s*/#, with: "")
      if isDeclarationLine(item[index]) {
        item[index].text = addingPrivate(item[index].text)
        break
      }
    }
    return item
  }

  private func addingPrivate(_ line: String) -> String {
    // The arguments of this attribute may contain brackets.
    guard !line.hasPrefix("@Test") else {
      return line.replacing(" func ", with: " private func ", maxReplacements: 1)
    }
    guard let match = line.firstMatch(of: attributesThenRest) else { return line }
    let rest = match.2.replacing(accessLevel, with: "", maxReplacements: 1)
    let takesNoLevel =
      rest.firstMatch(of: #/^(extension\s+[^{]*?:|(infix|prefix|postfix)\s+operator|precedencegroup)/#)
    // `extension A where B: C` adds no conformance, so such an extension may have an access level.
    let isPlainExtension = rest.firstMatch(of: #/^extension\s+[^:{]*\bwhere\b/#) != nil
    let level = takesNoLevel == nil || isPlainExtension ? "private " : ""
    return match.1 + level + rest
  }

  private var rendered: String {
    located(imports + fileScope) + "private func snippet() async throws {\n" + located(body)
      + "#sourceLocation()\n}\n"
  }

  /// Adds a `#sourceLocation` only where line numbers are not consecutive. A directive before every item
  /// would be wrong, because an item may start with `else`, which must directly follow the previous item.
  private func located(_ items: [[Line]]) -> String {
    var text = ""
    var next: Int?
    for line in items.joined() {
      if line.number != next { text += "#sourceLocation(file: \"\(page)\", line: \(line.number))\n" }
      text += line.text + "\n"
      next = line.number + 1
    }
    return text
  }

  private var attributesOnly: Regex<Substring> { #/(?:@\w+(?:\([^)]*\))?\s*)+/# }
  private var importLine: Regex<Substring> {
    #/^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?import\b/#
  }
  private var accessLine: Regex<Substring> {
    #/^(?:@\w+(?:\([^)]*\))?\s+)*(?:public|package|internal|fileprivate|private|open)\b/#
  }
  private var attributesThenRest: Regex<(Substring, Substring, Substring)> {
    #/^((?:@\w+(?:\([^)]*\))?\s+)*)(.*)$/#
  }
  private var accessLevel: Regex<Substring> {
    #/\b(?:public|package|internal|fileprivate|private|open)(?:\(set\))?\s+/#
  }
}

private let modifiers: Set<String> = [
  "public", "package", "internal", "fileprivate", "private", "open", "final", "indirect", "nonisolated",
  "distributed", "infix", "prefix", "postfix",
]
