// Reads a content from a file of its own, chunk by chunk. Each chunk is verified before its bytes are used.

/// The open file of a content. Must be used by one thread at a time.
final class BlobFile {
  private let file: any OpenFile
  private let head: BlobHead.Whole
  private let fileID: RandomID
  private let chunks: [BlobChunk]

  var path: String { file.path }

  init(_ id: BlobID, _ place: BlobLocation, folder: BlobFolder) throws(ByteStoreError) {
    guard let file = try folder.open(.blob(id)) else {
      throw folder.damage(.blob(id), at: 0, expected: "a content that a record names", found: "no such file")
    }
    self.file = file
    let page = try system { () throws(SystemFailure) in try file.readAll(BlobFormat.pageBytes, at: 0) }
    let decoded = try BlobHead(decoding: page.rawSpan, file: file.path)
    guard let head = decoded.whole, head.id == id, head.byteCount == place.byteCount else {
      throw folder.damage(
        .blob(id), at: 24, expected: "\(place.byteCount) bytes of \(id)",
        found: "another content, or a part of one")
    }
    self.head = head
    fileID = decoded.fileID
    let table = try system { () throws(SystemFailure) in
      // A crafted head must not cause an allocation larger than the file.
      let size = try file.size()
      guard head.chunksEnd <= size, UInt64(head.tableBytes) <= size - head.chunksEnd else { return [UInt8]() }
      return try file.readAll(head.tableBytes, at: head.chunksEnd)
    }
    chunks = try BlobTable.decode(table.rawSpan, of: head, file: decoded.fileID, path: file.path)
    guard chunks.count == head.chunkCount else {
      throw folder.damage(
        .blob(id), at: head.chunksEnd, expected: "\(head.chunkCount) chunks", found: "\(chunks.count)")
    }
  }

  deinit { file.close() }

  func bytes(ofChunk index: Int) -> Int { head.bytes(ofChunk: index) }

  /// Reads a chunk into `target`, which must have the size of the chunk.
  func read(chunk index: Int, into target: inout MutableRawSpan) throws(ByteStoreError) {
    let chunk = chunks[index]
    let byteCount = UInt32(target.byteCount)
    let offset = chunk.offset + UInt64(BlobFormat.chunkHeadBytes)
    if Int(chunk.storedBytes) == target.byteCount {
      let count = try system { () throws(SystemFailure) in try file.readWhole(at: offset, into: &target) }
      let checksum = BlobFormat.checksum(target.bytes, of: byteCount, file: fileID, offset: chunk.offset)
      guard count == target.byteCount, checksum == chunk.checksum else { throw damage(chunk) }
      return
    }
    let stored = try system { () throws(SystemFailure) in
      try file.readAll(Int(chunk.storedBytes), at: offset)
    }
    let checksum = BlobFormat.checksum(stored.rawSpan, of: byteCount, file: fileID, offset: chunk.offset)
    guard stored.count == Int(chunk.storedBytes), checksum == chunk.checksum,
      BlobDecompression.decompress(stored.rawSpan, into: &target)
    else { throw damage(chunk) }
  }

  private func damage(_ chunk: BlobChunk) -> ByteStoreError {
    .corrupted(
      Damage(
        file: file.path, offset: chunk.offset, expected: "a chunk with checksum \(chunk.checksum)",
        found: "something else"))
  }
}
