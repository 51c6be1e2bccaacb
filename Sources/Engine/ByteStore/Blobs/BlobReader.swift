// Reads ranges of a content.

/// A content that is open for reading. It stays readable even if the content is deleted in the meantime. Must
/// be used by one thread at a time.
package final class BlobReader {
  package let id: BlobID
  package let byteCount: UInt64
  /// A closure that is called when a piece is damaged or cannot be read, before the error is thrown.
  package var onDamage: (@Sendable () -> Void)?
  private let source: Source
  /// The last piece of which a read needed only a part. It is kept for later reads.
  private var piece: [UInt8] = []
  private var pieceIndex: Int?

  enum Source {
    case empty
    case file(BlobFile)
    case pack(PackFile, PackedBody)
  }

  init(_ id: BlobID, _ place: BlobLocation, source: Source) {
    self.id = id
    byteCount = place.byteCount
    self.source = source
  }

  var path: String {
    switch source {
    case .empty: ""
    case .file(let file): file.path
    case .pack(let pack, _): pack.file.path
    }
  }

  /// Fills `target` with the bytes that start at `offset`. Returns the number of bytes, which is less than
  /// the size of `target` only at the end of the content. All bytes are verified. If the method throws, the
  /// bytes in `target` are undefined.
  package func read(into target: inout MutableRawSpan, at offset: UInt64) throws(ByteStoreError) -> Int {
    guard offset < byteCount else { return 0 }
    let count = Int(min(UInt64(target.byteCount), byteCount - offset))
    var done = 0
    while done < count {
      let place = offset + UInt64(done)
      let index = Int(place / UInt64(pieceBytes))
      let start = Int(place % UInt64(pieceBytes))
      let size = bytes(ofPiece: index)
      let wanted = min(count - done, size - start)
      var window = target._mutatingExtracting(droppingFirst: done)
      if wanted == size {
        var exact = window._mutatingExtracting(first: size)
        try read(piece: index, into: &exact)
      } else {
        try load(index, size)
        window.copy(piece.rawSpan.extracting(start..<start + wanted))
      }
      done += wanted
    }
    return count
  }

  /// Fills `bytes` with the bytes that start at `offset`. The content must have enough bytes after `offset`.
  package func fill(_ bytes: inout [UInt8], at offset: UInt64) throws(ByteStoreError) {
    let count = try bytes.withMutableBytes { target throws(ByteStoreError) in
      try read(into: &target, at: offset)
    }
    precondition(count == bytes.count, "a read beyond the end of a content")
  }

  /// Reads the whole content, which must fit in memory.
  package func readAll() throws(ByteStoreError) -> [UInt8] {
    let size = Int(byteCount)
    guard size > 0 else { return [] }
    var failure: ByteStoreError?
    // The memory need not be zeroed, because either all bytes are read or nothing is returned.
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { memory, done in
      guard let start = UnsafeMutableRawPointer(memory.baseAddress) else { return }
      var target = unsafe MutableRawSpan(_unsafeStart: start, byteCount: size)
      do throws(ByteStoreError) { done = try read(into: &target, at: 0) } catch { failure = error }
    }
    if let failure { throw failure }
    precondition(bytes.count == size, "a read beyond the end of a content")
    return bytes
  }

  // MARK: Pieces

  /// The size of a piece. A piece is a chunk of a file or a whole packed content.
  private var pieceBytes: Int {
    if case .file = source { BlobFormat.chunkBytes } else { max(1, Int(byteCount)) }
  }

  private func bytes(ofPiece index: Int) -> Int {
    if case .file(let file) = source { file.bytes(ofChunk: index) } else { Int(byteCount) }
  }

  private func read(piece index: Int, into target: inout MutableRawSpan) throws(ByteStoreError) {
    do throws(ByteStoreError) {
      switch source {
      case .empty: break
      case .file(let file): try file.read(chunk: index, into: &target)
      case .pack(let pack, let body): try pack.read(body, into: &target)
      }
    } catch {
      if error.isDamageOrUnreadable { onDamage?() }
      throw error
    }
  }

  private func load(_ index: Int, _ size: Int) throws(ByteStoreError) {
    guard pieceIndex != index else { return }
    pieceIndex = nil
    var bytes = piece
    piece = []
    if bytes.count != size { bytes = [UInt8](repeating: 0, count: size) }
    try bytes.withMutableBytes { target throws(ByteStoreError) in try read(piece: index, into: &target) }
    piece = bytes
    pieceIndex = index
  }
}

extension MutableRawSpan {
  /// Copies `bytes` to the front. This array must have at least as many bytes.
  fileprivate mutating func copy(_ bytes: RawSpan) {
    unsafe withUnsafeMutableBytes { target in
      unsafe bytes.withUnsafeBytes { source in
        unsafe UnsafeMutableRawBufferPointer(rebasing: target[..<source.count]).copyMemory(from: source)
      }
    }
  }
}
