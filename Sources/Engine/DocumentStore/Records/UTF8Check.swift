// Validates UTF-8 without creating a string.
//
//   text  := (00...7F | two | three | four)*
//   two   := C2...DF tail
//   three := E0 A0...BF tail | E1...EC tail tail | ED 80...9F tail | EE...EF tail tail
//   four  := F0 90...BF tail tail | F1...F3 tail tail tail | F4 80...8F tail tail
//   tail  := 80...BF

import ByteStore

enum UTF8Check {
  static func isValid(_ bytes: RawSpan) -> Bool {
    var reader = ByteReader(bytes)
    var ahead = 0
    while true {
      // Most text is ASCII, so skip eight ASCII bytes at a time, and then single ones.
      while bytes.byteCount - ahead >= 8,
        unsafe bytes.unsafeLoadUnaligned(fromByteOffset: ahead, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
      {
        ahead += 8
      }
      while ahead < bytes.byteCount, bytes.byte(at: ahead) < 0x80 { ahead += 1 }
      guard ahead < bytes.byteCount else { return true }
      _ = reader.skip(ahead - reader.offset)
      guard let first = reader.uint8(), passTails(of: first, &reader) else { return false }
      ahead = reader.offset
    }
  }

  private static func passTails(of first: UInt8, _ reader: inout ByteReader) -> Bool {
    switch first {
    case 0x00...0x7F: true
    case 0xC2...0xDF: reader.pass(0x80...0xBF)
    case 0xE0: reader.pass(0xA0...0xBF) && reader.pass(0x80...0xBF)
    case 0xED: reader.pass(0x80...0x9F) && reader.pass(0x80...0xBF)
    case 0xE1...0xEF: reader.pass(0x80...0xBF) && reader.pass(0x80...0xBF)
    case 0xF0: reader.pass(0x90...0xBF) && reader.pass(0x80...0xBF) && reader.pass(0x80...0xBF)
    case 0xF1...0xF3: reader.pass(0x80...0xBF) && reader.pass(0x80...0xBF) && reader.pass(0x80...0xBF)
    case 0xF4: reader.pass(0x80...0x8F) && reader.pass(0x80...0xBF) && reader.pass(0x80...0xBF)
    default: false
    }
  }
}

extension ByteReader {
  fileprivate mutating func pass(_ range: ClosedRange<UInt8>) -> Bool {
    uint8().map(range.contains) ?? false
  }
}
