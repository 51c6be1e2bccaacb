// An incomplete content in a file of its own. Its whole chunks are on disk, and the remaining bytes are in
// memory.
//
// Invariants:
// - Everything up to `end` was written by this instance. Chunks that an earlier instance wrote are verified
//   and rewritten first. Otherwise reads might return bytes that no later sync will write (F4).
// - All chunks are full, except the last one, which `finish` writes.

/// The staged file of a content. Must be used by one thread at a time.
final class StagedFile {
  let number: StagedNumber
  /// The open file. Nil while the file is closed during a pause.
  private var open: (any OpenFile)?
  private let folder: BlobFolder
  private var platform: Platform { folder.platform }
  private var chunks: [BlobChunk] = []
  private var end = UInt64(BlobFormat.pageBytes)
  /// The offset up to which writeback was started. It is a page boundary.
  private var started: UInt64 = 0
  /// Space for a chunk's head, followed by the bytes after the last whole chunk.
  private var buffer = StagedFile.emptyBuffer
  private var stored: [UInt8] = []
  private var compressor = BlobCompressor()
  private(set) var bytesSynced: UInt64 = 0
  /// Whether the file's name is on stable storage. Without the name, a power loss would lose the synced
  /// bytes.
  private var isNamed = false

  /// The number of bytes after which writeback is started. The writeback runs while the next bytes are
  /// hashed.
  private static let startBytes: UInt64 = 1 << 20

  private static let emptyBuffer = [UInt8](repeating: 0, count: BlobFormat.chunkHeadBytes)

  private init(_ number: StagedNumber, _ file: any OpenFile, folder: BlobFolder) {
    self.number = number
    open = file
    self.folder = folder
    buffer.reserveCapacity(BlobFormat.chunkHeadBytes + BlobFormat.chunkBytes)
  }

  deinit { close() }

  /// Closes the file until its next use. Call `sync` first: after the file is reopened, a failure to write
  /// earlier bytes may go unreported.
  func close() {
    open?.close()
    open = nil
  }

  private func file() throws(ByteStoreError) -> any OpenFile {
    if let open { return open }
    guard let file = try folder.open(.staged(number), .readAndWrite) else {
      throw .system(
        SystemFailure(
          operation: "open", path: "\(folder.path)/\(BlobName.staged(number).text)",
          code: SystemFailure.missingFile))
    }
    open = file
    return file
  }

  static func make(
    _ number: StagedNumber, in folder: BlobFolder
  ) throws(ByteStoreError) -> StagedFile {
    let directory = try folder.createIfMissing()
    let name = BlobName.staged(number).text
    return try system { () throws(SystemFailure) in
      let file = try directory.createFile(name)
      let staged = StagedFile(number, file, folder: folder)
      do throws(SystemFailure) {
        try file.writeAll(BlobHead(fileID: number).page.rawSpan, at: 0, platform: folder.platform)
      } catch {
        try? directory.remove(name)
        throw error
      }
      return staged
    }
  }

  /// The number of content bytes in whole chunks.
  var bytesWritten: UInt64 { UInt64(chunks.count) * UInt64(BlobFormat.chunkBytes) }

  private var bytesBuffered: Int { buffer.count - BlobFormat.chunkHeadBytes }

  // MARK: Writing

  /// Appends bytes. Syncs the file whenever `syncBytes` more bytes have been written.
  func append(_ bytes: RawSpan, syncBytes: UInt64) throws(ByteStoreError) {
    var done = 0
    while done < bytes.byteCount {
      let count = min(bytes.byteCount - done, BlobFormat.chunkBytes - bytesBuffered)
      buffer.append(copying: bytes.extracting(done..<done + count))
      done += count
      guard bytesBuffered == BlobFormat.chunkBytes else { continue }
      try writeChunk()
      if bytesWritten - bytesSynced >= syncBytes { try sync() }
    }
  }

  private func writeChunk() throws(ByteStoreError) {
    let byteCount = UInt32(bytesBuffered)
    stored.removeAll(keepingCapacity: true)
    stored.append(contentsOf: Self.emptyBuffer)
    if compressBuffer() {
      try write(&stored, of: byteCount)
    } else {
      try write(&buffer, of: byteCount)
    }
    buffer.removeLast(Int(byteCount))
  }

  private func compressBuffer() -> Bool {
    let raw = buffer
    return compressor.compress(
      raw.rawSpan.extracting(droppingFirst: BlobFormat.chunkHeadBytes), into: &stored)
  }

  /// Writes a chunk. `chunk` contains space for the chunk's head, followed by the stored form.
  private func write(_ chunk: inout [UInt8], of byteCount: UInt32) throws(ByteStoreError) {
    let storedBytes = UInt32(chunk.count - BlobFormat.chunkHeadBytes)
    let checksum = BlobFormat.checksum(
      chunk.rawSpan.extracting(droppingFirst: BlobFormat.chunkHeadBytes), of: byteCount, file: number,
      offset: end)
    let head = ChunkHead(byteCount: byteCount, storedBytes: storedBytes, checksum: checksum)
    chunk.replaceSubrange(..<BlobFormat.chunkHeadBytes, with: head.encoded)
    let file = try file()
    let bytes = chunk.rawSpan
    let offset = end
    do throws(SystemFailure) { try file.writeAll(bytes, at: offset, platform: platform) } catch {
      throw .system(error)
    }
    chunks.append(BlobChunk(offset: end, storedBytes: storedBytes, checksum: checksum))
    end += UInt64(chunk.count)
    startWriteback(file)
  }

