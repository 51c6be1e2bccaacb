// One request of an HTTP/2 connection and its response.

#if Server
internal import CNGHTTP2

/// A stream. The session holds it until nghttp2 has closed it.
final class HTTP2Stream: ResponseSink {
  /// A part of a body for nghttp2.
  enum BodyPart {
    case bytes(Int)
    case wait
    /// The last bytes.
    case end(Int, hasTrailers: Bool)
  }

  private enum Answer {
    case none
    /// The status and the fields, which wait for the first bytes or the end.
    case begun(Int, HTTPFields)
    case submitted
  }

  private enum Request {
    /// The fields are arriving.
    case fields
    /// The handler will begin the request at the end of the turn.
    case arrived
    /// The handler has begun the request, or never will.
    case begun
  }

  private static let originBytesMax = 1024

  let id: Int32
  /// Nil after the stream was closed, which ends the cycle of references.
  private var session: HTTP2Session?

  // The request.
  private var method = ""
  private var target = ""
  private var authority = ""
  private var fields = HTTPFields()
  private var isRefused = false
  private var request = Request.fields
  /// Bytes of the body that were read in the turn of the fields.
  private var early: [UInt8] = []
  private var receiver: (any HTTPBodyReceiver)?
  private var queue: ResponseQueue?
  private var isRequestComplete = false

  // The response.
  private var answer = Answer.none
  private var body: [UInt8] = []
  private var bodyStart = 0
  private var trailers: HTTPFields?
  private var unsentShare: HeldMemoryShare?
  private var isPaused = false
  private var reading = RateWindow()
  private var writing = RateWindow()
  private var isOver = false
  /// Whether the stream was reset because of the bytes of its answer.
  private var isDropped = false

  init(_ id: Int32, _ session: HTTP2Session) {
    self.id = id
    self.session = session
    fields.reserveUsual()
  }

  // MARK: - The request

  func receive(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
    guard let limits = session?.context.limits, case .fields = request else { return }
    guard !isRefused, fields.byteCount + name.count + value.count <= limits.headerBytesMax,
      fields.count < limits.headerFieldsMax
    else {
      isRefused = true
      // A page learns why only if the answer names its origin.
      if unsafe name.elementsEqual("origin".utf8), value.count <= Self.originBytesMax,
        fields.bytes(of: "origin") == nil
      {
        unsafe fields.append(name: name, value: value)
      }
      return
    }
    guard unsafe name.first == UInt8(ascii: ":") else {
      unsafe fields.append(name: name, value: value)
      return
    }
    let text = unsafe String(decoding: value, as: UTF8.self)
    switch name.count {
    case 7: if unsafe name[1] == UInt8(ascii: "m") { method = text }
    case 5: target = text
    case 10: authority = text
    default: break
    }
  }

  /// Called when all fields of the request have arrived.
  func fieldsEnded() {
    request = .arrived
    session?.arrived(self)
  }

  /// nghttp2 has refused a frame of the stream, and resets it. The request is not begun if it was not before.
  func frameWasRefused() {
    guard case .arrived = request else { return }
    request = .begun
    isOver = true
  }

  /// Begins the request with what has arrived of it.
  func begin() {
    guard case .arrived = request, let session else { return }
    request = .begun
    beginFields(session)
    let early = early
    self.early = []
    unsafe early.withUnsafeBufferPointer { unsafe receive($0) }
    if isRequestComplete { receiver?.finish() }
  }

  private func beginFields(_ session: HTTP2Session) {
    guard !isRefused else {
      session.context.observer.refused(
        .headerSize, session.context.connection, detail: "the fields are too large")
      return refuse(431, session.context.handler.refusalFields(makeRequest(session)))
    }
    guard !target.isEmpty else { return refuse(501) }
    let request = makeRequest(session)
    fields = HTTPFields()
    let (receiver, queue) = session.begin(self, request)
    self.queue = queue
    if !isOver { self.receiver = receiver }
  }

  private func makeRequest(_ session: HTTP2Session) -> HTTPRequest {
    HTTPRequest(
      method: method, target: target, authority: authority.isEmpty ? fields["host"] ?? "" : authority,
      fields: fields, connection: session.context.connection)
  }

  private func refuse(_ status: Int, _ fields: HTTPFields = HTTPFields()) {
    begin(status, fields)
    end(HTTPFields())
  }

  func receive(_ bytes: UnsafeBufferPointer<UInt8>) {
    if case .arrived = request { return unsafe early.append(contentsOf: bytes) }
    guard let receiver, !bytes.isEmpty else { return }
    writing.add(bytes.count)
    unsafe receiver.receive(ArraySlice(bytes))
  }

  func finish() {
    isRequestComplete = true
    if case .begun = request { receiver?.finish() }
  }

  /// The stream is closed, or the connection is lost.
  func lose() {
    session = nil
    queue?.close()
    queue = nil
    body = []
    early = []
    unsentShare = nil
    let receiver = receiver
    self.receiver = nil
    if !isOver {
      isOver = true
      receiver?.cancel()
    }
  }

