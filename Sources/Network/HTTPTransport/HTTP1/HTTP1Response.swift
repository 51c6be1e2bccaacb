// One request of a connection, and its response.
//
//   1. The status, the fields and the body are held until the output is taken. A response that is complete by
//      then has a length.
//   2. Otherwise the body is sent in chunks, or up to the end of the connection for HTTP/1.0.
//   3. The request has to be complete, too, before the next one begins.

/// A request in progress. The session holds it until both the request and its response are complete.
final class HTTP1Response: ResponseSink {
  private enum Phase {
    case waiting
    /// The status and the fields are held.
    case held(Int, HTTPFields)
    case sending(HTTP1ResponseHead.Framing)
    case ended
  }

  /// Nil after the end.
  private weak var session: HTTP1Session?
  private let isOld: Bool
  /// Whether the method lets the response have a body.
  let hasBody: Bool
  private(set) var keepsAlive: Bool
  private var phase = Phase.waiting
  private var heldBody: [[UInt8]] = []
  private(set) var heldByteCount = 0

  /// Whether the client knows that it can send the body.
  var isContinued: Bool
  /// Whether all bytes of the request have arrived.
  var isRequestComplete = false
  /// Nil after the end, and if the body is not wanted.
  var receiver: (any HTTPBodyReceiver)?

  init(_ head: HTTP1Head, _ session: HTTP1Session) {
    self.session = session
    isOld = head.isOld
    hasBody = head.method != "HEAD"
    keepsAlive = head.keepsAlive
    isContinued = !head.expectsContinue
  }

  var hasEnded: Bool { if case .ended = phase { true } else { false } }

  var isHeld: Bool { if case .held = phase { true } else { false } }

  /// Whether the client has seen nothing of the response.
  var isUnsent: Bool {
    switch phase {
    case .waiting, .held: true
    case .sending, .ended: false
    }
  }

  // MARK: From the handler

  func refused(_ refusal: Refusal, detail: String) { session?.refused(refusal, detail: detail) }

  func begin(_ status: Int, _ fields: HTTPFields) {
    guard case .waiting = phase, let session else { return }
    if fields["connection"]?.lowercased() == "close" { keepsAlive = false }
    // The body of another status would be taken for the next response.
    phase = .held((200...599).contains(status) ? status : 500, fields)
    session.responseChanged()
  }

  func send(_ bytes: [UInt8]) {
    guard let session, !bytes.isEmpty else { return }
    switch phase {
    case .held:
      guard hasBody else { return heldByteCount += bytes.count }
      guard session.admits(bytes.count) else { return }
      heldBody.append(bytes)
      heldByteCount += bytes.count
    case .sending(let framing):
      guard session.admits(bytes.count) else { return }
      append(bytes, framing, to: session)
    case .waiting, .ended: return
    }
    session.responseChanged()
  }

  func end(_ trailers: HTTPFields) {
    guard let session else { return }
    switch phase {
    case .waiting, .ended: return
    case .held(let status, let fields):
      sendHead(status, fields, isComplete: true, to: session)
    case .sending(let framing):
      if framing == .chunked, hasBody { session.append(HTTP1ResponseHead.lastChunk(trailers)) }
    }
    phase = .ended
    detach()
    session.responseEnded(self)
  }

  func abort() {
    guard let session, !hasEnded else { return }
    phase = .ended
    detach()
    session.responseAborted()
  }

  // MARK: From the session

  /// Sends what is held, because the output is taken before the end is known.
  func sendHeld() {
    guard case .held(let status, let fields) = phase, let session else { return }
    sendHead(status, fields, isComplete: false, to: session)
  }

  /// Ends the request before its response, and calls `cancel` of the handler.
  func cancel() {
    guard !hasEnded else { return }
    phase = .ended
    let receiver = receiver
    detach()
    receiver?.cancel()
  }

  private func detach() {
    session = nil
    receiver = nil
    heldBody = []
    heldByteCount = 0
  }

  // MARK: Bytes

  private func sendHead(_ status: Int, _ fields: HTTPFields, isComplete: Bool, to session: HTTP1Session) {
    let framing = framing(status, fields, isComplete: isComplete)
    // A client that waits for leave to send its body may never send it, so a next request could not be found.
    if framing == .connection || session.isDraining || !isContinued { keepsAlive = false }
    let persistence: HTTP1ResponseHead.Persistence = !keepsAlive ? .closes : isOld ? .stated : .implied
    session.append(HTTP1ResponseHead.bytes(status, fields, framing: framing, persistence: persistence))
    let body = heldBody
    heldBody = []
    heldByteCount = 0
    phase = .sending(framing)
    for bytes in body { append(bytes, framing, to: session) }
  }

  private func framing(_ status: Int, _ fields: HTTPFields, isComplete: Bool) -> HTTP1ResponseHead.Framing {
    if status == 204 || status == 304 { return .none }
    if isComplete {
      let stated = hasBody || heldByteCount > 0 ? nil : fields["content-length"].flatMap { Int($0) }
      return .length(stated ?? heldByteCount)
    }
    return isOld ? .connection : .chunked
  }

  private func append(_ bytes: [UInt8], _ framing: HTTP1ResponseHead.Framing, to session: HTTP1Session) {
    guard hasBody, framing != .none else { return }
    guard framing == .chunked else { return session.append(bytes) }
    session.append(Array("\(String(bytes.count, radix: 16))\r\n".utf8))
    session.append(bytes)
    session.append([ASCII.carriageReturn, ASCII.lineFeed])
  }
}
