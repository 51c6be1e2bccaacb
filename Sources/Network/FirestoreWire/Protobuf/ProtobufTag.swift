// Tags of protobuf fields.
//
//   message := (tag content)*
//   tag     := varint: number << 3 | type      number 1...2^29 - 1
//   content := varint                          type 0
//            | eight bytes                     type 1
//            | length byte*                    type 2: strings, bytes, messages, packed numbers
//            | message tag                     type 3: a group, up to the tag of type 4 with its number
//            | four bytes                      type 5
//   varint  := LEB128, at most 64 bits
//
// All numbers are little-endian.

/// The number and the wire type of a field.
package struct ProtobufTag: Hashable, Sendable {
  /// The encoding of a field's content.
  package enum WireType: UInt32, Sendable {
    case varint, fixed64, length, startGroup, endGroup, fixed32
  }

  /// The number shifted by three bits, and the type.
  package let rawValue: UInt32

  @inline(__always)
  package init(_ number: Int32, _ type: WireType) {
    rawValue = UInt32(truncatingIfNeeded: number) << 3 | type.rawValue
  }

  /// Nil if the number is 0 or too large, or the type does not exist.
  @inline(__always)
  package init?(rawValue: UInt64) {
    guard rawValue >= 8, rawValue <= UInt32.max, rawValue & 7 <= WireType.fixed32.rawValue else { return nil }
    self.rawValue = UInt32(truncatingIfNeeded: rawValue)
  }

  package var number: Int32 { Int32(truncatingIfNeeded: rawValue >> 3) }

  package var type: WireType {
    // Both initializers exclude the two types that do not exist.
    WireType(rawValue: rawValue & 7) ?? .fixed32
  }
}
