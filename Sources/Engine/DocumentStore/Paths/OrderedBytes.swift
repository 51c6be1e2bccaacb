// Encodings for keys. The encodings sort in the same order as the encoded values.
//
// No encoding is a prefix of another encoding, so encodings can be concatenated.

extension [UInt8] {
  /// Eight bytes, big-endian.
  mutating func append(ordered number: UInt64) {
    unsafe Swift.withUnsafeBytes(of: number.bigEndian) { unsafe append(contentsOf: $0) }
  }

  /// Eight bytes, big-endian, with the sign bit inverted.
  mutating func append(ordered number: Int64) { append(ordered: UInt64(bitPattern: number) ^ (1 << 63)) }

  /// Appends the text's UTF-8 bytes in the encoding for bytes. Text rarely contains a zero byte, so it is
  /// usually appended in one step.
  mutating func append(ordered text: String) {
    let isDone = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
      guard unsafe !bytes.contains(0) else { return false }
      unsafe append(contentsOf: bytes)
      append(0)
      append(1)
      return true
    }
    if isDone != true { append(ordered: text.utf8) }
  }

  /// Appends the bytes with 0xFF inserted after each zero byte, and then the end marker 0x00 0x01. The end
  /// marker sorts before any continuation.
  mutating func append(ordered bytes: some Sequence<UInt8>) {
    for byte in bytes {
      append(byte)
      if byte == 0 { append(0xFF) }
    }
    append(0)
    append(1)
  }
}
