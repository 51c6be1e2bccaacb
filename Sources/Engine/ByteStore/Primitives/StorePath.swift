// Validation of paths that callers pass in.

import Libc

package enum StorePath {
  /// Throws for a path that contains a NUL, because the system would cut the path there.
  package static func check(_ path: String) throws(ByteStoreError) {
    guard !isValidPath(path) else { return }
    throw .invalidPath(path)
  }

  package static func isValidPath(_ path: String) -> Bool { !path.utf8.contains(0) }

  /// The path with each NUL escaped, because a raw NUL would end the text in many log files.
  package static func shown(_ path: String) -> String {
    path.utf8.contains(0)
      ? path.split(separator: "\0", omittingEmptySubsequences: false).joined(separator: "\\0") : path
  }

  /// Whether a path leads to a directory or into it, after following symbolic links.
  package static func isInside(_ inner: String, _ outer: String) -> Bool {
    realParts(of: inner).starts(with: realParts(of: outer))
  }

  /// The names from the root on, after following symbolic links. Names that do not exist yet have no links.
  private static func realParts(of path: String) -> [Substring] {
    let parts = path.split(separator: "/")
    let root = path.hasPrefix("/") ? "/" : "./"
    for count in (0...parts.count).reversed() {
      guard let real = realPath(root + parts.prefix(count).joined(separator: "/")) else { continue }
      var found = real.split(separator: "/")
      for part in parts.dropFirst(count) where part != "." {
        if part == ".." { _ = found.popLast() } else { found.append(part) }
      }
      return found
    }
    return parts
  }

  /// Nil if the path does not exist.
  private static func realPath(_ path: String) -> String? {
    guard let real = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(real) }
    return unsafe String(cString: real)
  }
}
