// Fuzzes calls of gRPC.
//
//   input := kind:u8 rest                                   kind: call, message, text, timeout, by remainder
//   call  := length:u8 timeout:byte{length} body            length by remainder of 16
//
// The messages of a call and its status are those of a model, however its body is split. Messages and status
// texts survive a round trip.

import HTTPTransport

struct GRPCTarget: FuzzTarget {
  static let name = "grpc"

  private static let messageBytesMax = 1000
  /// Memory that a call may take for an input, and for each byte of it.
  private static let bytesMax = 64 * 1024
  private static let bytesPerByteMax = 256

  let seeds: [[UInt8]]
  private var random: SeededRandom

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    let body =
      CallPeer.frame([1, 2, 3]) + CallPeer.frame([]) + CallPeer.frame(Array(repeating: 7, count: 300))
    let timeouts = ["", "1S", "99999999H", "0n", "250m"].map { Array($0.utf8) }
    seeds =
      timeouts.map { [0, UInt8($0.count)] + $0 + body }
      + [[0, 0] + CallPeer.frame([1], flag: 1), [0, 0] + body.dropLast(), [0, 0, 0, 0, 0, 4, 0]]
      + timeouts.map { [3] + $0 } + ["", "50 % of \u{E9}\u{1F600}\r\n ", " x "].map { [2] + Array($0.utf8) }
      + [[1], [1, 2, 3], [2] + Array(String(repeating: "\u{E9}", count: 3000).utf8)]
  }

  mutating func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    guard let kind = input.first else { return "empty" }
    let rest = Array(input.dropFirst())
    switch kind % 4 {
    case 0: return try checkCall(rest)
    case 1: return try checkMessage(rest)
    case 2: return try Self.checkText(rest)
    default: return try Self.checkTimeout(rest)
    }
  }

  // MARK: Calls

  private mutating func checkCall(_ input: [UInt8]) throws(FuzzFinding) -> String {
    let length = Int(input.first ?? 0) % 16
    let timeout = Array(input.dropFirst().prefix(length))
    let body = Array(input.dropFirst(1 + length))
    var whole: CallRecord?
    let taken = AllocatedBytes.during { whole = CallRecord(timeout, body, cuts: []) }
    guard let whole, (taken ?? 0) <= Self.bytesMax + Self.bytesPerByteMax * input.count else {
      throw FuzzFinding("\(input.count) bytes took \(taken ?? 0) bytes of memory")
    }
    let cuts = random.oneIn(8) ? Array(0..<body.count) : cuts(of: body)
    guard CallRecord(timeout, body, cuts: cuts) == whole else {
      throw FuzzFinding("the cuts of the body change the call")
    }
    let expected = Self.model(timeout, body)
    guard whole.messages == expected.messages else {
      throw FuzzFinding("the messages are not those of the model")
    }
    guard whole.code == "\(expected.code)" else {
      throw FuzzFinding("the status is \(whole.code ?? "none"), and \(expected.code) in the model")
    }
    try whole.check()
    return "call: status \(Self.name(of: expected.code)), \(expected.messages.isEmpty ? "no " : "")messages"
  }

  private static func name(of code: Int) -> String {
    [0: "ok", 4: "deadline", 8: "limit", 12: "unimplemented", 13: "malformed"][code] ?? "another"
  }

  private mutating func cuts(of body: [UInt8]) -> [Int] {
    (0..<random.below(6)).map { _ in random.below(body.count + 1) }.sorted()
  }

  /// The messages and the status of a call whose handler ends it with its body.
  private static func model(_ timeout: [UInt8], _ body: [UInt8]) -> (messages: [[UInt8]], code: Int) {
    if !timeout.isEmpty {
      guard let (value, _) = parts(ofTimeout: timeout) else { return ([], 13) }
      guard value > 0 else { return ([], 4) }
    }
    var messages: [[UInt8]] = []
    var start = 0
    while start < body.count {
      guard body.count - start >= 5 else { return (messages, 13) }
      let length = body[start + 1..<start + 5].reduce(0) { $0 * 256 + Int($1) }
      guard body[start] != 1 else { return (messages, 12) }
      guard body[start] == 0 else { return (messages, 13) }
      guard length <= messageBytesMax else { return (messages, 8) }
      guard body.count - start - 5 >= length else { return (messages, 13) }
      messages.append(Array(body[start + 5..<start + 5 + length]))
      start += 5 + length
    }
    return (messages, 0)
  }

  /// The events of a call and of its answer.
  private struct CallRecord: Equatable {
    let events: [RecordedCalls.Event]
    let sent: [RecordedSink.Event]
    let code: String?

    init(_ timeout: [UInt8], _ body: [UInt8], cuts: [Int]) {
      let calls = RecordedCalls { event, answer in
        if case .message(let message) = event { answer.send(message) }
        if event == .finish { answer.end(.ok) }
      }
      var limits = HTTPLimits()
      limits.messageBytesMax = GRPCTarget.messageBytesMax
      let peer = CallPeer(calls, fields: CallPeer.fields(timeout: timeout), limits: limits)
      var start = 0
      for cut in cuts + [body.count] {
        peer.exchange.receive(body[start..<cut])
        start = cut
      }
      peer.exchange.finish()
      peer.exchange.cancel()
      peer.loop.run()
      (events, sent, code) = (calls.events, peer.sink.events, peer.sink.status.code)
    }

    var messages: [[UInt8]] {
      events.compactMap { event in if case .message(let message) = event { message } else { nil } }
    }

    /// Checks the order of the events, and that the answer has the messages of the call.
    func check() throws(FuzzFinding) {
      let ends = events.count { $0 == .finish || $0 == .cancel }
      guard ends == (events.isEmpty ? 0 : 1) else { throw FuzzFinding("a handler has \(ends) ends") }
      guard case .begin(200, _)? = sent.first, case .end? = sent.last else {
        throw FuzzFinding("an answer has no beginning or no end")
      }
      let inner = sent.dropFirst().dropLast()
      guard Array(inner) == messages.map({ .send(CallPeer.frame($0)) }) else {
        throw FuzzFinding("an answer has other messages")
      }
    }
  }

  // MARK: Round trips

  private mutating func checkMessage(_ message: [UInt8]) throws(FuzzFinding) -> String {
    var framed: [UInt8] = []
    GRPCFrame.forEachPiece(of: message) { framed += $0 }
    var decoder = GRPCFrameDecoder(messageBytesMax: message.count)
    var decoded: [[UInt8]] = []
    var start = 0
    do throws(GRPCStatus) {
      for cut in cuts(of: framed) + [framed.count] {
        var piece = framed[start..<cut]
        while let message = try decoder.next(&piece) { decoded.append(message) }
        start = cut
      }
      try decoder.finish()
    } catch {
      throw FuzzFinding("a message is refused: \(error.message)")
    }
    guard decoded == [message] else { throw FuzzFinding("a message changes on its way") }
    return "message"
  }

  private static func checkText(_ bytes: [UInt8]) throws(FuzzFinding) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    let encoded = GRPCStatusText.encoded(text)
    guard encoded.utf8.count <= GRPCStatusText.bytesMax else { throw FuzzFinding("a text is too long") }
    guard let decoded = StatusTextModel.decoded(encoded) else {
      throw FuzzFinding("a text cannot be decoded")
    }
    guard Array(text.utf8).starts(with: Array(decoded.utf8)) else {
      throw FuzzFinding("a text changes on its way")
    }
    let isCut = decoded.utf8.count < text.utf8.count
    guard !isCut || encoded.utf8.count > GRPCStatusText.bytesMax - 17 else {
      throw FuzzFinding("a text is cut early")
    }
    return isCut ? "cut text" : "text"
  }

  private static func checkTimeout(_ text: [UInt8]) throws(FuzzFinding) -> String {
    let nanoseconds = GRPCTimeout.nanoseconds(text)
    let expected = parts(ofTimeout: text).map { value, unit in
      let seconds: [UInt8: Double] = [0x48: 3600, 0x4D: 60, 0x53: 1, 0x6D: 1e-3, 0x75: 1e-6, 0x6E: 1e-9]
      return min(Double(value) * seconds[unit]! * 1e9, Double(Int64.max))
    }
    switch (nanoseconds, expected) {
    case (nil, nil): return "malformed timeout"
    case (let nanoseconds?, let expected?):
      guard abs(Double(nanoseconds) - expected) <= expected * 1e-12 else {
        throw FuzzFinding("a timeout has \(nanoseconds) nanoseconds, and \(expected) in the model")
      }
      return "timeout"
    default: throw FuzzFinding("a timeout is malformed on one side")
    }
  }

  /// The number and the unit of a timeout.
  private static func parts(ofTimeout text: [UInt8]) -> (UInt64, unit: UInt8)? {
    guard let unit = text.last, Array("HMSmun".utf8).contains(unit) else { return nil }
    let digits = text.dropLast()
    guard (1...8).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    return UInt64(String(decoding: digits, as: UTF8.self)).map { ($0, unit) }
  }
}
