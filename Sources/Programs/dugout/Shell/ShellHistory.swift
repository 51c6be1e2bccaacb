// The lines of earlier sessions, in a file that only its owner can read, because lines contain data.
//
// Concurrent shells share the file. Each shell appends its own lines, and removes old lines only when it
// opens the file.

import Foundation

struct ShellHistory {
  static let linesMax = 1000
  /// The environment variable with the path of the file. An empty value turns the history off.
  static let variable = "DUGOUT_HISTORY"

  private(set) var lines: [String]
  private let path: String?

  init(path: String?) {
    self.path = path
    let all = path.flatMap { FileManager.default.contents(atPath: $0) }.map(Self.lines) ?? []
    lines = all.suffix(Self.linesMax)
    if let path, all.count > Self.linesMax { Self.cut(path) }
  }

  /// The platform's default: `$XDG_STATE_HOME/dugout/history`, or `~/.local/state/dugout/history`.
  static func path(_ environment: [String: String]) -> String? {
    if let path = environment[variable] { return path.isEmpty ? nil : path }
    let home = environment["HOME"].map { $0 + "/.local/state" }
    let state = environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home
    return state.map { $0 + "/dugout/history" }
  }

  /// Adds a line unless it equals the previous one. Errors are ignored, because the history is not essential.
  mutating func add(_ line: String) {
    guard !line.isEmpty, line != lines.last, !line.contains("\n") else { return }
    lines = lines.suffix(Self.linesMax - 1) + [line]
    guard let path else { return }
    try? FileManager.default.createDirectory(
      at: URL(fileURLWithPath: path).deletingLastPathComponent(), withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    guard let file = Self.locked(path, O_WRONLY | O_APPEND | O_CREAT, lock: LOCK_SH) else { return }
    try? file.write(contentsOf: Data((line + "\n").utf8))
  }

  /// Keeps only the newest lines of the file.
  private static func cut(_ path: String) {
    guard let file = locked(path, O_RDWR, lock: LOCK_EX), let data = try? file.readToEnd() else { return }
    let newest = Data(lines(of: data).suffix(linesMax).map { $0 + "\n" }.joined().utf8)
    // If the process is interrupted between the two steps, some lines are duplicated, but none is lost.
    guard (try? file.seek(toOffset: 0)) != nil, (try? file.write(contentsOf: newest)) != nil else { return }
    try? file.truncate(atOffset: UInt64(newest.count))
  }

  private static func lines(of data: Data) -> [String] {
    String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  /// Opens and locks the file: shared to append a line, exclusive to cut the file. Closing the handle
  /// releases the lock. On a file system without locks, a line that is appended during a cut may be lost.
  private static func locked(_ path: String, _ flags: Int32, lock: Int32) -> FileHandle? {
    let descriptor = open(path, flags | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
    flock(descriptor, lock)
    return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }
}
