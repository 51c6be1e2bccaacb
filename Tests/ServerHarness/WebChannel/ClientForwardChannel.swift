// The forward channel of a session: messages to the server.

#if Server
import Harness

/// Sends one request at a time. A request without an answer is sent again with its number, as one with the
/// same messages or with more.
final class ClientForwardChannel {
  private struct Request {
    var number: Int
    var offset: Int
    var messages: [[UInt8]]
    var attempts = 0
  }

  private let connection: ChannelConnection
  unowned var client: WebChannelClient!
  private var waiting: [[UInt8]] = []
  private var nextOffset = 0
  private var request: Request?
  private var isSent = false
  private var timer: PollLoop.Timer?
  private var isClosed = false
  private var status = 0
  /// The array that the request acknowledges.
  private var acknowledged = 0
  private var body: [UInt8] = []

  init(_ connection: ChannelConnection) { self.connection = connection }

  var isIdle: Bool { request == nil && waiting.isEmpty }

  func add(_ message: [UInt8]) { waiting.append(message) }

  func close() {
    isClosed = true
    timer?.cancel()
    connection.close()
  }

  /// Sends what waits, unless a request is on its way.
  func begin() {
    guard !isClosed, request == nil, !waiting.isEmpty else { return }
    request = Request(number: client.nextRID(), offset: nextOffset, messages: [])
    addWaiting()
    send()
  }

  private func addWaiting() {
    request?.messages += waiting
    nextOffset += waiting.count
    waiting = []
  }

  private func send() {
    guard !isClosed, var request else { return }
    request.attempts += 1
    self.request = request
    guard request.attempts <= client.options.attemptsMax else { return client.giveUp() }
    client.counts.forwardRequests += 1
    if request.attempts > 1 { client.counts.repeatedRequests += 1 }
    (status, body, isSent) = (0, [], true)
    // A server that is slow is not asked more and more often.
    let time = client.options.answerMilliseconds << min(request.attempts - 1, 6)
    timer = client.loop.after(milliseconds: time) { [weak self] in
      self?.connection.cancel()
      self?.retry()
    }
    connection.send("POST", target(of: request), body: form(of: request)) { [weak self] in self?.take($0) }
  }

  private func target(of request: Request) -> String {
    guard let session = client.session else {
      client.counts.opens += 1
      return client.target([
        ("RID", "\(request.number)"), ("CVER", "22"), ("X-HTTP-Session-Id", "gsessionid"),
      ])
    }
    acknowledged = client.acknowledgeableID
    return client.target([
      ("SID", session), ("RID", "\(request.number)"), ("AID", client.acknowledge(acknowledged)),
    ])
  }

  private func form(of request: Request) -> [UInt8] {
    var parts: [String] = []
    if client.session == nil {
      let list = client.options.headers.map { "\($0.name):\($0.value)\r\n" }.joined()
      parts.append("headers=\(FormText.encoded(list))")
    }
    parts += ["count=\(request.messages.count)", "ofs=\(request.offset)"]
    for (number, message) in request.messages.enumerated() {
      parts.append("req\(number)___data__=\(FormText.encoded(message))")
    }
    return Array(parts.joined(separator: "&").utf8)
  }

  private func take(_ event: ChannelConnection.Event) {
    guard !isClosed else { return }
    switch event {
    case .head(let status): self.status = status
    case .body(let piece): body += piece
    case .end: answer()
    case .lost: retry()
    case .malformed(let violation): client.fail(violation)
    }
  }

  private func answer() {
    timer?.cancel()
    isSent = false
    guard status == 200 else { return client.refuse(status: status, body: body) }
    do throws(Violation) {
      var reader = ChannelFrameReader()
      let frames = try reader.take(body)
      guard frames.count == 1, !reader.isWithinFrame else {
        throw Violation("the answer to a forward request has \(frames.count) frames")
      }
      request = nil
      guard client.session != nil else { return try client.opened(try ChannelArray.all(in: frames[0])) }
      let (hasBackChannel, lastID, _) = try ChannelArray.status(in: frames[0])
      try client.noteStatus(
        hasBackChannel: hasBackChannel, lastID: lastID, acknowledged: acknowledged)
      begin()
    } catch {
      client.fail(error)
    }
  }

  /// The answer is lost, or takes too long.
  private func retry() {
    guard !isClosed, isSent else { return }
    timer?.cancel()
    isSent = false
    client.loop.after(milliseconds: client.options.retryMilliseconds) { [weak self] in
      guard let self, !isClosed else { return }
      // A browser adds what came meanwhile to a request that it sends again.
      if client.session != nil, client.random.oneIn(2) { addWaiting() }
      send()
    }
  }
}
#endif
