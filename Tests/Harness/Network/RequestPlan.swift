// A request of a simulated client, and how the simulated application answers it.

struct RequestPlan {
  enum Answer: CaseIterable {
    /// In the call of `begin`, before the body has arrived.
    case atBegin
    case atFinish
    /// From the pool, in pieces, each of which waits until the client keeps up.
    case onPool
    /// From the pool, from the beginning of the request on.
    case onPoolAtOnce
    /// From the loop, when a timer fires.
    case afterTime
    case never
    case abort
  }

  var id: Int
  var answer: Answer
  var answerBytes: Int
  var pieceBytes: Int
  var bodyBytes: Int
  /// Whether it is a call of gRPC, whose answer has a message for each piece.
  var isCall = false
  /// The time before the answer.
  var delay: UInt64 = 0

  var path: String { "/plan/\(id)" }

  /// The bytes that the client sends, and those that it must get.
  var body: [UInt8] { Self.pattern(2 * id, 0..<bodyBytes) }
  var expected: [UInt8] { Self.pattern(2 * id + 1, 0..<answerBytes) }

  func piece(from start: Int) -> [UInt8] {
    Self.pattern(2 * id + 1, start..<min(answerBytes, start + pieceBytes))
  }

  /// Bytes that differ between ids, and between places.
  static func pattern(_ id: Int, _ range: Range<Int>) -> [UInt8] {
    range.map { UInt8(truncatingIfNeeded: id &* 89 &+ $0 &* 7 &+ ($0 >> 8) &* 13) }
  }

  static func id(of path: String) -> Int? {
    path.hasPrefix("/plan/") ? Int(path.dropFirst(6)) : nil
  }
}
