// Checks that each import points to a lower row of the layer table in Package.swift, and that a target
// depends only on the modules in its row.

struct LayeringCheck {
  private let tree: RepositoryTree
  private let table: LayerTable
  private let manifest: String
  private var violations: [Violation] = []

  static func violations(in tree: RepositoryTree) -> [Violation] {
    var check = LayeringCheck(tree)
    check.run()
    return check.violations
  }

  private init(_ tree: RepositoryTree) {
    self.tree = tree
    manifest = tree.texts[manifestPath] ?? ""
    table = LayerTable(manifest: manifest)
  }

  private mutating func run() {
    if table.rows.isEmpty { return report(manifestPath, 1, "The comment at the top holds no layer table.") }
    checkTable()
    checkFolders()
    checkTargets()
    let folders = tree.moduleFolders
    for row in table.rows {
      guard let folder = folders[row.module] else { continue }
      for path in tree.texts(below: folder, withSuffix: ".swift") {
        for swiftImport in SwiftImport.all(in: SwiftSource(tree.texts[path]!)) {
          check(swiftImport, of: row, in: path)
        }
      }
    }
  }

  /// A row may list only modules of lower rows. This also proves that the table has no cycle.
  private mutating func checkTable() {
    for (index, row) in table.rows.enumerated() {
      if table.index(of: row.module) != index {
        report(manifestPath, row.line, "\(row.module) has two rows in the layer table.")
      }
      for name in row.mayImport {
        guard let below = table.index(of: name) else {
          report(manifestPath, row.line, "The row of \(row.module) lists \(name), which has no row.")
          continue
        }
        if below <= index {
          report(manifestPath, row.line, "The row of \(row.module) lists \(name), which is not below it.")
        }
      }
      if row.systemModules.contains("Apple"), table.appleModules.isEmpty {
        report(manifestPath, row.line, "No sentence below the table says what Apple is.")
      }
    }
  }

  private mutating func checkFolders() {
    let folders = tree.moduleFolders
    for (module, folder) in folders.sorted(by: { $0.key < $1.key }) where table.index(of: module) == nil {
      report(String(folder.dropLast()), nil, "The module \(module) has no row in the layer table.")
    }
    for row in table.rows where folders[row.module] == nil {
      report(manifestPath, row.line, "The module \(row.module) has a row but no folder in Sources.")
    }
  }

  private mutating func checkTargets() {
    let targets = ManifestTarget.all(inManifest: manifest)
    for target in targets where !target.isBelowTests {
      guard let index = table.index(of: target.name) else {
        report(manifestPath, target.line, "The target \(target.name) has no row in the layer table.")
        continue
      }
      for name in target.dependencies where !table.rows[index].mayImport.contains(name) {
        let sentence = "The target \(target.name) depends on \(name), which its row does not list."
        report(manifestPath, target.line, sentence)
      }
    }
    for row in table.rows where !targets.contains(where: { $0.name == row.module }) {
      report(manifestPath, row.line, "The module \(row.module) has a row but no target.")
    }
  }

  private mutating func check(_ swiftImport: SwiftImport, of row: LayerTable.Row, in path: String) {
    let (name, line) = (swiftImport.module, swiftImport.line)
    if row.mayImport.contains(name) { return }
    if let other = table.index(of: name), let own = table.index(of: row.module) {
      switch other {
      case own: report(path, line, "\(name) imports itself.")
      case ..<own: report(path, line, "\(row.module) imports \(name), which is above it.")
      default: report(path, line, "\(row.module) imports \(name), which its row does not list.")
      }
    } else if !table.allowedSystemModules(row).contains(name) {
      report(path, line, "\(row.module) imports the system module \(name), which its row does not allow.")
    } else if table.appleModules.contains(name), !isUnderCanImport(swiftImport) {
      report(path, line, "\(row.module) imports \(name) outside `#if canImport`.")
    }
  }

  private func isUnderCanImport(_ swiftImport: SwiftImport) -> Bool {
    swiftImport.conditions.contains { condition in
      condition.matches(of: #/(!?)\s*canImport\(\s*(\w+)/#).contains { match in
        match.1.isEmpty && table.appleModules.contains(String(match.2))
      }
    }
  }

  private mutating func report(_ path: String, _ line: Int?, _ sentence: String) {
    violations.append(Violation(path: path, line: line, sentence: sentence))
  }
}

private let manifestPath = "Package.swift"
