// An import in a Swift file, with the `#if` conditions around it.

struct SwiftImport {
  var module: String
  /// The line number, counted from 1.
  var line: Int
  /// The enclosing `#if` and `#elseif` conditions, outermost first.
  var conditions: [String]

  static func all(in source: SwiftSource) -> [SwiftImport] {
    let conditions = conditionsByLine(source.code)
    let tokens = source.tokens()
    var imports: [SwiftImport] = []
    for (index, token) in tokens.enumerated() where token.text == "import" {
      let before = index > 0 ? tokens[index - 1].text : ""
      if before == "." || before == "`" { continue }
      var next = index + 1
      if next < tokens.count, importKinds.contains(tokens[next].text) { next += 1 }
      if next < tokens.count, tokens[next].text == "`" { next += 1 }
      guard next < tokens.count, tokens[next].isIdentifier else { continue }
      let line = token.line
      imports.append(SwiftImport(module: tokens[next].text, line: line, conditions: conditions[line - 1]))
    }
    return imports
  }

  private static let importKinds: Set<String> = [
    "typealias", "struct", "class", "enum", "protocol", "let", "var", "func", "actor",
  ]

  private static func conditionsByLine(_ code: String) -> [[String]] {
    var open: [String] = []
    return code.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let line = line.trimmed
      if line.hasPrefix("#if ") || line.hasPrefix("#if(") {
        open.append(String(line.dropFirst(3)))
      } else if line.hasPrefix("#elseif"), !open.isEmpty {
        open[open.count - 1] = String(line.dropFirst(7))
      } else if line.hasPrefix("#else"), !open.isEmpty {
        open[open.count - 1] = ""
      } else if line.hasPrefix("#endif"), !open.isEmpty {
        open.removeLast()
      }
      return open
    }
  }
}
