// The events of a parser for bytes that arrive in pieces.

import ByteStore

@testable import HTTPTransport

/// The events of a parser, and its refusal.
struct ParsedBytes: Equatable {
  enum Event: Equatable {
    case head(HTTP1Head)
    case body([UInt8])
    case end
  }

  /// The events. Bytes of a body that came in pieces are joined.
  private(set) var events: [Event] = []
  private(set) var refusal: HTTP1Refusal?

  /// Parses bytes that arrive in pieces, which end at these places.
  init(_ bytes: some Collection<UInt8>, _ limits: HTTPLimits = HTTPLimits(), splitAt places: [Int] = []) {
    var parser = HTTP1Parser(limits)
    let bytes = Array(bytes)
    var start = 0
    do throws(HTTP1Refusal) {
      for end in places + [bytes.count] {
        try parse(Array(bytes[start..<end]), &parser)
        start = end
      }
    } catch {
      refusal = error
    }
  }

  private mutating func parse(_ piece: [UInt8], _ parser: inout HTTP1Parser) throws(HTTP1Refusal) {
    var position = 0
    while let event = try parser.next(piece.rawSpan, at: &position) {
      switch event {
      case .head(let head): events.append(.head(head))
      case .body(let range):
        if case .body(let before)? = events.last {
          events[events.count - 1] = .body(before + piece[range])
        } else {
          events.append(.body(Array(piece[range])))
        }
      case .end: events.append(.end)
      }
    }
  }
}
