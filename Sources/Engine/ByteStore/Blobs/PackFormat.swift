// The heads of packs and of their frames. BlobFormat.swift has the grammar.

struct PackHead: Equatable {
  var fileID: RandomID
  var number: UInt64

  var page: [UInt8] {
    var page = BlobFormat.packMagic
    page.append(littleEndian: BlobFormat.version)
    page.append(BlobFormat.packKind)
    page.append(contentsOf: [0, 0, 0, 0, 0])
    page.append(fileID)
    page.append(littleEndian: number)
    page.append(littleEndian: BlobFormat.checksum(page.rawSpan, file: fileID, offset: 0))
    page.pad(toMultipleOf: BlobFormat.pageBytes)
    return page
  }

  init(fileID: RandomID, number: UInt64) {
    self.fileID = fileID
    self.number = number
  }

  init(decoding page: RawSpan, file: String) throws(ByteStoreError) {
    func damage(_ offset: UInt64, _ expected: String) -> ByteStoreError {
      .corrupted(Damage(file: file, offset: offset, expected: expected, found: "something else"))
    }
    var reader = ByteReader(page)
    guard reader.array(8) == BlobFormat.packMagic, let version = reader.uint16() else {
      throw damage(0, "the first bytes of a pack")
    }
    guard version <= BlobFormat.version else {
      throw .newerFormat(file: file, found: version, supported: BlobFormat.version)
    }
    guard reader.uint8() == BlobFormat.packKind, reader.skip(5), let fileID = reader.randomID(),
      let number = reader.uint64()
    else { throw damage(8, "the head of a pack") }
    let checksum = BlobFormat.checksum(page.extracting(first: reader.offset), file: fileID, offset: 0)
    guard reader.uint32() == checksum else { throw damage(40, "checksum \(checksum)") }
    self.fileID = fileID
    self.number = number
  }
}

/// The head of a content in a pack.
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
    bytes.append(littleEndian: BlobFormat.checksum(bytes.rawSpan, file: file, offset: offset))
    bytes.pad(toMultipleOf: BlobFormat.frameHeadBytes)
    return bytes
  }

  /// Nil if the bytes are not a head written for this position.
  init?(decoding bytes: RawSpan, file: RandomID, offset: UInt64) {
    var reader = ByteReader(bytes)
    guard reader.uint32() == BlobFormat.frameMagic, let byteCount = reader.uint32(),
      let storedBytes = reader.uint32(), let bodyChecksum = reader.uint32(),
      let id = reader.array(BlobID.byteCount).flatMap(BlobID.init)
    else { return nil }
    let checksum = BlobFormat.checksum(bytes.extracting(first: reader.offset), file: file, offset: offset)
    guard reader.uint32() == checksum, byteCount <= BlobFormat.packedBytesMax, storedBytes <= byteCount else {
      return nil
    }
    self.init(id: id, byteCount: byteCount, storedBytes: storedBytes, bodyChecksum: bodyChecksum)
  }

  init(id: BlobID, byteCount: UInt32, storedBytes: UInt32, bodyChecksum: UInt32) {
    self.id = id
    self.byteCount = byteCount
    self.storedBytes = storedBytes
    self.bodyChecksum = bodyChecksum
  }
}
