// A session of WebChannel in the peer of a scenario.
//
//   - Messages have consecutive numbers from 0, and forward requests have consecutive numbers.
//   - Arrays have consecutive numbers from 1. They are kept until the client acknowledges them.
//   - Each answer of a back channel begins with a keep-alive and ends after a few arrays. The client then has
//     to ask for the next one.

/// The state of a session. Used on one thread.
final class PeerSession {
  private static let arraysPerAnswer = 3

  let method: String
  let id: String
  /// A text that the client has to have in later targets.
  let httpSession: String
  /// The header fields of the call.
  let fields: [String: String]
  /// Whether one of the two sides has ended the session.
  private(set) var isOver = false
  private var lastRequest: Int
  private var messageCount = 0
  /// The arrays that are not acknowledged.
  private var arrays: [(number: Int, content: String)] = []
  private var last = 0
  private var back: PeerExchange?
  /// The last array that the back channel has brought, and the one after which its answer ends.
  private var sent = 0
  private var end = 0

  init(_ request: PeerRequest, number: Int) throws(ScenarioFailure) {
    method = request.method
    id = "session-\(number)"
    httpSession = "proxy+\(number)"
    fields = request.fields
    lastRequest = try request.number("RID")
  }

  /// The answer to the request that opens the session.
  var greeting: String { Self.framed(#"[[0,["c","\#(id)","",8,12,30000]]]"#) }

  /// The length of a piece counts UTF-16 code units.
  private static func framed(_ text: String) -> String { "\(text.utf16.count)\n\(text)" }

  // MARK: Requests

  /// Takes the messages of a request.
  func messages(of request: PeerRequest) throws(ScenarioFailure) -> [[UInt8]] {
    let messages = try request.messages(from: messageCount)
    messageCount += messages.count
    return messages
  }

  /// Takes a request of the open session.
  func take(_ request: PeerRequest) throws(ScenarioFailure) {
    try request.require("gsessionid", httpSession)
    if request.kind != .back {
      lastRequest += 1
      try request.require("RID", "\(lastRequest)")
    }
    if request.kind != .termination { try acknowledge(try request.number("AID")) }
  }

  private func acknowledge(_ number: Int) throws(ScenarioFailure) {
    guard number >= (arrays.first?.number ?? last + 1) - 1, number <= last else {
      throw ScenarioFailure("array \(number) is acknowledged, and the last ones are \(arrays)")
    }
    arrays.removeAll { $0.number <= number }
  }

  /// The answer to a forward request: whether there is a back channel, the last array, and the bytes that
  /// are not acknowledged.
  var status: String {
    let bytes = arrays.reduce(0) { $0 + $1.content.utf8.count }
    return Self.framed("[\(back == nil ? 0 : 1),\(last),\(bytes)]")
  }

  // MARK: The back channel

  func hold(_ exchange: PeerExchange, after acknowledged: Int) throws(ScenarioFailure) {
    guard back?.isAwaited != true else { throw ScenarioFailure("a second back channel") }
    back = exchange
    sent = acknowledged
    end = acknowledged + Self.arraysPerAnswer
    exchange.begin()
    add(#""noop""#)
    flush()
  }

  /// Sends a value in JSON.
  func send(_ value: String) {
    add(value)
    flush()
  }

  private func add(_ value: String) {
    last += 1
    arrays.append((last, "[\(value)]"))
  }

  /// Ends the session with a last value.
  func end(_ value: String) {
    send(value)
    isOver = true
    back?.end()
    back = nil
  }

  /// The client has ended the session.
  func terminate() {
    isOver = true
    back?.end()
    back = nil
  }

  private func flush() {
    guard let back else { return }
    let next = arrays.filter { $0.number > sent }
    guard let last = next.last else { return }
    back.send(Self.framed("[\(next.map { "[\($0.number),\($0.content)]" }.joined(separator: ","))]"))
    sent = last.number
    guard sent >= end else { return }
    back.end()
    self.back = nil
  }
}
