// Copies contents to a backup. Copies every file that a record may name, byte by byte.
//
// The files also hold contents that no record names any more. Damage to such contents is harmless, so the
// copy does not verify contents. The backup verifies the contents that its records name, each against its
// digest.
//
// The copy reflects the folder at some time after the records were frozen. Files that are deleted during the
// copy are kept until it is complete. Contents that are added during the copy are copied needlessly, and a
// sweep of the backup deletes them.

extension BlobStore {
  private static let pieceBytes = 1 << 20

  func holdRemovals() { removals.hold() }

  func releaseRemovals() { removals.release { try? folder.remove($0) } }

  /// Copies all contents to the folder below `path`. When the method returns, the copies are on stable
  /// storage. If `readsBack` is true, reads each copy and checks that it has the bytes that were written.
  /// Callers pass true if they do not verify the contents afterwards.
  package func copyAll(
    to path: String, readsBack: Bool, isCancelled: () -> Bool
  ) throws(ByteStoreError) -> UInt64 {
    let names = try folder.names().filter { name in if case .staged = name { false } else { true } }
    guard !names.isEmpty else { return 0 }
    let target = "\(path)/\(BlobName.folder)"
    let directory = try system { () throws(SystemFailure) in
      try folder.platform.fileSystem.createDirectory(target)
      return try folder.platform.fileSystem.openDirectory(target)
    }
    var bytes: UInt64 = 0
    for name in names.sorted(by: { $0.text < $1.text }) {
      guard !isCancelled() else { throw .closed(directory: folder.path) }
      guard let source = try folder.openIfFile(name) else { continue }
      defer { source.close() }
      bytes += try copy(source, name, to: directory, readsBack: readsBack)
    }
    try system { () throws(SystemFailure) in try directory.sync() }
    return bytes
  }

  private func copy(
    _ source: any OpenFile, _ name: BlobName, to directory: any OpenDirectory, readsBack: Bool
  ) throws(ByteStoreError) -> UInt64 {
    let (copy, size, checksum) = try system { () throws(SystemFailure) in
      let copy = try directory.createFile(name.text)
      let size = try source.size()
      var checksum = Checksum()
      try forEachPiece(of: source, size) { piece, offset throws(SystemFailure) in
        checksum.update(piece.rawSpan)
        try copy.writeAll(piece.rawSpan, at: offset, platform: folder.platform)
      }
      try copy.syncOnce(folder.platform)
      return (copy, size, checksum.value)
    }
    defer { copy.close() }
    guard readsBack else { return size }
    var found = Checksum()
    try system { () throws(SystemFailure) in
      try forEachPiece(of: copy, size) { piece, _ throws(SystemFailure) in found.update(piece.rawSpan) }
    }
    guard found.value == checksum else {
      throw .corrupted(
        Damage(
          file: copy.path, offset: 0, expected: "a copy with checksum \(checksum)", found: "\(found.value)"))
    }
    return size
  }

  private func forEachPiece(
    of file: any OpenFile, _ size: UInt64, _ body: ([UInt8], UInt64) throws(SystemFailure) -> Void
  ) throws(SystemFailure) {
    var offset: UInt64 = 0
    while offset < size {
      let piece = try file.readAll(Int(min(UInt64(Self.pieceBytes), size - offset)), at: offset)
      // A pack may grow during the copy, but it never shrinks.
      guard !piece.isEmpty else { return }
      try body(piece, offset)
      offset += UInt64(piece.count)
    }
  }
}
