// Scans the contents of a pack, so that those still in use can be moved to another pack.

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
