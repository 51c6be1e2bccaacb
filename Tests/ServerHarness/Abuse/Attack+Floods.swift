// Floods of frames.

#if Server
import Harness

extension Attack {
  /// A busy server takes nothing for a while. A flood that ends then has been too small to be refused.
  private static let floodRetriesMax = 50

  /// Sends the frames that `add` writes, in pieces, until there are enough or the server has had enough.
  private func flood(_ count: Int, _ add: (inout FrameWriter, _ number: Int) -> Void) {
    guard let socket = open() else { return }
    var writer = FrameWriter.opened()
    for number in 0..<count {
      add(&writer, number)
      guard number % 50 == 49 else { continue }
      guard !isOver, socket.isOpen || number < 50 else { break }
      guard socket.send(writer.bytes, retriesMax: Self.floodRetriesMax) else { break }
      writer = FrameWriter()
    }
    receiveRefusal(of: socket, seconds: 0.1)
    socket.reset()
  }

  private static func request(_ number: Int, _ writer: inout FrameWriter) -> UInt32 {
    let stream = UInt32(2 * number + 1)
    writer.request(stream, path: service + "Listen", fields: grpc, endsStream: false)
    return stream
  }

  func pings() { flood(200) { writer, _ in writer.frame(.ping, payload: [UInt8](repeating: 1, count: 8)) } }

  func settings() { flood(4000) { writer, _ in writer.frame(.settings) } }

  func resets() {
    flood(2000) { writer, number in
      let stream = Self.request(number, &writer)
      writer.frame(.reset, stream: stream, payload: FrameWriter.number(8, byteCount: 4))
    }
  }

  /// Has the server reset the requests.
  func brokenRules() {
    flood(2000) { writer, number in
      let stream = Self.request(number, &writer)
      writer.frame(.windowUpdate, stream: stream, payload: FrameWriter.number(0x7FFF_FFFF, byteCount: 4))
    }
  }

  mutating func emptyFrames() {
    var random = random
    flood(4000) { writer, number in
      if number == 0 { _ = Self.request(0, &writer) }
      switch random.below(4) {
      case 0: writer.data(1, [], endsStream: false)
      case 1: writer.frame(.priority, stream: UInt32(2 * number + 3), payload: [0, 0, 0, 0, 1])
      case 2: writer.frame(.windowUpdate, payload: FrameWriter.number(1, byteCount: 4))
      default:
        writer.frame(.ping, flags: FrameWriter.acknowledgement, payload: [UInt8](repeating: 0, count: 8))
      }
    }
    self.random = random
  }

  func continuations() {
    flood(2000) { writer, number in
      if number == 0 { writer.frame(.headers, stream: 1, payload: FrameWriter.requestBlock(path: "/")) }
      writer.frame(.continuation, stream: 1, payload: FrameWriter.field("x", "y"))
    }
  }

  func streams() { flood(3000) { writer, number in _ = Self.request(number, &writer) } }
}
#endif
