// Parts of keys: bytes that sort as what they stand for, and none of which is the start of another, so that
// parts can follow each other.

extension [UInt8] {
  /// Eight bytes, the highest first.
  mutating func append(ordered number: UInt64) {
    unsafe Swift.withUnsafeBytes(of: number.bigEndian) { unsafe append(contentsOf: $0) }
  }

  /// Eight bytes, the sign bit inverted.
  mutating func append(ordered number: Int64) { append(ordered: UInt64(bitPattern: number) ^ (1 << 63)) }

  /// The text's bytes, in the same form: in one piece, as hardly any text has a zero in it.
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

  /// The bytes, each zero followed by 0xFF, then 0x00 0x01: the end is before any byte that could follow.
  mutating func append(ordered bytes: some Sequence<UInt8>) {
    for byte in bytes {
      append(byte)
      if byte == 0 { append(0xFF) }
    }
    append(0)
    append(1)
  }
}
