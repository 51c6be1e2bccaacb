// Answers of HTTP/2: frames of many streams.
//
// The fields of answers are not decoded. The bytes of their bodies say whose answers they are.

struct HTTP2Answers: ClientAnswers {
  private struct Stream {
    let plan: RequestPlan
    var hasFields = false
    var count = 0
    var call = CallBytes()
    var isOver = false
  }

  /// Takes messages of gRPC out of a body.
  private struct CallBytes {
    var head: [UInt8] = []
    var missing = 0
  }

  /// Whether the client answers pings.
  var answersPings = true
  /// Whether the client lets the server send more than the first windows.
  var opensWindows = true

  /// The last stream that the server has begun, by its own word.
  private var lastStream: UInt32?
  private var streams: [UInt32: Stream] = [:]
  private var input: [UInt8] = []
  private(set) var answered: [Int] = []
  private(set) var hasRefusal = false
  private var nextStream: UInt32 = 1

  mutating func expect(_ plan: RequestPlan) {
    streams[nextStream] = Stream(plan: plan)
    nextStream += 2
  }

  /// The requests that the server has promised not to begin, so that the client may send them again.
  var unbegunRequests: [Int] {
    guard let lastStream else { return [] }
    return streams.filter { $0.key > lastStream }.map(\.value.plan.id)
  }

  mutating func receive(_ bytes: [UInt8]) throws(NetworkViolation) -> [UInt8] {
    input += bytes
    var answer = FrameWriter()
    var start = 0
    while input.count - start >= 9 {
      let size = input[start..<start + 3].reduce(0) { $0 << 8 | Int($1) }
      guard size <= 16384 else { throw NetworkViolation("a frame has \(size) bytes") }
      guard input.count - start >= 9 + size else { break }
      let id = input[start + 5..<start + 9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      let frame = ReceivedFrame(
        kind: input[start + 3], flags: input[start + 4], stream: id,
        payload: Array(input[start + 9..<start + 9 + size]))
      start += 9 + size
      try receive(frame, &answer)
    }
    input.removeFirst(start)
    return answer.bytes
  }

  mutating func receiveEnd() throws(NetworkViolation) {
    guard input.isEmpty else { throw NetworkViolation("a connection ends within a frame") }
  }

  private mutating func receive(_ frame: ReceivedFrame, _ answer: inout FrameWriter) throws(NetworkViolation)
  {
    let isAcknowledged = frame.flags & FrameWriter.acknowledgement != 0
    switch FrameWriter.Kind(rawValue: frame.kind) {
    case .settings:
      if !isAcknowledged { answer.frame(.settings, flags: FrameWriter.acknowledgement) }
    case .ping:
      if !isAcknowledged, answersPings {
        answer.frame(.ping, flags: FrameWriter.acknowledgement, payload: frame.payload)
      }
    case .goAway:
      guard frame.payload.count >= 8 else { throw NetworkViolation("a GOAWAY has no last stream") }
      lastStream = frame.payload[0..<4].reduce(0) { $0 << 8 | UInt32($1) }
    case .windowUpdate: break
    case .reset:
      // After a complete answer, a reset only says that the rest of the request is not wanted. A client can
      // send a refused stream again, and waits for the others.
      let isRefused = frame.payload == [0, 0, 0, 7]
      if streams[frame.stream]?.isOver == false, !isRefused { hasRefusal = true }
      streams[frame.stream]?.isOver = true
    case .headers:
      try change(frame.stream) { stream throws(NetworkViolation) in
        guard !stream.hasFields || frame.endsStream else { throw NetworkViolation("fields twice") }
        stream.hasFields = true
      }
      try finishIfLast(frame)
    case .data:
      try change(frame.stream) { stream throws(NetworkViolation) in
        guard stream.hasFields else { throw NetworkViolation("bytes before fields") }
        try Self.take(frame.payload, &stream)
      }
      if opensWindows, !frame.payload.isEmpty {
        let size = FrameWriter.number(UInt32(frame.payload.count), byteCount: 4)
        answer.frame(.windowUpdate, payload: size)
        if !frame.endsStream { answer.frame(.windowUpdate, stream: frame.stream, payload: size) }
      }
      try finishIfLast(frame)
    case .priority, .pushPromise, .continuation, nil:
      throw NetworkViolation("a frame of the kind \(frame.kind)")
    }
  }

  private mutating func change(
    _ id: UInt32, _ body: (inout Stream) throws(NetworkViolation) -> Void
  ) throws(NetworkViolation) {
    guard var stream = streams[id] else { throw NetworkViolation("an answer on the stream \(id)") }
    guard !stream.isOver else {
      throw NetworkViolation("a frame behind the end of request \(stream.plan.id)")
    }
    do throws(NetworkViolation) { try body(&stream) } catch {
      throw NetworkViolation("request \(stream.plan.id): \(error.text)")
    }
    streams[id] = stream
  }

  private mutating func finishIfLast(_ frame: ReceivedFrame) throws(NetworkViolation) {
    guard frame.endsStream, let stream = streams[frame.stream] else { return }
    streams[frame.stream]?.isOver = true
    guard stream.count == stream.plan.answerBytes else {
      // The transport ends a request that breaks a limit with an answer of its own.
      guard stream.count == 0 || stream.plan.isCall else {
        throw NetworkViolation("the answer to request \(stream.plan.id) ends after \(stream.count) bytes")
      }
      hasRefusal = true
      return
    }
    answered.append(stream.plan.id)
  }

  private static func take(_ bytes: [UInt8], _ stream: inout Stream) throws(NetworkViolation) {
    guard stream.plan.isCall else { return try compare(bytes[...], &stream) }
    var rest = bytes[...]
    while !rest.isEmpty {
      if stream.call.missing == 0 {
        let count = min(5 - stream.call.head.count, rest.count)
        stream.call.head += rest.prefix(count)
        rest = rest.dropFirst(count)
        guard stream.call.head.count == 5 else { return }
        guard stream.call.head[0] == 0 else { throw NetworkViolation("a message has flags") }
        stream.call.missing = stream.call.head[1...].reduce(0) { $0 << 8 | Int($1) }
        stream.call.head = []
      }
      let count = min(stream.call.missing, rest.count)
      try compare(rest.prefix(count), &stream)
      stream.call.missing -= count
      rest = rest.dropFirst(count)
    }
  }

  private static func compare(_ bytes: ArraySlice<UInt8>, _ stream: inout Stream) throws(NetworkViolation) {
    let range = stream.count..<stream.count + bytes.count
    guard range.upperBound <= stream.plan.answerBytes,
      bytes.elementsEqual(RequestPlan.pattern(2 * stream.plan.id + 1, range))
    else { throw NetworkViolation("other bytes after \(stream.count)") }
    stream.count = range.upperBound
  }
}
