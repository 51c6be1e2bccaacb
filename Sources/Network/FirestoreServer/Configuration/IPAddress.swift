// Literal addresses of IPv4 and IPv6.

/// An address of IPv4 or IPv6. An IPv4 address within IPv6 is the IPv4 address.
struct IPAddress: Hashable, Sendable {
  /// Four or sixteen bytes.
  let bytes: [UInt8]

  private init(bytes: [UInt8]) { self.bytes = bytes }

  /// Parses `127.0.0.1` or `::1`. Other notations, such as `127.1` or zones of IPv6, are refused.
  init?(_ text: some StringProtocol) {
    let utf8 = Array(text.utf8)
    guard utf8.count <= 45 else { return nil }
    if let bytes = Self.version4(utf8[...]) {
      self.bytes = bytes
    } else if let bytes = Self.version6(utf8) {
      let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
      self.bytes = isMapped ? Array(bytes.suffix(4)) : bytes
    } else {
      return nil
    }
  }

  var isVersion6: Bool { bytes.count == 16 }

  /// Whether only this machine reaches the address.
  var isLoopback: Bool {
    isVersion6 ? bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1 : bytes[0] == 127
  }

  /// Whether the address stands for all addresses of the machine.
  var isAny: Bool { bytes.allSatisfy { $0 == 0 } }

  /// The address with zeros after its first bits.
  func masked(to bits: Int) -> IPAddress {
    IPAddress(
      bytes: bytes.enumerated().map { place, byte in
        byte & ~UInt8(truncatingIfNeeded: 0xFF >> min(8, max(0, bits - 8 * place)))
      })
  }

  private static func version4(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var bytes: [UInt8] = []
    for part in parts {
      guard (1...3).contains(part.count), part.allSatisfy(isDigit), part.count == 1 || part.first != zero,
        let value = UInt8(String(decoding: part, as: UTF8.self))
      else { return nil }
      bytes.append(value)
    }
    return bytes
  }

  private static let zero = UInt8(ascii: "0")

  private static func isDigit(_ byte: UInt8) -> Bool { byte >= zero && byte <= UInt8(ascii: "9") }

  private static func version6(_ text: [UInt8]) -> [UInt8]? {
    let colon = UInt8(ascii: ":")
    guard let gap = text.indices.dropLast().first(where: { text[$0] == colon && text[$0 + 1] == colon })
    else {
      return groups(text[...], mayEndWithVersion4: true).flatMap { $0.count == 16 ? $0 : nil }
    }
    let (before, after) = (text[..<gap], text[(gap + 2)...])
    guard let head = before.isEmpty ? [] : groups(before, mayEndWithVersion4: false),
      let tail = after.isEmpty ? [] : groups(after, mayEndWithVersion4: true), head.count + tail.count <= 14
    else { return nil }
    return head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
  }

  /// The bytes of groups of four hexadecimal digits, with colons between them.
  private static func groups(_ text: ArraySlice<UInt8>, mayEndWithVersion4: Bool) -> [UInt8]? {
    let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard parts.count <= 8 else { return nil }
    var bytes: [UInt8] = []
    for (position, part) in parts.enumerated() {
      if position == parts.count - 1, mayEndWithVersion4, let version4 = version4(part) {
        return bytes + version4
      }
      guard (1...4).contains(part.count), part.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
        let value = UInt16(String(decoding: part, as: UTF8.self), radix: 16)
      else { return nil }
      bytes += [UInt8(value >> 8), UInt8(value & 0xFF)]
    }
    return bytes
  }
}

extension IPAddress: CustomStringConvertible {
  /// The address as it can be parsed again. Groups of zeros are not shortened, except at the end.
  var description: String {
    guard isVersion6 else { return bytes.map { String($0) }.joined(separator: ".") }
    var groups = stride(from: 0, to: 16, by: 2).map { Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]) }
    while groups.last == 0 { groups.removeLast() }
    let text = groups.map { String($0, radix: 16) }.joined(separator: ":")
    return groups.count == 8 ? text : text + "::"
  }
}
