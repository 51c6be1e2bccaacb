// The versions of Dugout and of Swift that this program was built from.

import Foundation
import InstructionCounts

enum Checkout {
  /// The commit of the checkout, or nil if the sources are not in a checkout. Says whether sources differ
  /// from the commit.
  static var commit: String? {
    let root = (1...5).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    guard FileManager.default.fileExists(atPath: root.appendingPathComponent(".git").path),
      let git = Tool.path(of: "git")
    else { return nil }
    func output(_ words: [String]) -> String? {
      try? Tool(git, ["-C", root.path] + words).output().trimmingCharacters(in: .whitespacesAndNewlines)
    }
    guard let commit = output(["rev-parse", "--short=10", "HEAD"]), !commit.isEmpty else { return nil }
    let sources = ["Sources", "Benchmarks", "Package.swift"]
    let changes = output(["status", "--porcelain", "--untracked-files=no", "--"] + sources) ?? ""
    return changes.isEmpty ? "commit \(commit)" : "commit \(commit), with local changes"
  }

  /// The compiler on the path, which is normally the one that built this program.
  static var swift: String? {
    guard let swift = Tool.path(of: "swift"), let output = try? Tool(swift, ["--version"]).output() else {
      return nil
    }
    return Toolchain(versionOutput: output)?.description
  }
}
