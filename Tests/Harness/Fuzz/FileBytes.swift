// Access to integers and checksums in the bytes of a file, which forging a file requires.

internal import ByteStore

extension [UInt8] {
  func word32(at offset: Int) -> UInt32 {
    (0..<4).reduce(0) { $0 | UInt32(self[offset + $1]) << (8 * UInt32($1)) }
  }

  func word64(at offset: Int) -> UInt64 {
    (0..<8).reduce(0) { $0 | UInt64(self[offset + $1]) << (8 * UInt64($1)) }
  }

  func id(at offset: Int) -> RandomID { RandomID(high: word64(at: offset), low: word64(at: offset + 8)) }

  mutating func set(_ value: some FixedWidthInteger, at offset: Int) {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: value)
    replaceSubrange(offset..<offset + bytes.count, with: bytes)
  }

  /// Returns the checksum of a range that is stored at `offset` of the file `id`.
  func checksum(of range: Range<Int>, file id: RandomID, offset: UInt64) -> UInt32 {
    var checksum = Checksum(file: id, offset: offset)
    checksum.update(rawSpan.extracting(range))
    return checksum.value
  }

  /// Returns the checksum of a header, which is always at the start of the file.
  func checksum(ofHeader range: Range<Int>) -> UInt32 {
    var checksum = Checksum()
    checksum.update(rawSpan.extracting(range))
    return checksum.value
  }
}

/// Forges manifests with valid checksums.
enum ForgedManifest {
  private static let headBytes = 64
  private static let logBytes = 56
  private static let segmentBytes = 40

  /// Returns the manifest with a corrected checksum.
  static func withCorrectChecksums(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.count >= headBytes + 4 else { return bytes }
    var bytes = bytes
    let end = bytes.count - 4
    bytes.set(bytes.checksum(of: 0..<end, file: bytes.id(at: 16), offset: 0), at: end)
    return bytes
  }

  /// Returns the manifest with another recorded size of the checkpoint file.
  static func withCheckpoint(of size: Int, _ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    bytes.set(UInt64(size), at: bytes.count - 12)
    return withCorrectChecksums(bytes)
  }

  /// Returns the manifest with another page count and file size for the segment with this id.
  static func withSegment(_ id: RandomID, pages: UInt32, size: Int, _ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    let first = headBytes + logBytes * Int(bytes.word32(at: 12))
    for index in 0..<Int(bytes.word32(at: 56)) {
      let start = first + segmentBytes * index
      guard bytes.id(at: start + 8) == id else { continue }
      bytes.set(pages, at: start + 28)
      bytes.set(UInt64(size), at: start + 32)
    }
    return withCorrectChecksums(bytes)
  }
}