  private func startWriteback(_ file: any OpenFile) {
    // Exclude the last page if it is incomplete. The next chunk continues it, so the page would be written
    // twice.
    let whole = end - end % UInt64(BlobFormat.pageBytes)
    guard whole - started >= Self.startBytes else { return }
    file.startWriteback(started..<whole)
    started = whole
  }

  /// Syncs the whole chunks and the file's name. After a failure, nothing in the file can be relied on.
  func sync() throws(ByteStoreError) {
    let written = bytesWritten
    let file = try file()
    do throws(SystemFailure) { try file.syncOnce(platform) } catch { throw .system(error) }
    if !isNamed { try folder.syncNames() }
    isNamed = true
    bytesSynced = written
  }

  /// Writes the remaining bytes, the table and the head, and syncs the file.
  func finish(_ id: BlobID, _ byteCount: UInt64) throws(ByteStoreError) {
    if bytesBuffered > 0 { try writeChunk() }
    let file = try file()
    let table = BlobTable.encode(chunks, file: number, offset: end)
    let head = BlobHead(
      fileID: number, whole: BlobHead.Whole(id: id, byteCount: byteCount, chunksEnd: end))
    do throws(SystemFailure) {
      try file.writeAll(table.rawSpan, at: end, platform: platform)
      try file.writeAll(head.page.rawSpan, at: 0, platform: platform)
      if platform.keeps(.syncBlob) { try file.syncOnce(platform) }
    } catch {
      throw .system(error)
    }
    bytesSynced = byteCount
  }

  // MARK: Resuming

  /// Reopens a staged file. Returns nil if the file does not exist or has no valid head.
  static func resume(
    _ number: StagedNumber, in folder: BlobFolder
  ) throws(ByteStoreError) -> StagedFile? {
    guard let file = try folder.open(.staged(number), .readAndWrite) else { return nil }
    let staged = StagedFile(number, file, folder: folder)
    let page = try system { () throws(SystemFailure) in try file.readAll(BlobFormat.pageBytes, at: 0) }
    guard let head = try? BlobHead(decoding: page.rawSpan, file: file.path), head.fileID == number else {
      return nil
    }
    try staged.rewrite(BlobHead(fileID: number).page, at: 0)
    return staged
  }

  /// Returns the content of the chunk at `end` and rewrites the chunk. Returns nil after the last valid
  /// chunk.
  func rereadStaged() throws(ByteStoreError) -> [UInt8]? {
    precondition(bytesBuffered == 0, "staged bytes precede appended bytes")
    let (file, offset) = (try file(), end)
    let bytes = try system { () throws(SystemFailure) in
      try file.readAll(BlobFormat.chunkHeadBytes, at: offset)
    }
    guard let head = ChunkHead(decoding: bytes.rawSpan), head.byteCount == BlobFormat.chunkBytes else {
      return nil
    }
    let stored = try system { () throws(SystemFailure) in
      try file.readAll(Int(head.storedBytes), at: offset + UInt64(BlobFormat.chunkHeadBytes))
    }
    let checksum = BlobFormat.checksum(
      stored.rawSpan, of: head.byteCount, file: number, offset: offset)
    guard stored.count == Int(head.storedBytes), checksum == head.checksum,
      let raw = Self.raw(of: stored, Int(head.byteCount))
    else { return nil }
    try rewrite(bytes + stored, at: offset)
    chunks.append(BlobChunk(offset: offset, storedBytes: head.storedBytes, checksum: checksum))
    end += UInt64(bytes.count + stored.count)
    return raw
  }

  private static func raw(of stored: [UInt8], _ byteCount: Int) -> [UInt8]? {
    guard stored.count < byteCount else { return stored }
    var raw = [UInt8](repeating: 0, count: byteCount)
    let isSound = raw.withMutableBytes { target in
      BlobDecompression.decompress(stored.rawSpan, into: &target)
    }
    return isSound ? raw : nil
  }

  private func rewrite(_ bytes: [UInt8], at offset: UInt64) throws(ByteStoreError) {
    let file = try file()
    do throws(SystemFailure) { try file.writeAll(bytes.rawSpan, at: offset, platform: platform) } catch {
      throw .system(error)
    }
  }
}

private struct ChunkHead {
  var byteCount: UInt32
  var storedBytes: UInt32
  var checksum: UInt32

  init(byteCount: UInt32, storedBytes: UInt32, checksum: UInt32) {
    self.byteCount = byteCount
    self.storedBytes = storedBytes
    self.checksum = checksum
  }

  init?(decoding bytes: RawSpan) {
    var reader = ByteReader(bytes)
    guard let byteCount = reader.uint32(), let storedBytes = reader.uint32(), let checksum = reader.uint32(),
      byteCount <= BlobFormat.chunkBytes, storedBytes <= byteCount
    else { return nil }
    self.init(byteCount: byteCount, storedBytes: storedBytes, checksum: checksum)
  }

  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: byteCount)
    bytes.append(littleEndian: storedBytes)
    bytes.append(littleEndian: checksum)
    bytes.append(littleEndian: UInt32(0))
    return bytes
  }
}
