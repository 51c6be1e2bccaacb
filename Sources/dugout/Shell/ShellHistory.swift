// The lines of earlier sessions, in a file that only its owner can read: lines have data in them.

import Foundation

struct ShellHistory {
  static let linesMax = 1000
  /// Names another file, or none if it is empty.
  static let variable = "DUGOUT_HISTORY"

  private(set) var lines: [String]
  private let path: String?

  init(path: String?) {
    self.path = path
    let text = path.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) } ?? ""
    lines = text.split(separator: "\n").suffix(Self.linesMax).map(String.init)
  }

  /// After the rules of the platform: `$XDG_STATE_HOME/dugout/history`, or `~/.local/state/dugout/history`.
  static func path(_ environment: [String: String]) -> String? {
    if let path = environment[variable] { return path.isEmpty ? nil : path }
    let home = environment["HOME"].map { $0 + "/.local/state" }
    let state = environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home
    return state.map { $0 + "/dugout/history" }
  }

  /// One that is the same as the line before it is not kept twice. Without a file, or if it cannot be written, the
  /// session goes on: nobody's data is at stake.
  mutating func add(_ line: String) {
    guard !line.isEmpty, line != lines.last, !line.contains("\n") else { return }
    lines = lines.suffix(Self.linesMax - 1) + [line]
    guard let path else { return }
    let url = URL(fileURLWithPath: path)
    let manager = FileManager.default
    try? manager.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    if !manager.fileExists(atPath: path) {
      _ = manager.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
    }
    try? Data((lines.joined(separator: "\n") + "\n").utf8).write(to: url)
  }
}
