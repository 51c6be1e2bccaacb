// Writes JSON (RFC 8259), without white space.

import ByteStore

/// Appends values to a JSON text. The caller keeps objects and arrays balanced.
package struct JSONWriter: Sendable {
  /// The bytes written until now.
  package private(set) var bytes: [UInt8] = []
  /// Whether a value precedes in the innermost object or array.
  private var needsComma = false

  private static let hexadecimal = Array("0123456789abcdef".utf8)

  package init() {}

  // MARK: Objects and arrays

  package mutating func beginObject() { begin("{") }
  package mutating func endObject() { end("}") }
  package mutating func beginArray() { begin("[") }
  package mutating func endArray() { end("]") }

  /// Writes a key. The next call writes its value.
  package mutating func key(_ key: String) {
    string(key)
    endKey()
  }

  /// Writes a key that is valid UTF-8.
  mutating func key(utf8 key: RawSpan) {
    string(utf8: key)
    endKey()
  }

  /// Writes the name of a field as a key, in lower camel case: `updateMask` for `update_mask`.
  package mutating func key(field name: String) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    FieldName.appendCamelCase(name, to: &bytes)
    bytes.append(UInt8(ascii: "\""))
    endKey()
  }

  private mutating func endKey() {
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  private mutating func begin(_ byte: Unicode.Scalar) {
    separate()
    bytes.append(UInt8(ascii: byte))
    needsComma = false
  }

  private mutating func end(_ byte: Unicode.Scalar) {
    bytes.append(UInt8(ascii: byte))
    needsComma = true
  }

  /// Writes the comma between values.
  @inline(__always)
  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  // MARK: Values

  package mutating func null() { plain("null") }
  package mutating func boolean(_ value: Bool) { plain(value ? "true" : "false") }
  package mutating func int32(_ value: Int32) { plain(String(value)) }

  /// Writes a string, because numbers of JavaScript have 53 bits.
  package mutating func int64(_ value: Int64) { quoted(String(value).utf8) }

  /// Writes the shortest number that reads as the same double, or the name of a special value.
  package mutating func double(_ value: Double) {
    if value.isNaN {
      quoted("NaN".utf8)
    } else if value.isInfinite {
      quoted((value < 0 ? "-Infinity" : "Infinity").utf8)
    } else {
      plain(value.description)
    }
  }

  /// Writes Base64.
  package mutating func base64(_ value: [UInt8]) { quoted(Base64.encode(value)) }

  package mutating func string(_ value: String) {
    var value = value
    value.withUTF8 { unsafe string(utf8: RawSpan(_unsafeBytes: UnsafeRawBufferPointer($0))) }
  }

  /// Writes a string that is valid UTF-8.
  mutating func string(utf8 value: RawSpan) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    var start = 0
    while true {
      let end = JSONEscapes.first(in: value, from: start)
      bytes.append(copying: value.extracting(start..<end))
      guard end < value.byteCount else { break }
      appendEscaped(unsafe value.unsafeLoad(fromByteOffset: end, as: UInt8.self))
      start = end + 1
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func plain(_ text: String) {
    separate()
    bytes.append(utf8: text)
  }

  /// Writes characters that need no escapes.
  private mutating func quoted(_ text: some Sequence<UInt8>) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    bytes.append(contentsOf: text)
    bytes.append(UInt8(ascii: "\""))
  }

  /// Appends a byte that needs an escape.
  private mutating func appendEscaped(_ byte: UInt8) {
    bytes.append(UInt8(ascii: "\\"))
    switch byte {
    case 0x08: bytes.append(UInt8(ascii: "b"))
    case 0x09: bytes.append(UInt8(ascii: "t"))
    case 0x0A: bytes.append(UInt8(ascii: "n"))
    case 0x0C: bytes.append(UInt8(ascii: "f"))
    case 0x0D: bytes.append(UInt8(ascii: "r"))
    case 0..<0x20:
      bytes.append(utf8: "u00")
      bytes.append(Self.hexadecimal[Int(byte >> 4)])
      bytes.append(Self.hexadecimal[Int(byte & 15)])
    default: bytes.append(byte)
    }
  }
}

/// The characters of a string that JSON escapes: control characters, quotation marks and backslashes.
private enum JSONEscapes {
  private static let ones: UInt64 = 0x0101_0101_0101_0101
  private static let highBits: UInt64 = 0x8080_8080_8080_8080

  /// The offset of the first such byte from `start` on, or the end.
  @inline(__always)
  static func first(in bytes: RawSpan, from start: Int) -> Int {
    var offset = start
    while offset + 8 <= bytes.byteCount {
      let word = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
      guard !hasAny(in: word) else { break }
      offset += 8
    }
    while offset < bytes.byteCount {
      let byte = unsafe bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
      if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return offset }
      offset += 1
    }
    return offset
  }

  /// Whether one of the eight bytes needs an escape. Subtracting from a byte that is too small sets its high
  /// bit, which it did not have.
  @inline(__always)
  private static func hasAny(in word: UInt64) -> Bool {
    let quotes = word ^ (ones &* 0x22)
    let backslashes = word ^ (ones &* 0x5C)
    let found =
      (word &- ones &* 0x20) & ~word | (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes
    return found & highBits != 0
  }
}
