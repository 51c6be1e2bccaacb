// The frames of messages: a byte for the compression, four bytes for the length, the message.

#if Server
enum GRPCFrames {
  static func frame(_ message: [UInt8]) -> [UInt8] {
    let count = UInt32(message.count)
    return [
      0, UInt8(truncatingIfNeeded: count >> 24), UInt8(truncatingIfNeeded: count >> 16),
      UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count),
    ] + message
  }
}

/// Finds the messages in the bytes of a response.
struct GRPCFrameReader {
  private static let prefixBytes = 5

  private var buffer: [UInt8] = []
  private var start = 0

  /// Whether a message has begun and is not complete.
  var isWithinMessage: Bool { start < buffer.count }

  mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    if start == buffer.count {
      buffer.removeAll(keepingCapacity: true)
      start = 0
    } else if start > 1 << 16 {
      buffer.removeFirst(start)
      start = 0
    }
    buffer.append(contentsOf: bytes)
  }

  mutating func next() -> [UInt8]? {
    guard buffer.count - start >= Self.prefixBytes else { return nil }
    let count = buffer[(start + 1)..<(start + Self.prefixBytes)].reduce(0) { $0 << 8 | Int($1) }
    let end = start + Self.prefixBytes + count
    guard buffer.count >= end else { return nil }
    defer { start = end }
    return Array(buffer[(start + Self.prefixBytes)..<end])
  }
}
#endif
