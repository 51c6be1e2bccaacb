// The first bytes of every file of a store: magic[8] version:u16 kind:u8.
//
// A newer version may change the layout of everything after the version number, including the checksum.

/// The signature of one kind of file.
package struct FileSignature: Sendable {
  package let magic: [UInt8]
  /// The version that this release writes. It is also the newest version that this release can read.
  package let version: UInt16
  let kind: UInt8

  /// The bytes themselves: the start of every header.
  var bytes: [UInt8] {
    var bytes = magic
    bytes.append(littleEndian: version)
    bytes.append(kind)
    return bytes
  }
}

extension ByteReader {
  /// Reads the signature up to the version number. The caller reads the kind only after it has verified the
  /// header's checksum.
  mutating func expect(
    _ signature: FileSignature, _ file: String, or damage: @autoclosure () -> ByteStoreError
  ) throws(ByteStoreError) {
    guard array(signature.magic.count) == signature.magic, let version = uint16() else { throw damage() }
    guard version <= signature.version else {
      throw .newerFormat(file: file, found: version, supported: signature.version)
    }
  }
}
