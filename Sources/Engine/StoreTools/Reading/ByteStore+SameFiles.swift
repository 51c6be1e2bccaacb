// Recognizes a copy of a store by its files, without reading their entries.
//
//   1. manifests      both list the same segments, checkpoint and logs
//   2. sizes          the files have the sizes that the manifests state
//   3. logs           all logs have the same bytes
//
// Segments and checkpoints never change, and their random ids are never used again. So equal lists are equal
// entries, except where a segment or a checkpoint is damaged.

package import ByteStore

extension ByteStore {
  /// Whether two stores have the same files, so that their entries are equal. False says nothing about the
  /// entries. No process may write to the stores meanwhile. Damage in segments and checkpoints is not
  /// detected.
  package static func haveSameFiles(
    _ path: String, _ other: String, platform: Platform = .real
  ) throws(ByteStoreError) -> Bool {
    let directories = [try openToRead(path, platform), try openToRead(other, platform)]
    guard let first = try manifest(in: directories[0]), let second = try manifest(in: directories[1]),
      first.storeID == second.storeID, first.segments == second.segments,
      first.checkpoint == second.checkpoint, first.logs == second.logs
    else { return false }
    var sizes = first.segments.map { (StoreFile.segment($0.number), $0.bytes) }
    if let checkpoint = first.checkpoint {
      sizes.append((StoreFile.checkpoint(checkpoint.number), checkpoint.bytes))
    }
    for directory in directories {
      for (name, bytes) in sizes where try size(of: name, in: directory) != bytes { return false }
    }
    for log in first.logs where try !isSame(StoreFile.log(log.number), directories[0], as: directories[1]) {
      return false
    }
    return true
  }

  private static func openToRead(
    _ path: String, _ platform: Platform
  ) throws(ByteStoreError) -> any OpenDirectory {
    try system { () throws(SystemFailure) in
      try ReadOnlyFileSystem(base: platform.fileSystem, protected: path).openDirectory(path)
    }
  }

  private static func manifest(in directory: any OpenDirectory) throws(ByteStoreError) -> Manifest? {
    guard let file = try TolerantFile(StoreFile.manifest, in: directory) else { return nil }
    defer { file.close() }
    return try Manifest.decode(try file.read(Manifest.bytesMax, at: 0) ?? [], file: file.path).header
  }

  private static func size(of name: String, in directory: any OpenDirectory) throws(ByteStoreError) -> UInt64?
  {
    guard let file = try TolerantFile(name, in: directory) else { return nil }
    defer { file.close() }
    return file.size
  }

  private static func isSame(
    _ name: String, _ directory: any OpenDirectory, as other: any OpenDirectory
  ) throws(ByteStoreError) -> Bool {
    guard let left = try TolerantFile(name, in: directory) else { return false }
    defer { left.close() }
    guard let right = try TolerantFile(name, in: other) else { return false }
    defer { right.close() }
    guard left.size == right.size else { return false }
    let partBytes = 1 << 20
    var offset: UInt64 = 0
    while offset < left.size {
      guard let part = try left.read(partBytes, at: offset), !part.isEmpty,
        part == (try right.read(partBytes, at: offset))
      else { return false }
      offset += UInt64(part.count)
    }
    return true
  }
}
