// Inputs for the fuzzer of frames, and changes that know frames.

#if Server
enum FrameSeeds {
  static var all: [[UInt8]] {
    [unary, stream, continued, resets, pings, settings, trailers, priorities, smuggled, FrameWriter.preface]
  }

  private static var unary: [UInt8] {
    var writer = FrameWriter.opened()
    writer.request(
      1, path: "/now", fields: [("content-type", "application/grpc"), ("te", "trailers")], endsStream: false)
    writer.data(1, [0, 0, 0, 0, 2, 1, 2])
    writer.frame(.settings, flags: FrameWriter.acknowledgement)
    return writer.bytes
  }

  private static var stream: [UInt8] {
    var writer = FrameWriter.opened()
    writer.request(1, path: "/stream", endsStream: false)
    for byte in 0..<4 { writer.data(1, [UInt8(byte)], endsStream: false) }
    writer.frame(.windowUpdate, stream: 1, payload: FrameWriter.number(1000, byteCount: 4))
    writer.data(1, [])
    return writer.bytes
  }

  private static var continued: [UInt8] {
    var writer = FrameWriter.opened()
    let block = FrameWriter.requestBlock(
      path: "/now", fields: [("x-long", String(repeating: "a", count: 300))])
    writer.frame(.headers, flags: FrameWriter.endStream, stream: 1, payload: Array(block[..<10]))
    writer.frame(.continuation, stream: 1, payload: Array(block[10..<100]))
    writer.frame(.continuation, flags: FrameWriter.endHeaders, stream: 1, payload: Array(block[100...]))
    return writer.bytes
  }

  private static var resets: [UInt8] {
    var writer = FrameWriter.opened()
    for stream in stride(from: UInt32(1), to: 40, by: 2) {
      writer.request(stream, path: "/stream", endsStream: false)
      writer.frame(.reset, stream: stream, payload: FrameWriter.number(8, byteCount: 4))
    }
    return writer.bytes
  }

  private static var pings: [UInt8] {
    var writer = FrameWriter.opened()
    for _ in 0..<2 { writer.frame(.ping, payload: Array(repeating: 7, count: 8)) }
    writer.request(1, path: "/now")
    for _ in 0..<4 { writer.frame(.ping, payload: Array(repeating: 9, count: 8)) }
    return writer.bytes
  }

  private static var settings: [UInt8] {
    var writer = FrameWriter.opened()
    writer.frame(
      .settings, payload: FrameWriter.number(4, byteCount: 2) + FrameWriter.number(0, byteCount: 4))
    writer.request(1, path: "/now")
    writer.frame(
      .settings, payload: FrameWriter.number(4, byteCount: 2) + FrameWriter.number(65535, byteCount: 4))
    writer.frame(.goAway, payload: FrameWriter.number(0, byteCount: 8))
    return writer.bytes
  }

  private static var trailers: [UInt8] {
    var writer = FrameWriter.opened()
    writer.request(1, path: "/now", endsStream: false)
    writer.data(1, [1], endsStream: false)
    writer.frame(
      .headers, flags: FrameWriter.endHeaders | FrameWriter.endStream, stream: 1,
      payload: FrameWriter.field("x-end", "1"))
    return writer.bytes
  }

  private static var priorities: [UInt8] {
    var writer = FrameWriter.opened()
    writer.frame(.priority, stream: 3, payload: FrameWriter.number(1, byteCount: 4) + [16])
    writer.request(3, path: "/stream")
    writer.frame(.priority, stream: 5, payload: FrameWriter.number(5, byteCount: 4) + [16])
    return writer.bytes
  }

  /// Fields that a server must not pass on.
  private static var smuggled: [UInt8] {
    var writer = FrameWriter.opened()
    writer.request(
      1, path: "/now", fields: [("content-length", "5"), ("connection", "close"), ("UPPER", "x")])
    writer.request(3, path: "", fields: [(":path", "/again"), ("host", "elsewhere")])
    return writer.bytes
  }

  /// Repeats, drops, swaps or changes whole frames.
  static func variant(of input: [UInt8], other: [UInt8], _ random: inout SeededRandom) -> [UInt8]? {
    let preface = FrameWriter.preface
    guard random.below(3) > 0, input.starts(with: preface) else { return nil }
    var frames = pieces(of: Array(input[preface.count...]))
    guard !frames.isEmpty else { return nil }
    let at = random.below(frames.count)
    switch random.below(6) {
    case 0: frames += Array(repeating: frames[at], count: 1 + random.below(30))
    case 1: frames.remove(at: at)
    case 2: frames.swapAt(at, random.below(frames.count))
    case 3: if frames[at].count > 4 { frames[at][4] = UInt8(random.below(256)) }
    case 4: if frames[at].count > 8 { frames[at][8] = UInt8(random.below(8)) }
    default:
      guard other.starts(with: preface) else { return nil }
      frames.insert(contentsOf: pieces(of: Array(other[preface.count...])), at: at)
    }
    return preface + frames.joined()
  }

  private static func pieces(of bytes: [UInt8]) -> [[UInt8]] {
    let headCount = 9
    var pieces: [[UInt8]] = []
    var start = 0
    while bytes.count - start >= headCount {
      let count = bytes[start..<start + 3].reduce(0) { $0 << 8 | Int($1) }
      let end = min(bytes.count, start + headCount + count)
      pieces.append(Array(bytes[start..<end]))
      start = end
    }
    if start < bytes.count { pieces.append(Array(bytes[start...])) }
    return pieces
  }
}
#endif
