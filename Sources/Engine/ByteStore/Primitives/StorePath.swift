// Validation of paths that callers pass in.

import Libc

package enum StorePath {
  /// Throws if the path contains a NUL, because the system would cut the path off there.
  package static func check(_ path: String) throws(ByteStoreError) {
    guard !isValidPath(path) else { return }
    throw .invalidPath(path)
  }

  package static func isValidPath(_ path: String) -> Bool { !path.utf8.contains(0) }

  /// The path with each NUL escaped, because a raw NUL would end the text in many log files.
  package static func escaped(_ path: String) -> String {
    path.utf8.contains(0)
      ? path.split(separator: "\0", omittingEmptySubsequences: false).joined(separator: "\\0") : path
  }

  /// Whether `inner` leads to the directory `outer` or into it, after following symbolic links.
  package static func isInside(_ inner: String, _ outer: String) -> Bool {
    realParts(of: inner).starts(with: realParts(of: outer))
  }

  /// The names along the path from the root, after following symbolic links. The part of the path that does
  /// not exist yet contains no links.
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

  /// The absolute path without symbolic links; nil if the path does not exist.
  private static func realPath(_ path: String) -> String? {
    guard let real = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(real) }
    return unsafe String(cString: real)
  }
}
