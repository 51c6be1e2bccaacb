// The targets that Package.swift declares, parsed from its text.

struct ManifestTarget {
  /// The function that declares the target: `target`, `executableTarget`, `testTarget`, …
  var kind: String
  var name: String
  var path: String?
  var dependencies: [String]
  /// The line, from 1.
  var line: Int

  /// Whether the target is test code, which the layer table does not cover.
  var isBelowTests: Bool { kind == "testTarget" || (path ?? "").hasPrefix("Tests/") }

  static func all(inManifest text: String) -> [ManifestTarget] {
    let code = SwiftSource(text, keepingStrings: true).code
    let declaration =
      #/\.(target|executableTarget|systemLibrary|testTarget|macro|plugin|binaryTarget)\(\s*name:\s*"([^"]*)"/#
    var targets: [ManifestTarget] = []
    for match in code.matches(of: declaration) {
      let arguments = balanced(code[match.range.lowerBound...], "(", ")")
      // A dependency may also be written as `.target(name: …)`. This match is inside another declaration, so
      // it is skipped.
      if let last = targets.last, last.end > match.range.lowerBound { continue }
      targets.append(
        ManifestTarget(
          kind: String(match.1), name: String(match.2), path: argument("path", of: arguments),
          dependencies: dependencies(arguments), line: lineNumber(of: match.range.lowerBound, in: code),
          end: arguments.endIndex))
    }
    return targets
  }

  private var end: String.Index

  private static func argument(_ label: String, of arguments: Substring) -> String? {
    guard
      let match = try? Regex("\\b\(label):\\s*\"([^\"]*)\"", as: (Substring, Substring).self)
        .firstMatch(in: arguments)
    else { return nil }
    return String(match.1)
  }

  /// Returns every quoted name in `dependencies: […]`. The name for a product is the product's name.
  private static func dependencies(_ arguments: Substring) -> [String] {
    guard let match = arguments.firstMatch(of: #/\bdependencies:\s*\[/#) else { return [] }
    let list = balanced(arguments[match.range.lowerBound...], "[", "]")
    return list.matches(of: #/(?:(\w+):\s*)?"([^"]*)"/#)
      .filter { $0.1 == nil || $0.1 == "name" }.map { String($0.2) }
  }

  /// Returns the text up to and including the bracket that closes the first bracket.
  private static func balanced(_ text: Substring, _ open: Character, _ close: Character) -> Substring {
    var depth = 0
    for index in text.indices {
      if text[index] == open { depth += 1 }
      if text[index] == close {
        depth -= 1
        if depth == 0 { return text[...index] }
      }
    }
    return text
  }

  private static func lineNumber(of index: String.Index, in text: String) -> Int {
    text[..<index].count { $0 == "\n" } + 1
  }
}
