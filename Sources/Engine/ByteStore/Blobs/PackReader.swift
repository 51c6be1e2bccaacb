// Reads contents from packs, and scans packs, so that contents still in use can be moved to another pack.

/// A pack that is open for reading.
struct PackFile: Sendable {
  let file: any OpenFile
  let fileID: RandomID
}

/// The position of a content's stored form in its pack.
struct PackedBody: Sendable {
  let offset: UInt64
  let storedBytes: Int
  let checksum: UInt32
}

/// A cache of open packs. Usable from any thread.
final class PackReader: Sendable {
  private static let filesMax = 64

  private let folder: BlobFolder
  private let files = Locked<[UInt64: PackFile]>([:])

  init(_ folder: BlobFolder) { self.folder = folder }

  func file(_ number: UInt64) throws(ByteStoreError) -> PackFile {
    if let file = files.withLock({ $0[number] }) { return file }
    guard let file = try folder.open(.pack(number)) else {
      throw folder.damage(.pack(number), at: 0, expected: "a pack that a record names", found: "no such file")
    }
    let page = try system { () throws(SystemFailure) in try file.readAll(BlobFormat.pageBytes, at: 0) }
    let head = try PackHead(decoding: page.rawSpan, file: file.path)
    guard head.number == number else {
      throw folder.damage(.pack(number), at: 32, expected: "pack \(number)", found: "pack \(head.number)")
    }
    let pack = PackFile(file: file, fileID: head.fileID)
    return files.withLock { files in
      if let other = files[number] { return other }
      // Removing a file from the cache does not close it while a read still uses it.
      if files.count >= Self.filesMax { files.removeAll() }
      files[number] = pack
      return pack
    }
  }

  func forget(_ number: UInt64) { files.withLock { $0[number] = nil } }
}

extension PackFile {
  /// Reads the whole content into `target`, which must have the size of the content.
  func read(
    _ body: PackedBody, into target: inout MutableRawSpan
  ) throws(ByteStoreError) {
    let byteCount = UInt32(target.byteCount)
    if body.storedBytes == target.byteCount {
      let count = try system { () throws(SystemFailure) in
        try file.readWhole(at: body.offset, into: &target)
      }
      let checksum = BlobFormat.checksum(target.bytes, of: byteCount, file: fileID, offset: body.offset)
      guard count == body.storedBytes, checksum == body.checksum else { throw damage(body) }
      return
    }
    let stored = try system { () throws(SystemFailure) in
      try file.readAll(body.storedBytes, at: body.offset)
    }
    let checksum = BlobFormat.checksum(stored.rawSpan, of: byteCount, file: fileID, offset: body.offset)
    guard stored.count == body.storedBytes, checksum == body.checksum,
      BlobDecompression.decompress(stored.rawSpan, into: &target)
    else { throw damage(body) }
  }

  private func damage(_ body: PackedBody) -> ByteStoreError {
    .corrupted(
      Damage(
        file: file.path, offset: body.offset, expected: "a content with checksum \(body.checksum)",
        found: "something else"))
  }
}

extension BlobStore {
  /// Passes each content of a pack to `body`, with the location that a record of the content would contain.
  /// Some of these contents may never have been acknowledged. Only the records show which contents were
  /// acknowledged.
  package func forEachFrame(
    ofPack number: UInt64, _ body: (BlobID, BlobLocation) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    guard let file = try folder.open(.pack(number)) else { return }
    defer { file.close() }
    let page = try system { () throws(SystemFailure) in try file.readAll(BlobFormat.pageBytes, at: 0) }
    let head = try PackHead(decoding: page.rawSpan, file: file.path)
    let size = try system { () throws(SystemFailure) in try file.size() }
    var offset = UInt64(BlobFormat.pageBytes)
    while offset < size {
      let bytes = try system { () throws(SystemFailure) in
        try file.readAll(BlobFormat.frameHeadBytes, at: offset)
      }
      guard let frame = PackFrame(decoding: bytes.rawSpan, file: head.fileID, offset: offset) else {
        offset = (offset + 1).roundedUp(toMultipleOf: UInt64(BlobFormat.pageBytes))
        continue
      }
      let bodyStart = offset + UInt64(BlobFormat.frameHeadBytes)
      try body(
        frame.id,
        BlobLocation(
          byteCount: UInt64(frame.byteCount),
          home: .pack(
            number: number, offset: bodyStart, storedBytes: frame.storedBytes, checksum: frame.bodyChecksum)))
      offset = (bodyStart + UInt64(frame.storedBytes))
        .roundedUp(toMultipleOf: UInt64(BlobFormat.frameHeadBytes))
    }
  }
}
