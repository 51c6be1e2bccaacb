// Encodes the fields of Protocol Buffers messages, including groups. `ProtobufReader` describes the format.

struct ProtobufWriter {
  private(set) var bytes: [UInt8] = []

  /// Returns the bytes of the fields that `body` writes.
  static func message(_ body: (inout ProtobufWriter) -> Void) -> [UInt8] {
    var writer = ProtobufWriter()
    body(&writer)
    return writer.bytes
  }

  mutating func varint(_ number: Int, _ value: UInt64) {
    append(tag: number, wireType: 0)
    append(varint: value)
  }

  mutating func double(_ number: Int, _ value: Double) {
    append(tag: number, wireType: 1)
    for shift in stride(from: UInt64(0), to: 64, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: value.bitPattern >> shift))
    }
  }

  mutating func bytes(_ number: Int, _ content: [UInt8]) {
    append(tag: number, wireType: 2)
    append(varint: UInt64(content.count))
    bytes += content
  }

  mutating func text(_ number: Int, _ content: String) { bytes(number, Array(content.utf8)) }

  mutating func message(_ number: Int, _ body: (inout ProtobufWriter) -> Void) {
    bytes(number, Self.message(body))
  }

  mutating func group(_ number: Int, _ body: (inout ProtobufWriter) -> Void) {
    append(tag: number, wireType: 3)
    body(&self)
    append(tag: number, wireType: 4)
  }

  private mutating func append(tag number: Int, wireType: UInt64) {
    append(varint: UInt64(number) << 3 | wireType)
  }

  private mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }
}
