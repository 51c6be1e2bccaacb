// CRC32C over several pieces of a file, combined with the file's id and their position in it.

internal import CDigest

/// A running CRC32C. The file's id and the offset are hashed first, so that the checksum only matches if the
/// bytes are at the right position in the right file.
package struct Checksum {
  package private(set) var value: UInt32

  package init() { value = 0 }

  /// Starts a checksum of bytes at `offset` of the file `id`.
  package init(file id: RandomID, offset: UInt64, broken: Rule? = nil) {
    value = 0
    if broken != .bindToFile {
      update(id.high)
      update(id.low)
    }
    if broken != .bindToOffset { update(offset) }
  }

  package mutating func update(_ bytes: RawSpan) {
    value = unsafe bytes.withUnsafeBytes { unsafe dugout_crc32c(value, $0.baseAddress, $0.count) }
  }

  package mutating func update(_ integer: some FixedWidthInteger) {
    value = unsafe Swift.withUnsafeBytes(of: integer.littleEndian) {
      unsafe dugout_crc32c(value, $0.baseAddress, $0.count)
    }
  }
}
