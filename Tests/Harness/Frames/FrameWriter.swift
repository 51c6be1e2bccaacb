// Frames of HTTP/2 as a client sends them. Field blocks use literals without compression.

/// Writes frames, also wrong ones.
package struct FrameWriter {
  package enum Kind: UInt8, CaseIterable {
    case data = 0
    case headers = 1
    case priority = 2
    case reset = 3
    case settings = 4
    case pushPromise = 5
    case ping = 6
    case goAway = 7
    case windowUpdate = 8
    case continuation = 9
  }

  package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
  package static let endStream: UInt8 = 1
  package static let acknowledgement: UInt8 = 1
  package static let endHeaders: UInt8 = 4

  package private(set) var bytes: [UInt8] = []

  package init() {}

  /// A writer after the client's preface and its settings.
  package static func opened() -> FrameWriter {
    var writer = FrameWriter()
    writer.bytes = preface
    writer.frame(.settings)
    return writer
  }

  package mutating func frame(_ kind: Kind, flags: UInt8 = 0, stream: UInt32 = 0, payload: [UInt8] = []) {
    bytes += Self.number(UInt32(payload.count), byteCount: 3) + [kind.rawValue, flags]
    bytes += Self.number(stream, byteCount: 4) + payload
  }

  package mutating func request(
    _ stream: UInt32, path: String, fields: [(String, String)] = [], endsStream: Bool = true
  ) {
    frame(
      .headers, flags: Self.endHeaders | (endsStream ? Self.endStream : 0), stream: stream,
      payload: Self.requestBlock(path: path, fields: fields))
  }

  package mutating func data(_ stream: UInt32, _ body: [UInt8], endsStream: Bool = true) {
    frame(.data, flags: endsStream ? Self.endStream : 0, stream: stream, payload: body)
  }

  package static func requestBlock(path: String, fields: [(String, String)] = []) -> [UInt8] {
    let pseudo = [(":method", "POST"), (":scheme", "http"), (":authority", "localhost"), (":path", path)]
    return (pseudo + fields).flatMap { field($0.0, $0.1) }
  }

  /// A literal field that is not added to the table.
  package static func field(_ name: String, _ value: String) -> [UInt8] {
    [0] + text(name) + text(value)
  }

  package static func number(_ number: UInt32, byteCount: Int) -> [UInt8] {
    (0..<byteCount).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * UInt32($0))) }
  }

  private static func text(_ text: String) -> [UInt8] {
    let count = text.utf8.count
    guard count >= 127 else { return [UInt8(count)] + text.utf8 }
    var rest = count - 127
    var bytes: [UInt8] = [127]
    while rest >= 128 {
      bytes.append(UInt8(rest % 128 + 128))
      rest /= 128
    }
    return bytes + [UInt8(rest)] + text.utf8
  }
}

/// A frame of a server.
package struct ReceivedFrame: Equatable {
  package let kind: UInt8
  package let flags: UInt8
  package let stream: UInt32
  package let payload: [UInt8]

  package var endsStream: Bool { flags & FrameWriter.endStream != 0 }

  /// Reads all frames of an output. Returns nil if it ends within a frame, or has one that is too long.
  package static func all(in bytes: [UInt8]) -> [ReceivedFrame]? {
    let headCount = 9
    let payloadMax = 16 * 1024
    var frames: [ReceivedFrame] = []
    var start = 0
    while start < bytes.count {
      guard bytes.count - start >= headCount else { return nil }
      let count = bytes[start..<start + 3].reduce(0) { $0 << 8 | Int($1) }
      guard count <= payloadMax, bytes.count - start >= headCount + count else { return nil }
      let stream = bytes[start + 5..<start + headCount].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      frames.append(
        ReceivedFrame(
          kind: bytes[start + 3], flags: bytes[start + 4], stream: stream,
          payload: Array(bytes[start + headCount..<start + headCount + count])))
      start += headCount + count
    }
    return frames
  }
}