  // MARK: - The response

  /// Charges the bytes that wait to the budget of the connection. A short answer has no share.
  private func share(_ byteCount: Int, of session: HTTP2Session) -> Bool {
    guard unsentShare != nil || byteCount >= HeldMemoryShare.stepBytes else { return true }
    let share = unsentShare ?? HeldMemoryShare(of: session.context.budget)
    unsentShare = share
    return share.resize(to: byteCount)
  }

  func begin(_ status: Int, _ fields: HTTPFields) {
    guard case .none = answer, let session else { return }
    answer = .begun(status, fields)
    session.responseBegan(self)
  }

  func send(_ bytes: [UInt8]) {
    guard let session, trailers == nil, !isOver, !isDropped else { return }
    let waiting = body.count - bodyStart
    guard waiting + bytes.count <= session.context.limits.unsentBytesMax || waiting == 0 else {
      return drop(.unread, session, detail: "the client reads too slowly")
    }
    guard share(waiting + bytes.count, of: session) else { return refuseHeldBytes(session) }
    if waiting == 0 {
      reading.restart()
      body = bytes
      bodyStart = 0
    } else {
      body.append(contentsOf: bytes)
    }
    // Arrays that grow reserve memory.
    guard share(body.capacity, of: session) else { return refuseHeldBytes(session) }
    if body.count - bodyStart > session.context.limits.pauseBytes, !isPaused {
      isPaused = true
      queue?.setPaused(true)
    }
    if case .submitted = answer { session.resume(self) }
  }

  private func refuseHeldBytes(_ session: HTTP2Session) {
    drop(.heldBytes, session, detail: "too many answers wait for their clients")
  }

  /// Refuses to keep more of the answer, and drops what waits. The handler hears of it when the stream
  /// closes.
  private func drop(_ refusal: Refusal, _ session: HTTP2Session, detail: String) {
    isDropped = true
    body = []
    bodyStart = 0
    unsentShare = nil
    queue?.close()
    session.refuse(self, refusal, detail: detail)
  }

  func end(_ trailers: HTTPFields) {
    guard let session, self.trailers == nil, !isOver else { return }
    self.trailers = trailers
    if case .submitted = answer { session.resume(self) }
  }

  func refused(_ refusal: Refusal, detail: String) {
    guard let context = session?.context else { return }
    context.observer.refused(refusal, context.connection, detail: detail)
  }

  func abort() {
    guard let session, !isOver else { return }
    isOver = true
    receiver = nil
    session.reset(self, NGHTTP2_INTERNAL_ERROR)
  }

  /// Submits the response that was begun. A response that has ended without a body is one frame.
  func submit() {
    guard case .begun(let status, var fields) = answer, let session else { return }
    answer = .submitted
    guard let trailers, bodyStart == body.count else {
      return session.submit(self, status, fields: fields, hasBody: true)
    }
    fields.append(trailers)
    session.submit(self, status, fields: fields, hasBody: false)
  }

  func moveBody(to target: UnsafeMutableRawBufferPointer) -> BodyPart {
    let count = min(target.count, body.count - bodyStart)
    if count > 0, let session {
      unsafe body.withUnsafeBytes {
        unsafe target.copyMemory(from: .init(rebasing: $0[bodyStart..<bodyStart + count]))
      }
      bodyStart += count
      reading.add(count)
      if bodyStart == body.count {
        body = []
        bodyStart = 0
      }
      _ = share(body.capacity, of: session)
    }
    if isPaused, let session, body.count - bodyStart <= session.context.limits.pauseBytes / 2 {
      isPaused = false
      queue?.setPaused(false)
    }
    guard bodyStart == body.count, let trailers else { return count > 0 ? .bytes(count) : .wait }
    if !trailers.isEmpty { session?.submitTrailers(self, trailers) }
    return .end(count, hasTrailers: !trailers.isEmpty)
  }

  /// Called when the last frame of the response has been sent. A client that is still sending its request
  /// shall stop.
  func endWasSent() {
    isOver = true
    receiver = nil
    queue?.close()
    if !isRequestComplete { session?.reset(self, NGHTTP2_NO_ERROR) }
  }

  /// Whether the client reads so slowly that the response has to be dropped.
  func isUnread(now: UInt64) -> Bool {
    guard let limits = session?.context.limits, body.count > bodyStart else {
      reading.restart()
      return false
    }
    return reading.isTooSlow(limits.bodyBytesPerSecondMin, over: limits.unreadSeconds, at: now)
  }

  /// Whether a part of the request arrives so slowly that the request has to be dropped.
  func isSlow(now: UInt64) -> Bool {
    guard let limits = session?.context.limits, !isRequestComplete, let receiver, receiver.isWithinMessage
    else {
      writing.restart()
      return false
    }
    return writing.isTooSlow(limits.bodyBytesPerSecondMin, over: HTTPLimits.bodyRateSeconds, at: now)
  }
}
#endif
