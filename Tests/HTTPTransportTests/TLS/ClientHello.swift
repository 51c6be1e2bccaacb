// The first message of a client, changed for tests.

#if TLS

/// A record with a ClientHello.
struct ClientHello {
  private let body: [UInt8]

  /// Takes the record that a client has sent first.
  init(_ record: [UInt8]) { body = Array(record[9...]) }

  /// A client that knows no version after this one. `version` is 0x0302 for TLS 1.1.
  init(version: UInt16) {
    var body: [UInt8] = [UInt8(version >> 8), UInt8(version & 0xff)]
    body += [UInt8](repeating: 7, count: 32) + [0]
    // ECDHE-ECDSA and RSA with AES-128 in CBC mode, and no compression.
    body += [0, 4, 0xc0, 0x09, 0x00, 0x2f, 1, 0]
    // The curve P-256, uncompressed points, and signatures by ECDSA with SHA-256.
    body += [0, 22, 0, 10, 0, 4, 0, 2, 0, 23, 0, 11, 0, 2, 1, 0, 0, 13, 0, 4, 0, 2, 4, 3]
    self.body = body
  }

  var record: [UInt8] { Self.record(body) }

  /// The record with an extension for ALPN.
  func adding(protocols: [String]) -> [UInt8] {
    let list = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
    let content = Self.length(list.count) + list
    let added = [0, 16] + Self.length(content.count) + content
    let start = extensionsStart
    let extensions = Array(body[(start + 2)...]) + added
    return Self.record(Array(body[..<start]) + Self.length(extensions.count) + extensions)
  }

  /// The position of the length of all extensions.
  private var extensionsStart: Int {
    var position = 2 + 32
    position += 1 + Int(body[position])
    position += 2 + Int(body[position]) << 8 + Int(body[position + 1])
    return position + 1 + Int(body[position])
  }

  private static func length(_ count: Int) -> [UInt8] { [UInt8(count >> 8), UInt8(count & 0xff)] }

  private static func record(_ body: [UInt8]) -> [UInt8] {
    [22, 3, 1] + length(body.count + 4) + [1, 0] + length(body.count) + body
  }
}

#endif
