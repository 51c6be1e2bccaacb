// What contents take on disk.

extension BlobStore {
  package struct Usage: Hashable, Sendable {
    /// Packs, contents with a file of their own, and those on their way.
    package var files = 0
    package var bytes: UInt64 = 0

    package init() {}
  }

  /// Asks the system for the size of each file. What goes meanwhile is not counted.
  package func usage() throws(ByteStoreError) -> Usage {
    var usage = Usage()
    for name in try folder.names() {
      guard let file = try folder.openIfFile(name) else { continue }
      defer { file.close() }
      usage.bytes += try system { () throws(SystemFailure) in try file.size() }
      usage.files += 1
    }
    return usage
  }
}
