// The files of contents, in the folder `blobs` of a store.
//
//   blob-<id>       := head chunk* table          a content in a file of its own; <id>: 64 hexadecimal digits
//   staged-<number> := head chunk*                an incomplete content; state 0; 32 hexadecimal digits
//   head            := magic[8] version:u16 kind:u8 state:u8 chunkBytes:u32 fileID[16]
//                      bytes:u64 chunksEnd:u64 id[32] crc:u32 zero*         a page of 4096 bytes
//   chunk           := bytes:u32 stored:u32 crc:u32 reserved:u32 byte{stored}
//   table           := (offset:u64 stored:u32 crc:u32){chunks} crc:u32
//
//   pack-<number>   := packHead group*            contents of up to 1 MiB; <number> as ten digits or more
//   packHead        := magic[8] version:u16 kind:u8 reserved:u8 reserved:u32 fileID[16] number:u64 crc:u32
//                      zero*                      a page
//   group           := frame*                     starts at a page, each frame at a multiple of 64 bytes
//   frame           := magic:u32 bytes:u32 stored:u32 bodyCRC:u32 id[32] crc:u32 reserved[12] byte{stored}
//
// `state` is 1 once the file is complete. All chunks but the last hold `chunkBytes` of the content. A
// chunk or body is an LZ4 block if `stored` is less than `bytes`. A checksum starts with the file's id
// and the offset of the head, table, chunk or body that it covers.

enum BlobFormat {
  static let pageBytes = 4096
  static let chunkHeadBytes = 16
  static let frameHeadBytes = 64
  static let tableEntryBytes = 16
  /// The maximum size of a packed content. Larger contents have files of their own.
  static let packedBytesMax = 1 << 20
  static let chunkBytes = 256 << 10
  /// An upper bound for the size of a file. It is larger than any file of a store, and small enough that sums
  /// of sizes do not overflow.
  static let bytesMax: UInt64 = 1 << 50

  /// The values of `kind` continue the numbering of `FileKind`.
  static let blobSignature = FileSignature(magic: Array("DUGOUTBL".utf8), version: 0, kind: 5)
  static let packSignature = FileSignature(magic: Array("DUGOUTPK".utf8), version: 0, kind: 6)
  static let frameMagic: UInt32 = 0x4252_4644

  /// Returns the checksum of the bytes that are stored at `offset` of a file. The checksum also covers their
  /// uncompressed size.
  static func checksum(
    _ stored: RawSpan, of byteCount: UInt32, file: RandomID, offset: UInt64
  ) -> UInt32 {
    var checksum = Checksum(file: file, offset: offset)
    checksum.update(byteCount)
    checksum.update(stored)
    return checksum.value
  }
}

/// The first page of the file of a content that is not packed.
struct BlobHead: Equatable {
  static let byteCount = 92

  var fileID: RandomID
  /// The fields that are known when the file is complete. Nil until then.
  var whole: Whole?

  struct Whole: Equatable {
    var id: BlobID
    /// The size of the content.
    var byteCount: UInt64
    /// The offset where the chunks end and the table starts.
    var chunksEnd: UInt64
  }

  var page: [UInt8] {
    var page = BlobFormat.blobSignature.head(
      byte: whole == nil ? 0 : 1, word: UInt32(BlobFormat.chunkBytes), id: fileID)
    page.append(littleEndian: whole?.byteCount ?? 0)
    page.append(littleEndian: whole?.chunksEnd ?? 0)
    page.append(contentsOf: whole?.id.bytes ?? [UInt8](repeating: 0, count: BlobID.byteCount))
    page.appendChecksum(Checksum(file: fileID, offset: 0))
    page.pad(toMultipleOf: BlobFormat.pageBytes)
    return page
  }

  init(fileID: RandomID, whole: Whole? = nil) {
    self.fileID = fileID
    self.whole = whole
  }

