// The few messages of Firestore's protocol that rows send.

/// Writes fields of protobuf.
enum WireBytes {
  static func field(_ number: Int, _ value: Int) -> [UInt8] { varint(number << 3) + varint(value) }

  static func field(_ number: Int, _ text: String) -> [UInt8] { field(number, Array(text.utf8)) }

  static func field(_ number: Int, _ content: [UInt8]) -> [UInt8] {
    varint(number << 3 | 2) + varint(content.count) + content
  }

  private static func varint(_ value: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = UInt64(value)
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }
}
