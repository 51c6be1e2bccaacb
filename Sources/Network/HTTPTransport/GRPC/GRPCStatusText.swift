// The text of a status, as the field `grpc-message` carries it.
//
//   text := (printable | "%" hex hex)*
//
// `printable` is ASCII from space to `~`, without `%`. A space at either end is encoded, because HTTP/2
// refuses fields that begin or end with one. All other bytes of UTF-8 are encoded.

/// The percent-encoding of a status text.
package enum GRPCStatusText {
  /// The maximum size of an encoded text. Clients refuse responses whose fields are larger than 8 KiB.
  package static let bytesMax = 4096

  /// Encodes a text. Cuts it between two characters if it is too long.
  package static func encoded(_ text: String) -> String {
    var encoded: [UInt8] = []
    encoded.reserveCapacity(min(text.utf8.count, bytesMax))
    for scalar in text.unicodeScalars {
      let start = encoded.count
      for byte in UTF8.encode(scalar)! { append(byte, to: &encoded) }
      guard encoded.count <= bytesMax - spaceGrowth else {
        encoded.removeLast(encoded.count - start)
        break
      }
    }
    encodeSpaceAtEnds(&encoded)
    return String(decoding: encoded, as: UTF8.self)
  }

  /// The bytes that the encoding of the spaces at both ends adds.
  private static let spaceGrowth = 4

  private static func append(_ byte: UInt8, to encoded: inout [UInt8]) {
    if isPrintable(byte) { encoded.append(byte) } else { encoded += percentEncoded(byte) }
  }

  private static func encodeSpaceAtEnds(_ encoded: inout [UInt8]) {
    let space = UInt8(ascii: " ")
    if encoded.last == space {
      encoded.removeLast()
      encoded += percentEncoded(space)
    }
    if encoded.first == space { encoded.replaceSubrange(...0, with: percentEncoded(space)) }
  }

  private static func isPrintable(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: " ") && byte <= UInt8(ascii: "~") && byte != UInt8(ascii: "%")
  }

  private static func percentEncoded(_ byte: UInt8) -> [UInt8] {
    [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 0xF)]
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }
}