  init(decoding page: RawSpan, file: String) throws(ByteStoreError) {
    var reader = ByteReader(page)
    try reader.expect(
      BlobFormat.blobSignature, file, expected: "the first bytes of a blob's file", found: "something else")
    guard let head = reader.head(of: BlobFormat.blobSignature), head.byte <= 1,
      head.word == UInt32(BlobFormat.chunkBytes), let byteCount = reader.uint64(),
      let chunksEnd = reader.uint64(), let id = reader.array(BlobID.byteCount).flatMap(BlobID.init)
    else { throw .damage(file, at: 8, expected: "the head of a blob's file", found: "something else") }
    let checksum = reader.trailingChecksum(Checksum(file: head.id, offset: 0))
    guard checksum.isCorrect else {
      throw .damage(
        file, at: UInt64(Self.byteCount - 4), expected: "checksum \(checksum.computed)",
        found: "something else")
    }
    fileID = head.id
    guard head.byte == 1 else { return }
    guard byteCount <= BlobFormat.bytesMax, chunksEnd <= 2 * BlobFormat.bytesMax,
      chunksEnd >= UInt64(BlobFormat.pageBytes)
    else { throw .damage(file, at: 32, expected: "sizes that a file can have", found: "something else") }
    whole = Whole(id: id, byteCount: byteCount, chunksEnd: chunksEnd)
  }
}

/// The position of a chunk in the file of a content that is not packed.
struct BlobChunk: Equatable {
  /// The offset of the chunk's head.
  var offset: UInt64
  var storedBytes: UInt32
  var checksum: UInt32
}

enum BlobTable {
  static func encode(_ chunks: [BlobChunk], file: RandomID, offset: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(chunks.count * BlobFormat.tableEntryBytes + 4)
    for chunk in chunks {
      bytes.append(littleEndian: chunk.offset)
      bytes.append(littleEndian: chunk.storedBytes)
      bytes.append(littleEndian: chunk.checksum)
    }
    bytes.appendChecksum(Checksum(file: file, offset: offset))
    return bytes
  }

  static func decode(
    _ bytes: RawSpan, of head: BlobHead.Whole, file: RandomID, path: String
  ) throws(ByteStoreError) -> [BlobChunk] {
    func damage(expected: String) -> ByteStoreError {
      .corrupted(Damage(file: path, offset: head.chunksEnd, expected: expected, found: "something else"))
    }
    guard bytes.byteCount >= 4 else { throw damage(expected: "a table of chunks") }
    let checksum = bytes.trailingChecksum(Checksum(file: file, offset: head.chunksEnd))
    guard checksum.isCorrect else { throw damage(expected: "a table with checksum \(checksum.computed)") }
    let entries = bytes.extracting(droppingLast: 4)
    var reader = ByteReader(entries)
    var chunks: [BlobChunk] = []
    chunks.reserveCapacity(entries.byteCount / BlobFormat.tableEntryBytes)
    var end = UInt64(BlobFormat.pageBytes)
    while let offset = reader.uint64(), let stored = reader.uint32(), let checksum = reader.uint32() {
      // A crafted table must not cause reads outside the file or large allocations.
      guard offset == end, stored <= BlobFormat.chunkBytes else {
        throw damage(expected: "chunks one after the other")
      }
      end += UInt64(BlobFormat.chunkHeadBytes) + UInt64(stored)
      chunks.append(BlobChunk(offset: offset, storedBytes: stored, checksum: checksum))
    }
    guard end == head.chunksEnd else { throw damage(expected: "chunks up to \(head.chunksEnd)") }
    return chunks
  }
}

extension BlobHead.Whole {
  var chunkCount: Int { Int((byteCount + UInt64(BlobFormat.chunkBytes) - 1) / UInt64(BlobFormat.chunkBytes)) }

  var tableBytes: Int { chunkCount * BlobFormat.tableEntryBytes + 4 }

  /// The number of content bytes in a chunk.
  func bytes(ofChunk index: Int) -> Int {
    Int(min(UInt64(BlobFormat.chunkBytes), byteCount - UInt64(index) * UInt64(BlobFormat.chunkBytes)))
  }
}
