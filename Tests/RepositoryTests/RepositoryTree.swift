// The files of a repository in memory. The files are read from the disk or created by a test.

import Foundation

struct RepositoryTree {
  /// The texts of the files that the checks read (Swift and Markdown), by path from the root.
  private(set) var texts: [String: String] = [:]
  /// The path of every file and folder, relative to the root.
  private(set) var paths: Set<String> = []

  init(_ texts: [String: String]) {
    for (path, text) in texts { add(path, text: text) }
  }

  /// Returns the paths of the texts below `folder`, in a stable order. `folder` ends in a slash.
  func texts(below folder: String, withSuffix suffix: String) -> [String] {
    texts.keys.filter { $0.hasPrefix(folder) && $0.hasSuffix(suffix) }.sorted()
  }

  /// Returns the names of the folders directly in `folder`, which ends in a slash.
  func folders(in folder: String) -> Set<String> {
    var names: Set<String> = []
    for path in paths where path.hasPrefix(folder) {
      let parts = path.dropFirst(folder.count).split(separator: "/")
      if parts.count > 1 { names.insert(String(parts[0])) }
    }
    return names
  }

  /// The folder of each module in Sources, by module name: `Sources/Band/Module/`, with a final slash.
  var moduleFolders: [String: String] {
    var folders: [String: String] = [:]
    for band in self.folders(in: "Sources/") {
      for module in self.folders(in: "Sources/\(band)/") { folders[module] = "Sources/\(band)/\(module)/" }
    }
    return folders
  }

  /// The pages whose links and snippets are checked.
  var pages: [String] {
    texts.keys.filter { $0.hasSuffix(".md") && (!$0.contains("/") || $0.hasPrefix("docs/")) }.sorted()
  }

  private mutating func add(_ path: String, text: String?) {
    if let text { texts[path] = text.replacing("\r\n", with: "\n") }
    var parts = path.split(separator: "/")
    while !parts.isEmpty {
      paths.insert(parts.joined(separator: "/"))
      parts.removeLast()
    }
  }
}

extension RepositoryTree {
  /// The folder of Package.swift, three levels above this file.
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Reads this repository from the disk, without build products and hidden folders.
  static func repository() throws -> RepositoryTree {
    guard let walk = FileManager.default.enumerator(atPath: root.path) else {
      throw CocoaError(.fileReadNoSuchFile, userInfo: [NSFilePathErrorKey: root.path])
    }
    var tree = RepositoryTree([:])
    while let path = walk.nextObject() as? String {
      let name = path.split(separator: "/").last ?? ""
      if [".build", ".git", ".swiftpm"].contains(name) {
        walk.skipDescendants()
      } else if walk.fileAttributes?[.type] as? FileAttributeType == .typeRegular {
        let isRead = name.hasSuffix(".swift") || name.hasSuffix(".md")
        let file = root.appendingPathComponent(path)
        tree.add(path, text: isRead ? try String(contentsOf: file, encoding: .utf8) : nil)
      }
    }
    return tree
  }
}
