// CRC32C over several pieces, among them the place where the bytes belong.

internal import CDigest

/// A running CRC32C. What is fed to it first, the file's id and the offset, binds bytes to their place.
package struct Checksum {
  package private(set) var value: UInt32

  package init() { value = 0 }

  /// Bytes at `offset` of the file `id`.
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
