// A client of WebChannel that behaves as a browser does.
//
//   1. The first messages ride in the request that opens the session. Its answer has the session's id.
//   2. A back channel brings arrays with consecutive numbers. When it ends or is lost, another one begins,
//      from the last number that has arrived.
//   3. One forward request at a time carries messages. If its answer is lost, it is sent again with the same
//      number, and perhaps with messages that came meanwhile.
//   4. The session ends with an error, with `close`, or with a request of the client.

#if Server
import Harness

/// One session. Used on the loop.
package final class WebChannelClient {
  private enum State: Equatable { case opening, open, ended }

  private static let keptMax = 2000

  let loop: PollLoop
  let options: ChannelClientOptions
  private let port: Int
  private let forward: ClientForwardChannel
  private let back: ClientBackChannel
  private var state = State.opening
  var random: SeededRandom
  /// The id of the session, after the server has answered.
  package private(set) var session: String?
  package private(set) var end: ChannelClientEnd?
  package internal(set) var counts = ChannelCounts()
  /// The highest number of an array that a request has acknowledged.
  private(set) var acknowledgedID = -1
  /// The number of the last array.
  private(set) var lastID = -1
  /// The hashes of the last arrays. The server may send them again, until it knows that they have arrived.
  private var kept: [Int: Int] = [:]
  private var termination: ChannelConnection?
  private var terminations = 0
  private var nextRequest: Int
  /// Called with each message of the service.
  package var onMessage: (([UInt8]) -> Void)?
  package var onEnd: ((ChannelClientEnd) -> Void)?
  /// Called with a line for each array and each end.
  package var onEvent: ((String) -> Void)?
  /// Whether the server has confirmed the end of the session.
  package private(set) var isTerminationAnswered = false

  package init(_ options: ChannelClientOptions, port: Int, loop: PollLoop) {
    self.loop = loop
    self.port = port
    self.options = options
    random = SeededRandom(seed: options.seed)
    nextRequest = random.below(100_000)
    forward = ClientForwardChannel(ChannelConnection(loop, port: port))
    back = ClientBackChannel(ChannelConnection(loop, port: port))
    back.polls = options.polls
    (forward.client, back.client) = (self, self)
  }

  // MARK: The program's side

  /// Opens the session with these messages, each in JSON.
  package func open(_ messages: [[UInt8]]) {
    for message in messages { forward.add(message) }
    forward.begin()
  }

  package func send(_ message: [UInt8]) {
    guard state != .ended else { return }
    forward.add(message)
    if state == .open { forward.begin() }
  }

  /// Whether the server has answered all messages' requests.
  package var hasSentAll: Bool { forward.isIdle }

  /// Drops the back channel as a browser does that changes its network. The next one begins at once.
  package func dropBackChannel() { if state == .open { back.restart() } }

  /// Ends the session. The request is sent until it is answered.
  package func terminate() {
    stop(.terminated)
    guard session != nil, termination == nil else { return }
    termination = ChannelConnection(loop, port: port)
    sendTermination()
  }

  private func sendTermination() {
    let target = target(
      [("SID", session ?? ""), ("RID", "\(nextRID())"), ("TYPE", "terminate")])
    let method = random.oneIn(2) ? "GET" : "POST"
    var timer: PollLoop.Timer?
    let retry = { [weak self] in
      guard let self, !self.isTerminationAnswered else { return }
      termination?.cancel()
      loop.after(milliseconds: options.retryMilliseconds) { [weak self] in self?.sendTermination() }
    }
    terminations += 1
    timer = loop.after(milliseconds: options.answerMilliseconds << min(terminations - 1, 6), retry)
    termination?.send(method, target, body: method == "POST" ? [] : nil) { [weak self] event in
      switch event {
      case .end:
        timer?.cancel()
        self?.isTerminationAnswered = true
      case .lost, .malformed:
        timer?.cancel()
        retry()
      case .head, .body: break
      }
    }
  }

  /// Releases the connections, as a page does that is closed.
  package func abandon() {
    stop(.terminated)
    termination?.close()
  }

  // MARK: Requests

  func nextRID() -> Int {
    nextRequest += 1
    return nextRequest
  }

  /// The target of a request with these parameters.
  func target(_ parameters: [(String, String)]) -> String {
    var all = [("VER", "8"), ("database", options.database)] + parameters
    all.append(("zx", String(random.next() >> 20, radix: 36)))
    all.append(("t", "1"))
    let query = all.map { "\($0)=\(FormText.encoded($1))" }.joined(separator: "&")
    return "/google.firestore.v1.Firestore/\(options.method)/channel?\(query)"
  }

  /// The number of the last array that a forward request can acknowledge.
  var acknowledgeableID: Int { back.repeatedFrom ?? lastID }

  /// The value of AID of a request, which acknowledges all arrays up to it.
  func acknowledge(_ id: Int) -> String {
    acknowledgedID = max(acknowledgedID, id)
    return "\(id)"
  }

  // MARK: Arrays

  /// The answer to the first request.
  func opened(_ arrays: [ChannelArray]) throws(Violation) {
    guard arrays.count == 1, arrays[0].id == 0, case .session(let id) = arrays[0].content else {
      throw Violation("the answer to the first request is \(arrays)")
    }
    session = id
    lastID = 0
    state = .open
    back.begin()
    forward.begin()
  }

  /// Takes an array of a back channel. Arrays that have been here before are skipped.
  func take(_ array: ChannelArray) throws(Violation) {
    guard array.id > lastID else {
      guard kept[array.id] == array.hashValue else {
        throw Violation("array \(array.id) comes again with another content")
      }
      counts.repeatedArrays += 1
      return
    }
    guard array.id == lastID + 1 else { throw Violation("array \(array.id) follows \(lastID)") }
    lastID = array.id
    kept[array.id] = array.hashValue
    kept[array.id - Self.keptMax] = nil
    counts.arrays += 1
    onEvent?(
      "\(options.method) \(session ?? "") has array \(array.id)\(array.content == .noop ? ", noop" : "")")
    switch array.content {
    case .session: throw Violation("a second array has a session")
    case .noop: counts.noops += 1
    case .message(let message): onMessage?(message)
    case .close, .stop: finish(.closed)
    case .error(let error): finish(.error(status: error.status, message: error.message))
    }
  }

  var isOpen: Bool { state == .open }
  var isOver: Bool { state == .ended }
  var hasBackChannel: Bool { back.isBusy }

  /// The server says what it has sent when it answered a request that acknowledged an array.
  func noteStatus(hasBackChannel: Bool, lastID: Int, acknowledged: Int) throws(Violation) {
    guard lastID >= acknowledged else {
      throw Violation("the server has sent \(lastID) arrays, and \(acknowledged) were acknowledged")
    }
    if !hasBackChannel { back.noteMissing() }
    if lastID > self.lastID { back.noteUnread(lastID) }
  }

  // MARK: Ends

  /// The server ends the session. A browser then ends it, too.
  private func finish(_ end: ChannelClientEnd) {
    stop(end)
    terminate()
  }

  func fail(_ violation: Violation) { stop(.violation(violation.description)) }
  func refuse(status: Int, body: [UInt8]) {
    stop(.refused(status: status, body: String(decoding: body.prefix(300), as: UTF8.self)))
  }
  func giveUp() { stop(.unreachable) }

  private func stop(_ end: ChannelClientEnd) {
    guard state != .ended else { return }
    state = .ended
    self.end = end
    onEvent?("\(options.method) \(session ?? ""): \(end)")
    forward.close()
    back.close()
    let handler = onEnd
    (onMessage, onEnd) = (nil, nil)
    handler?(end)
  }
}
#endif
