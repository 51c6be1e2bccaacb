// The disk space that contents use.

extension BlobStore {
  package struct Usage: Hashable, Sendable {
    /// The number of files: packs, contents with a file of their own, and incomplete contents.
    package var files = 0
    package var bytes: UInt64 = 0

    package init() {}
  }

  /// Adds up the file sizes that the system reports. Files that are deleted during the call are not counted.
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
