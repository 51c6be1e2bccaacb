// The first 32 bytes of every manifest, log, segment, checkpoint, blob and pack.
//
//   head := magic[8] version:u16 kind:u8 byte:u8 word:u32 id[16]
//
// `byte` and `word` hold fields of the format; unused ones are written as zero. `id` is the file's id; in
// a manifest, it is the store's id. A newer version may change the layout of everything after the version
// number, including the checksum.

/// The signature of one kind of file.
package struct FileSignature: Sendable {
  package let magic: [UInt8]
  /// The version that this release writes. It is also the newest version that this release can read.
  package let version: UInt16
  let kind: UInt8

  /// Encodes the head of a file.
  func head(byte: UInt8 = 0, word: UInt32 = 0, id: RandomID) -> [UInt8] {
    var bytes = magic
    bytes.append(littleEndian: version)
    bytes.append(kind)
    bytes.append(byte)
    bytes.append(littleEndian: word)
    bytes.append(id)
    return bytes
  }
}

extension ByteReader {
  /// Reads the signature up to the version number. If the magic is wrong, throws damage with the texts
  /// `expected` and `found`. `head(of:)` reads the rest, because some formats verify the checksum in between.
  mutating func expect(
    _ signature: FileSignature, _ file: String, expected: String, found: String
  ) throws(ByteStoreError) {
    guard array(signature.magic.count) == signature.magic, let version = uint16() else {
      throw .damage(file, at: 0, expected: expected, found: found)
    }
    guard version <= signature.version else {
      throw .newerFormat(file: file, found: version, supported: signature.version)
    }
  }

  /// Checks the header page of a log, segment or checkpoint, and reads the signature up to the version
  /// number. The order of the checks is size, signature, checksum. The header is the first `headerBytes`
  /// bytes and ends with the checksum.
  mutating func expectPage(
    _ signature: FileSignature, _ file: String, expected: String, headerBytes: Int, pageBytes: Int
  ) throws(ByteStoreError) {
    guard bytes.byteCount >= pageBytes else {
      throw .damage(
        file, at: 0, expected: "a header page of \(pageBytes) bytes", found: "\(bytes.byteCount) bytes")
    }
    try expect(signature, file, expected: expected, found: "others")
    let checksum = bytes.extracting(first: headerBytes).trailingChecksum()
    guard checksum.isCorrect else {
      throw .damage(file, at: 0, expected: "a header with checksum \(checksum.computed)", found: "another")
    }
  }

  /// Reads the head from the kind on. Returns nil if the kind is another one or the bytes end too early.
  mutating func head(of signature: FileSignature) -> (byte: UInt8, word: UInt32, id: RandomID)? {
    guard uint8() == signature.kind, let byte = uint8(), let word = uint32(), let id = randomID() else {
      return nil
    }
    return (byte, word, id)
  }
}

extension ByteStoreError {
  /// Damage that a decoder found in `file`.
  static func damage(_ file: String, at offset: UInt64, expected: String, found: String) -> Self {
    .corrupted(Damage(file: file, offset: offset, expected: expected, found: found))
  }
}
