// The layer table in the comment at the top of Package.swift, and the sentence below it.

struct LayerTable {
  struct Row {
    var module: String
    var mayImport: [String]
    /// The names as written. `Apple` means several modules.
    var systemModules: [String]
    /// The line in Package.swift, from 1.
    var line: Int
  }

  /// The layers from top to bottom.
  var rows: [Row] = []
  ///  The modules for which `Apple` stands in the table; they are imported only under `canImport`.
  var appleModules: Set<String> = []

  init(manifest: String) {
    var prose = ""
    for (index, line) in manifest.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      guard line.hasPrefix("//") else {
        if line.hasPrefix("import ") { break }
        continue
      }
      let comment = line.dropFirst(2).trimmed
      if comment.hasPrefix("|") {
        if let row = Self.row(comment, line: index + 1) { rows.append(row) }
      } else if !rows.isEmpty {
        prose += comment + " "
      }
    }
    appleModules = Self.capitalizedWords(inSentence: "Apple is ", of: prose)
  }

  func index(of module: String) -> Int? {
    rows.firstIndex { $0.module == module }
  }

  /// Returns the individual system modules that a row allows. A row that allows Foundation also allows the
  /// parts of Foundation.
  func allowedSystemModules(_ row: Row) -> Set<String> {
    var allowed: Set<String> = ["Swift"]
    for name in row.systemModules {
      switch name {
      case "Apple": allowed.formUnion(appleModules)
      case "Foundation": allowed.formUnion(["Foundation", "FoundationEssentials", "FoundationNetworking"])
      default: allowed.insert(name)
      }
    }
    return allowed
  }

  private static func row(_ comment: Substring, line: Int) -> Row? {
    let cells = comment.dropFirst().split(separator: "|", omittingEmptySubsequences: false).map(\.trimmed)
    guard cells.count >= 3, cells[0] != "module", !cells[0].hasPrefix("-") else { return nil }
    return Row(
      module: String(cells[0]), mayImport: cells[1].split(separator: " ").map(String.init),
      systemModules: cells[2].split(separator: " ").map(String.init), line: line)
  }

  /// Returns the module names between `start` and the end of the sentence that begins with `start`.
  private static func capitalizedWords(inSentence start: String, of prose: String) -> Set<String> {
    guard let range = prose.firstRange(of: start) else { return [] }
    let sentence = prose[range.upperBound...].prefix { $0 != "." }
    let named = sentence.split(separator: ":").last ?? sentence
    let words = named.split { !$0.isLetter && !$0.isNumber && $0 != "_" && $0 != "`" }
    return Set(words.filter { $0.first?.isUppercase == true }.map(String.init))
  }
}

extension StringProtocol {
  /// The text without white space at both ends.
  var trimmed: SubSequence {
    let start = firstIndex { !$0.isWhitespace } ?? endIndex
    let end = lastIndex { !$0.isWhitespace }.map { index(after: $0) } ?? start
    return self[start..<end]
  }
}
