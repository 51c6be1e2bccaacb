// Everything that a pack has, found by looking: for moving out what is still in use.

extension BlobStore {
  /// Hands over each content that a pack seems to have, with the place that a record of it would name. What was never
  /// acknowledged may be among them: only a record tells.
  package func forEachFrame(
    ofPack number: UInt64, _ body: (BlobID, BlobPlace) throws(ByteStoreError) -> Void
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
      let body0 = offset + UInt64(BlobFormat.frameHeadBytes)
      try body(
        frame.id,
        BlobPlace(
          byteCount: UInt64(frame.byteCount),
          home: .pack(
            number: number, offset: body0, storedBytes: frame.storedBytes, checksum: frame.bodyChecksum)))
      offset = (body0 + UInt64(frame.storedBytes))
        .roundedUp(toMultipleOf: UInt64(BlobFormat.frameHeadBytes))
    }
  }
}
