// Paths as callers give them.

package enum StorePath {
  /// Throws for a path that the system would take for a shorter one: it ends a path at its first NUL.
  static func check(_ path: String) throws(ByteStoreError) {
    guard !isPath(path) else { return }
    throw .invalidPath(path)
  }

  package static func isPath(_ path: String) -> Bool { !path.utf8.contains(0) }

  /// The text without a NUL, which would end it in many logs.
  package static func shown(_ path: String) -> String {
    path.utf8.contains(0)
      ? path.split(separator: "\0", omittingEmptySubsequences: false).joined(separator: "\\0") : path
  }
}
