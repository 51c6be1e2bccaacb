// Checks the labels and the number of the arguments of functions and initialisers.
//
//   - From the third argument on, every argument has a label, except arguments of function type.
//   - A declaration has at most five arguments. Arguments that an initialiser assigns to properties do not
//     count, because such an initialiser lists the properties of a type.
//
// Public declarations and overrides are not checked, because their signatures follow another API.

struct ArgumentLabelCheck {
  static let unlabelledMax = 2
  static let argumentsMax = 5

  static func violations(in tree: RepositoryTree) -> [Violation] {
    tree.texts(below: "Sources/", withSuffix: ".swift").flatMap { path in
      let check = ArgumentLabelCheck(path: path, tokens: SwiftSource(tree.texts[path]!).tokens())
      return check.violations
    }
  }

  private let path: String
  private let tokens: [SwiftSource.Token]

  private struct Argument {
    var label: String
    /// The name inside the function.
    var name: String
    var isClosure: Bool
  }

  private var violations: [Violation] {
    tokens.indices.flatMap { index in
      guard let open = openParenthesis(ofDeclarationAt: index), !isExempt(index) else { return [Violation]() }
      let (arguments, end) = arguments(from: open)
      let name = tokens[index].text == "init" ? "init" : tokens[index + 1].text
      return check(arguments, of: name, line: tokens[index].line, end: end)
    }
  }

  private func check(_ arguments: [Argument], of name: String, line: Int, end: Int) -> [Violation] {
    var sentences: [String] = []
    for argument in arguments.dropFirst(Self.unlabelledMax) where argument.label == "_" {
      if !argument.isClosure { sentences.append("The argument \(argument.name) of \(name) has no label.") }
    }
    let stored = name == "init" ? storedNames(after: end) : []
    let count = arguments.count { !stored.contains($0.name) }
    if count > Self.argumentsMax {
      sentences.append("\(name) has \(count) arguments, and at most \(Self.argumentsMax) are allowed.")
    }
    return sentences.map { Violation(path: path, line: line, sentence: $0) }
  }

  // MARK: Declarations

  private func text(_ index: Int) -> String { tokens.indices.contains(index) ? tokens[index].text : "" }

  /// The index of the parenthesis before the first argument; nil if no function or initialiser is declared
  /// here.
  private func openParenthesis(ofDeclarationAt index: Int) -> Int? {
    var next = index + 1
    switch tokens[index].text {
    case "init":
      guard text(index - 1) != ".", text(index - 1) != "`" else { return nil }
      if ["?", "!"].contains(text(next)) { next += 1 }
    case "func":
      // The name of an operator is not an identifier. No generic clause of an operator contains parentheses.
      guard tokens.indices.contains(next), tokens[next].isIdentifier || tokens[next].text == "`" else {
        return tokens[next...].firstIndex { $0.text == "(" }
      }
      next += tokens[next].text == "`" ? 3 : 1
    default: return nil
    }
    if text(next) == "<" { next = endOfGenericClause(next) }
    return text(next) == "(" ? next : nil
  }

  private func endOfGenericClause(_ start: Int) -> Int {
    var depth = 0
    for index in tokens.indices[start...] {
      if tokens[index].text == "<" { depth += 1 }
      if tokens[index].text == ">", text(index - 1) != "-" { depth -= 1 }
      if depth == 0 { return index + 1 }
    }
    return tokens.endIndex
  }

  /// Whether the declaration at `index` is public or an override.
  private func isExempt(_ index: Int) -> Bool {
    var index = index - 1
    while index >= 0 {
      if ["public", "open", "override"].contains(tokens[index].text) { return true }
      if modifierWords.contains(tokens[index].text) {
        index -= 1
      } else if text(index - 1) == "@" {
        index -= 2
      } else if tokens[index].text == ")", let start = startOfParentheses(endingAt: index),
        text(start - 2) == "@" || modifierWords.contains(text(start - 1))
      {
        index = start - 1
      } else {
        return false
      }
    }
    return false
  }

  private func startOfParentheses(endingAt end: Int) -> Int? {
    var depth = 0
    for index in tokens.indices[...end].reversed() {
      if tokens[index].text == ")" { depth += 1 }
      if tokens[index].text == "(" { depth -= 1 }
      if depth == 0 { return index }
    }
    return nil
  }

  // MARK: Arguments

  /// Returns the arguments, and the index of the closing parenthesis.
  private func arguments(from open: Int) -> (arguments: [Argument], end: Int) {
    var parts: [[SwiftSource.Token]] = [[]]
    var depth = 0
    // In a default value, angle brackets may be operators.
    var isDefaultValue = false
    for index in tokens.indices[open...] {
      let token = tokens[index]
      switch token.text {
      case "(", "[", "{": depth += 1
      case ")", "]", "}": depth -= 1
      case "<" where !isDefaultValue: depth += 1
      case ">" where !isDefaultValue && text(index - 1) != "-": depth -= 1
      case "=" where depth == 1: isDefaultValue = true
      case "," where depth == 1:
        parts.append([])
        isDefaultValue = false
        continue
      default: break
      }
      if depth == 0 { return (parts.compactMap(argument), index) }
      if index > open { parts[parts.count - 1].append(token) }
    }
    return (parts.compactMap(argument), tokens.endIndex)
  }

  private func argument(_ part: [SwiftSource.Token]) -> Argument? {
    let texts = part.map(\.text)
    guard let colon = texts.firstIndex(of: ":") else { return nil }
    // Attributes can precede the label.
    let names = texts[..<colon].filter { $0 != "`" }.suffix(2)
    guard let name = names.last, let first = names.first else { return nil }
    let hasTwoNames = names.count == 2 && texts[..<colon].dropLast(2).last != "@"
    let type = texts[colon...].prefix { $0 != "=" }
    let hasArrow = zip(type, type.dropFirst()).contains { $0 == ("-", ">") }
    let isClosure = hasArrow || type.contains("escaping") || type.contains("autoclosure")
    return Argument(label: hasTwoNames ? first : name, name: name, isClosure: isClosure)
  }

  // MARK: Stored arguments

  /// The names that the body of an initialiser assigns unchanged to properties. `end` is the end of its
  /// arguments.
  private func storedNames(after end: Int) -> Set<String> {
    let stops: Set<String> = ["{", "}", "func", "init", "var", "let"]
    guard let open = tokens[end...].firstIndex(where: { stops.contains($0.text) }), text(open) == "{" else {
      return []
    }
    var names: Set<String> = []
    for index in tokens.indices[(open + 1)...] {
      let token = tokens[index]
      if token.text == "}", token.braceDepth == tokens[open].braceDepth { break }
      guard token.text == "=", tokens[index - 1].isIdentifier, !["let", "var"].contains(text(index - 2)),
        tokens.indices.contains(index + 2), tokens[index + 1].isIdentifier
      else { continue }
      let following = tokens[index + 2]
      let isWholeValue =
        following.line > tokens[index + 1].line && following.text != "." && following.text != "?"
        || [";", "}"].contains(following.text)
      if isWholeValue { names.insert(tokens[index + 1].text) }
    }
    return names
  }
}

private let modifierWords: Set<String> = [
  "private", "fileprivate", "internal", "package", "static", "class", "final", "mutating", "nonmutating",
  "required", "convenience", "nonisolated", "prefix", "postfix", "infix", "borrowing", "consuming", "dynamic",
]
