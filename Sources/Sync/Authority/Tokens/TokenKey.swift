// Authenticates tokens with HMAC-SHA-256 (RFC 2104).
//
//   mac := the first 16 bytes of SHA-256(outer pad, SHA-256(inner pad, message))

internal import ByteStore

/// The secret of one authority. Only its holder can make a token that the authority accepts.
struct TokenKey: Sendable, Equatable {
  static let byteCount = 32
  static let macBytes = 16
  private static let blockBytes = 64

  let bytes: [UInt8]
  /// The digests after the two pads, which are equal for all messages.
  private let inner: SHA256Stream
  private let outer: SHA256Stream

  /// Returns nil unless there are as many bytes as a key has.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
    inner = Self.stream(bytes, pad: 0x36)
    outer = Self.stream(bytes, pad: 0x5C)
  }

  /// A key from the store's random source.
  init(random: any RandomSource) {
    var bytes: [UInt8] = []
    bytes.append(random.randomID())
    bytes.append(random.randomID())
    self.bytes = bytes
    inner = Self.stream(bytes, pad: 0x36)
    outer = Self.stream(bytes, pad: 0x5C)
  }

  private static func stream(_ key: [UInt8], pad: UInt8) -> SHA256Stream {
    var block = [UInt8](repeating: pad, count: blockBytes)
    for (place, byte) in key.enumerated() { block[place] ^= byte }
    var stream = SHA256Stream()
    stream.update(block.rawSpan)
    return stream
  }

  func mac(of message: [UInt8]) -> [UInt8] {
    var inner = inner
    inner.update(message.rawSpan)
    var outer = outer
    outer.update(inner.digest.rawSpan)
    return Array(outer.digest.prefix(Self.macBytes))
  }

  /// Takes the same time wherever the two codes differ.
  func isValid(_ mac: [UInt8], of message: [UInt8]) -> Bool {
    guard mac.count == Self.macBytes else { return false }
    return zip(mac, self.mac(of: message)).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }

  static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }
}
