// Checks that the relative links and images in the pages resolve, including links to headings.

import Foundation

enum LinkCheck {
  static func violations(in tree: RepositoryTree) -> [Violation] {
    var pages: [String: MarkdownPage] = [:]
    for (path, text) in tree.texts where path.hasSuffix(".md") { pages[path] = MarkdownPage(text) }
    return tree.pages.flatMap { path in
      pages[path]!.links.compactMap { link in
        complaint(about: link.target, on: path, pages: pages, tree: tree)
          .map { Violation(path: path, line: link.line, sentence: $0) }
      }
    }
  }

  private static func complaint(
    about target: String, on page: String, pages: [String: MarkdownPage], tree: RepositoryTree
  ) -> String? {
    if target.isEmpty { return "A link leads nowhere." }
    if target.hasPrefix("//") || target.firstMatch(of: #/^[a-zA-Z][a-zA-Z0-9+.\-]*:/#) != nil { return nil }
    let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    let path = String(parts[0].prefix { $0 != "?" })
    guard let file = path.isEmpty ? page : resolve(path.removingPercentEncoding ?? path, from: page) else {
      return "The link to \(target) leaves the repository."
    }
    if !file.isEmpty && !tree.paths.contains(file) { return "The link to \(target) finds no file \(file)." }
    guard parts.count == 2 else { return nil }
    let anchor = parts[1].removingPercentEncoding ?? String(parts[1])
    guard let destination = pages[file] else { return nil }
    return destination.anchors.contains(anchor) ? nil : "\(file) has no heading for the link to \(target)."
  }

  /// Returns the path from the root, or nil if the path leaves the root.
  private static func resolve(_ path: String, from page: String) -> String? {
    var parts = path.hasPrefix("/") ? [] : page.split(separator: "/").dropLast()
    for part in path.split(separator: "/") {
      if part == "." { continue }
      if part != ".." {
        parts.append(part)
      } else if parts.popLast() == nil {
        return nil
      }
    }
    return parts.joined(separator: "/")
  }
}
