// The heads of packs and of their frames. The grammar is in BlobFormat.swift.

struct PackHead: Equatable {
  var fileID: RandomID
  var number: UInt64

  var page: [UInt8] {
    var page = BlobFormat.packSignature.head(id: fileID)
    page.append(littleEndian: number)
    page.appendChecksum(Checksum(file: fileID, offset: 0))
    page.pad(toMultipleOf: BlobFormat.pageBytes)
    return page
  }

  init(fileID: RandomID, number: UInt64) {
    self.fileID = fileID
    self.number = number
  }

  init(decoding page: RawSpan, file: String) throws(ByteStoreError) {
    var reader = ByteReader(page)
    try reader.expect(
      BlobFormat.packSignature, file, expected: "the first bytes of a pack", found: "something else")
    guard let head = reader.head(of: BlobFormat.packSignature), let number = reader.uint64() else {
      throw .damage(file, at: 8, expected: "the head of a pack", found: "something else")
    }
    let checksum = reader.trailingChecksum(Checksum(file: head.id, offset: 0))
    guard checksum.isCorrect else {
      throw .damage(file, at: 40, expected: "checksum \(checksum.computed)", found: "something else")
    }
    fileID = head.id
    self.number = number
  }
}

/// The head of a frame, which holds one content of a pack.
struct PackFrame: Equatable {
  var id: BlobID
  var byteCount: UInt32
  var storedBytes: UInt32
  var bodyChecksum: UInt32

  func head(file: RandomID, offset: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: BlobFormat.frameMagic)
    bytes.append(littleEndian: byteCount)
    bytes.append(littleEndian: storedBytes)
    bytes.append(littleEndian: bodyChecksum)
    bytes.append(contentsOf: id.bytes)
    bytes.appendChecksum(Checksum(file: file, offset: offset))
    bytes.pad(toMultipleOf: BlobFormat.frameHeadBytes)
    return bytes
  }

  /// Decodes a head. Returns nil if the bytes are not a head that was written at this offset of this file.
  init?(decoding bytes: RawSpan, file: RandomID, offset: UInt64) {
    var reader = ByteReader(bytes)
    guard reader.uint32() == BlobFormat.frameMagic, let byteCount = reader.uint32(),
      let storedBytes = reader.uint32(), let bodyChecksum = reader.uint32(),
      let id = reader.array(BlobID.byteCount).flatMap(BlobID.init)
    else { return nil }
    guard reader.trailingChecksum(Checksum(file: file, offset: offset)).isCorrect,
      byteCount <= BlobFormat.packedBytesMax, storedBytes <= byteCount
    else { return nil }
    self.init(id: id, byteCount: byteCount, storedBytes: storedBytes, bodyChecksum: bodyChecksum)
  }

  init(id: BlobID, byteCount: UInt32, storedBytes: UInt32, bodyChecksum: UInt32) {
    self.id = id
    self.byteCount = byteCount
    self.storedBytes = storedBytes
    self.bodyChecksum = bodyChecksum
  }
}
