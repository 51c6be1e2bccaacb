// Splits the bytes of a connection into requests.
//
//   1. A head is collected until its empty line, and parsed as a whole.
//   2. The bytes of the body are passed on where they are.
//   3. The end of a request comes before the head of the next one.
//
// The events do not depend on how the bytes are split.

internal import ByteStore

/// The parser of one connection. After an error it must not be used any more.
struct HTTP1Parser {
  enum Event: Equatable {
    case head(HTTP1Head)
    /// Bytes of the body, as their places in the input.
    case body(Range<Int>)
    /// The request is complete.
    case end
  }

  private enum Phase {
    case head
    case body(missing: Int)
    case chunks(HTTP1ChunkedDecoder)
  }

  private let limits: HTTPLimits
  private var phase = Phase.head
  /// The head as far as it has arrived.
  private var head: [UInt8] = []
  private var line = HTTP1Line()
  private var hasSkippedLine = false

  init(_ limits: HTTPLimits) { self.limits = limits }

  /// Whether a part of a head has arrived.
  var isInHead: Bool { !head.isEmpty }

  /// The next event; nil if more bytes are needed. Moves `position` behind the bytes of the event.
  mutating func next(_ bytes: RawSpan, at position: inout Int) throws(HTTP1Refusal) -> Event? {
    switch phase {
    case .head: return try nextHead(bytes, at: &position).map { .head($0) }
    case .body(let missing):
      guard missing > 0 else { return end() }
      let range = position..<position + min(missing, bytes.byteCount - position)
      guard !range.isEmpty else { return nil }
      position = range.upperBound
      phase = .body(missing: missing - range.count)
      return .body(range)
    case .chunks(var decoder):
      let part = try decoder.next(bytes, at: &position)
      phase = .chunks(decoder)
      switch part {
      case .bytes(let range): return .body(range)
      case .end: return end()
      case nil: return nil
      }
    }
  }

  private mutating func end() -> Event {
    phase = .head
    return .end
  }

  private mutating func nextHead(
    _ bytes: RawSpan, at position: inout Int
  ) throws(HTTP1Refusal) -> HTTP1Head? {
    let start = position
    while position < bytes.byteCount {
      let isLineEnd = try line.take(bytes.byte(at: position))
      position += 1
      guard head.count + position - start <= limits.headerBytesMax else {
        head.append(copying: bytes.extracting(start..<position))
        var refusal = HTTP1Refusal.headerTooLarge(limits.headerBytesMax)
        refusal.head = HTTP1HeadParser.readable(head, limits)
        throw refusal
      }
      guard isLineEnd else { continue }
      let isEmpty = line.length == 0
      line = HTTP1Line()
      guard isEmpty else { continue }
      head.append(copying: bytes.extracting(start..<position))
      return try parsedHead(bytes, at: &position)
    }
    head.append(copying: bytes.extracting(start..<position))
    return nil
  }

  /// Parses the head that has been collected. An empty line before the request line is ignored, because some
  /// clients send one after a body.
  private mutating func parsedHead(
    _ bytes: RawSpan, at position: inout Int
  ) throws(HTTP1Refusal) -> HTTP1Head? {
    let collected = head
    head = []
    guard collected.count > 2 else {
      guard !hasSkippedLine else { throw .malformed("The request begins with empty lines.") }
      hasSkippedLine = true
      return try nextHead(bytes, at: &position)
    }
    hasSkippedLine = false
    let parsed = try HTTP1HeadParser.parse(collected, limits)
    switch parsed.body {
    case .none: phase = .body(missing: 0)
    case .length(let length): phase = .body(missing: length)
    case .chunked: phase = .chunks(HTTP1ChunkedDecoder(limits))
    }
    return parsed
  }
}
