// Checks that the folders of a module depend on each other only in the order that docs/architecture.md lists.
//
// The page has one line per module, which lists the folders from bottom to top:
//
// <!-- folder order: ByteStore: Support Files Log Store -->
//
// A file may use types of its own folder and of the folders before it in this order. Files directly in the
// module's folder count as the last folder. A module without such a line is not checked.

struct FolderOrderCheck {
  private let tree: RepositoryTree
  private var violations: [Violation] = []

  static func violations(in tree: RepositoryTree) -> [Violation] {
    var check = FolderOrderCheck(tree: tree)
    check.run()
    return check.violations
  }

  private init(tree: RepositoryTree) { self.tree = tree }

  private struct Order {
    var module: String
    var folders: [String]
    var line: Int
  }

  private struct File {
    var path: String
    /// The position of the file's folder in the order. Files outside all folders have the highest position.
    var rank: Int
    var tokens: [SwiftSource.Token]
  }

  private mutating func run() {
    guard let page = tree.texts[pagePath] else { return }
    let folders = tree.moduleFolders
    for order in orders(page) {
      if let folder = folders[order.module] {
        check(order, in: folder)
      } else {
        report(pagePath, order.line, "The folder order of \(order.module) belongs to no module in Sources.")
      }
    }
  }

  private mutating func orders(_ page: String) -> [Order] {
    var orders: [Order] = []
    for (index, line) in page.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      guard line.contains("<!-- folder order") else { continue }
      guard let match = line.trimmed.wholeMatch(of: #/<!-- folder order: (\w+): ([\w ]+) -->/#) else {
        let form = "<!-- folder order: Module: Lowest … Highest -->"
        report(pagePath, index + 1, "A folder order reads `\(form)`.")
        continue
      }
      let folders = match.2.split(separator: " ").map(String.init)
      orders.append(Order(module: String(match.1), folders: folders, line: index + 1))
    }
    return orders
  }

  private mutating func check(_ order: Order, in module: String) {
    let paths = tree.texts(below: module, withSuffix: ".swift")
    let parts = paths.map { $0.dropFirst(module.count).split(separator: "/").map(String.init) }
    let present = Set(parts.filter { $0.count > 1 }.map { $0[0] })
    for folder in present.subtracting(order.folders).sorted() {
      report(
        module + folder, nil, "The folder \(folder) is missing from the folder order of \(order.module).")
    }
    for folder in order.folders where !present.contains(folder) {
      report(pagePath, order.line, "\(order.module) has no folder \(folder) with Swift files.")
    }
    let files = zip(paths, parts).compactMap { path, parts -> File? in
      let rank = parts.count == 1 ? order.folders.count : order.folders.firstIndex(of: parts[0])
      return rank.map { File(path: path, rank: $0, tokens: SwiftSource(tree.texts[path]!).tokens()) }
    }
    checkUses(files, order)
  }

  private mutating func checkUses(_ files: [File], _ order: Order) {
    /// The lowest folder that declares each name, as a position in the order.
    var ranks: [String: Int] = [:]
    for file in files {
      for name in visibleTypes(file.tokens) { ranks[name] = min(ranks[name] ?? .max, file.rank) }
    }
    for file in files {
      var known = declaredNames(file.tokens)
      // The main type has the module's name, and each folder can contain a part of this type as an extension.
      // A file with such an extension may use the name.
      if extends(order.module, file.tokens) { known.insert(order.module) }
      for token in file.tokens where token.isIdentifier {
        guard let rank = ranks[token.text], rank > file.rank, known.insert(token.text).inserted else {
          continue
        }
        let home =
          rank == order.folders.count ? "the module's own folder, above all others" : "\(order.folders[rank])"
        let sentence = "\(order.folders[file.rank]) uses \(token.text), which is declared later, in \(home)."
        report(file.path, token.line, sentence)
      }
    }
  }

  /// Returns the types at file scope that other files can see.
  private func visibleTypes(_ tokens: [SwiftSource.Token]) -> [String] {
    typeDeclarations(tokens).compactMap { index in
      let isFileScope = tokens[index].braceDepth == 0
      let modifiers = tokens[..<index].suffix(4).reversed().prefix { modifierWords.contains($0.text) }
      let isPrivate = modifiers.contains { $0.text == "private" || $0.text == "fileprivate" }
      return isFileScope && !isPrivate ? tokens[index + 1].text : nil
    }
  }

  /// Returns all types and generic parameters that the file declares, at any depth.
  private func declaredNames(_ tokens: [SwiftSource.Token]) -> Set<String> {
    Set(typeDeclarations(tokens).map { tokens[$0 + 1].text })
  }

  private func extends(_ name: String, _ tokens: [SwiftSource.Token]) -> Bool {
    tokens.indices.dropLast().contains { tokens[$0].text == "extension" && tokens[$0 + 1].text == name }
  }

  private func typeDeclarations(_ tokens: [SwiftSource.Token]) -> [Int] {
    tokens.indices.dropLast().filter { index in
      guard typeKeywords.contains(tokens[index].text), tokens[index + 1].isIdentifier else { return false }
      let isMember = index > 0 && tokens[index - 1].text == "."
      let isImport = index > 0 && tokens[index - 1].text == "import"
      return !isMember && !isImport
        && !["func", "var", "let", "subscript", "init"].contains(tokens[index + 1].text)
    }
  }

  private mutating func report(_ path: String, _ line: Int?, _ sentence: String) {
    violations.append(Violation(path: path, line: line, sentence: sentence))
  }
}

private let pagePath = "docs/architecture.md"

private let typeKeywords: Set<String> = [
  "struct", "class", "enum", "protocol", "actor", "typealias", "associatedtype",
]

private let modifierWords: Set<String> = [
  "private", "fileprivate", "internal", "package", "public", "open", "final", "indirect", "nonisolated",
]
