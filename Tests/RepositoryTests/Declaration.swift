// Declarations in a canonical form, for comparing the compiler's declarations with the declarations in a
// description.

import Foundation

/// The part of a declaration that callers see: without internal parameter names, and without `final`,
/// `override` or stored properties.
struct Declaration: Hashable {
  let text: String

  init(_ source: String) {
    var text = source.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    text = text.replacing("`", with: "").replacing(" : ", with: ": ")
    text = text.replacing("nonisolated(nonsending) ", with: "")
    var attribute = ""
    while let modifier = text.prefixMatch(of: #/(@discardableResult|override|final|convenience|mutating) /#) {
      if modifier.1 == "@discardableResult" { attribute = String(modifier.0) }
      text.removeSubrange(modifier.range)
    }
    if text.hasPrefix("class func ") { text = "static" + text.dropFirst("class".count) }
    if text.contains(#/^(static )?func |^init/#) { text = Self.withoutInnerNames(text) }
    if text.hasPrefix("let ") || text.hasPrefix("var ") {
      let access = text.hasSuffix("}") ? "" : text.hasPrefix("let ") ? " { get }" : " { get set }"
      text = "var " + text.dropFirst("var ".count) + access
    }
    self.text = attribute + text
  }

  /// Turns `(for name: Name, _ other: Other)` into `(for: Name, _: Other)`.
  private static func withoutInnerNames(_ text: String) -> String {
    guard let open = text.firstIndex(of: "(") else { return text }
    var parameters = [""]
    var end = open
    var depth = 0
    var last: Character = " "
    for index in text[open...].indices {
      let character = text[index]
      switch character {
      case "(", "[", "<": depth += 1
      case ")", "]": depth -= 1
      case ">" where last != "-": depth -= 1
      default: break
      }
      end = index
      if depth == 0 { break }
      last = character
      if index == open { continue }
      if character == ",", depth == 1 {
        parameters.append("")
      } else {
        parameters[parameters.count - 1].append(character)
      }
    }
    let outer = parameters.map { parameter in
      parameter.trimmingCharacters(in: .whitespaces).replacing(#/^(\w+) \w+:/#) { "\($0.1):" }
    }
    return text[...open] + outer.joined(separator: ", ") + text[end...]
  }
}

/// The types of a description with their members. The grammar is at the top of the description's file.
struct DeclarationList {
  struct Entry {
    /// Empty for a declaration at file scope.
    var type: String
    /// The declaration in the description. `here` is the corresponding declaration in this repository.
    var original: Declaration
    var here: Declaration

    /// The name without arguments.
    var name: String {
      original.text.firstMatch(of: #/(?:func|var|case|typealias) (\w+)|(init|subscript)/#)
        .map { String($0.1 ?? $0.2 ?? "") } ?? ""
    }
  }

  private(set) var entries: [Entry] = []
  /// The superclasses and protocols of each type.
  private(set) var kin: [String: Set<String>] = [:]

  init(_ text: String) {
    var type = ""
    for line in text.split(separator: "\n") where !line.hasPrefix("//") {
      if let heading = line.wholeMatch(of: #/(?:class|struct|enum|protocol) ([\w.]+)(?:: (.+))?/#) {
        type = String(heading.1)
        let names = (heading.2 ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        kin[type] = Set(names.flatMap { $0 == "Codable" ? ["Decodable", "Encodable"] : [$0] })
        continue
      }
      let owner = line.hasPrefix(" ") ? type : ""
      let sides = line.components(separatedBy: " => ").map {
        Declaration(owner.isEmpty ? $0 : $0.replacing(#/\bSelf\b/#, with: owner))
      }
      guard let original = sides.first, let here = sides.last else { continue }
      entries.append(Entry(type: owner, original: original, here: here))
    }
  }
}
