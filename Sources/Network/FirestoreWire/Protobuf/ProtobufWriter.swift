// Writes protobuf. The grammar is in ProtobufTag.swift.

import ByteStore

/// Appends fields to the bytes of a message.
package struct ProtobufWriter: Sendable {
  /// The bytes written until now.
  package private(set) var bytes: [UInt8] = []

  package init() {}

  package init(reservingBytes count: Int) { bytes.reserveCapacity(count) }

  // MARK: Fields

  @inline(__always)
  package mutating func tag(_ tag: ProtobufTag) { varint(UInt64(tag.rawValue)) }

  package mutating func field(_ number: Int32, varint value: UInt64) {
    tag(ProtobufTag(number, .varint))
    varint(value)
  }

  /// Negative numbers have ten bytes, also those of 32 bits.
  package mutating func field(_ number: Int32, integer value: some FixedWidthInteger & SignedInteger) {
    field(number, varint: UInt64(bitPattern: Int64(value)))
  }

  package mutating func field(_ number: Int32, double value: Double) {
    tag(ProtobufTag(number, .fixed64))
    bytes.append(littleEndian: value.bitPattern)
  }

  package mutating func field(_ number: Int32, string value: String) {
    tag(ProtobufTag(number, .length))
    varint(UInt64(value.utf8.count))
    bytes.append(utf8: value)
  }

  package mutating func field(_ number: Int32, bytes value: [UInt8]) {
    field(number, span: value.rawSpan)
  }

  package mutating func field(_ number: Int32, span value: RawSpan) {
    tag(ProtobufTag(number, .length))
    varint(UInt64(value.byteCount))
    bytes.append(copying: value)
  }

  // MARK: Nested messages

  /// Begins a nested message. Returns its position for `endMessage(at:)`.
  package mutating func beginMessage(_ number: Int32) -> Int {
    tag(ProtobufTag(number, .length))
    // Most messages are shorter than 128 bytes, so one byte is reserved for the length.
    bytes.append(0)
    return bytes.count
  }

  /// Ends the innermost message, and sets its length.
  package mutating func endMessage(at start: Int) {
    let count = UInt64(bytes.count - start)
    guard count >= 0x80 else {
      bytes[start - 1] = UInt8(count)
      return
    }
    var length: [UInt8] = []
    length.append(varint: count)
    bytes[start - 1] = length[0]
    bytes.insert(contentsOf: length[1...], at: start)
  }

  // MARK: Content

  /// Appends a number without a tag.
  @inline(__always)
  package mutating func varint(_ value: UInt64) {
    if value < 0x80 { bytes.append(UInt8(truncatingIfNeeded: value)) } else { bytes.append(varint: value) }
  }

  /// Appends bytes that are encoded already.
  package mutating func append(encoded span: RawSpan) {
    // Rebound, because an array appends the bytes of a raw buffer one by one.
    unsafe span.withUnsafeBytes { raw in
      unsafe raw.withMemoryRebound(to: UInt8.self) { unsafe bytes.append(contentsOf: $0) }
    }
  }
}
