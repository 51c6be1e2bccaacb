// A connection of HTTP/1.1.
//
//   1. Bytes are parsed as long as a request takes them. What follows a complete request waits for the end of
//      its response, and for the client to read the responses before.
//   2. A request that breaks a rule or a limit is answered, and the connection ends.

internal import ByteStore

/// The protocol of one connection. Answers requests one after the other.
package final class HTTP1Session: ConnectionSession, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: a session is only used on its loop.

  /// The session wants no more bytes while as many wait behind a request.
  private static let readAheadBytes = 64 * 1024
  /// The requests that are begun in one turn of the loop, so that other connections have theirs.
  private static let requestsPerTurnMax = 32
  /// The maximum of bytes that wait. A connection that heeds `wantsInput` stays below.
  private static let waitingBytesMax = 256 * 1024

  private let context: SessionContext
  private var parser: HTTP1Parser
  private var current: HTTP1Response?
  private var queue: ResponseQueue?
  /// The bytes that wait on either side.
  private let share: HeldMemoryShare
  private var isPaused = false

  /// Bytes that no request takes yet, from `waitingStart` on.
  private var waiting: [UInt8] = []
  private var waitingStart = 0
  private var output = HTTP1Output()

  private var begunInTurn = 0
  private var isParsing = false
  private var isReceiving = false
  /// Whether the response that is open is the last one.
  private(set) var isDraining = false
  private var hasInputEnded = false
  package private(set) var isFinished = false
  /// The reason of the end, until it is thrown.
  private var failure: SessionError?

  private var times = HTTP1Times()

  package init(_ context: SessionContext) {
    self.context = context
    parser = HTTP1Parser(context.limits)
    share = HeldMemoryShare(of: context.budget)
  }

  // MARK: Input

  package func receive(_ bytes: UnsafeRawBufferPointer) throws(SessionError) {
    guard !isFinished else { return }
    isReceiving = true
    unsafe take(RawSpan(_unsafeBytes: bytes))
    isReceiving = false
    if let failure = failure.take() { throw failure }
  }

  package func receiveEnd() {
    hasInputEnded = true
    finishIfInputEnded()
  }

  package var wantsInput: Bool { !isFinished && waiting.count - waitingStart < Self.readAheadBytes }

  private var takesBody: Bool { current?.isRequestComplete == false }

  private var takesHead: Bool {
    current == nil && !isDraining && begunInTurn < Self.requestsPerTurnMax
      && unsentByteCount < context.limits.pauseBytes
  }

  private func take(_ bytes: RawSpan) {
    var position = 0
    if waiting.isEmpty { parse(bytes, from: &position) }
    guard !isFinished, position < bytes.byteCount else { return }
    guard waiting.count - waitingStart + bytes.byteCount - position <= Self.waitingBytesMax else {
      return fail(.malformed("The client sends more requests than it waits for."))
    }
    waiting.append(copying: bytes.extracting(position..<bytes.byteCount))
    guard share.resize(to: heldByteCount) else {
      return end(SessionError(.heldBytes, "too many requests wait"))
    }
    parseWaiting()
  }

  /// Parses bytes that wait, as far as requests take them.
  private func parseWaiting() {
    guard !isParsing, !waiting.isEmpty else { return finishIfInputEnded() }
    let bytes = waiting
    var position = waitingStart
    parse(bytes.rawSpan, from: &position)
    guard !isFinished else { return }
    waitingStart = position
    if waitingStart == waiting.count {
      waiting = []
      waitingStart = 0
    } else if waitingStart > Self.waitingBytesMax / 2 {
      waiting.removeFirst(waitingStart)
      waitingStart = 0
    }
    finishIfInputEnded()
    context.wake()
  }

  private func parse(_ bytes: RawSpan, from position: inout Int) {
    isParsing = true
    defer {
      isParsing = false
      times.noteHead(isIncomplete: parser.isInHead, context.clock)
    }
    do throws(HTTP1Refusal) {
      while !isFinished, takesHead || takesBody, let event = try parser.next(bytes, at: &position) {
        switch event {
        case .head(let head): begin(head)
        case .body(let range): receiveBody(bytes.extracting(range))
        case .end: finishRequest()
        }
      }
    } catch {
      fail(error)
    }
  }

  // MARK: Requests

  private func begin(_ head: HTTP1Head) {
    times.beginRequest()
    begunInTurn += 1
    let response = HTTP1Response(head, self)
    let queue = ResponseQueue(on: context.pool, of: context.connection.number)
    (current, self.queue) = (response, queue)
    let request = request(head)
    context.lastRequest = context.clock.now()
    let receiver = context.handler.begin(
      request, HTTPResponse(context.loop, response, queue: queue, budget: context.budget))
    guard !response.hasEnded else { return }
    response.receiver = receiver
    guard head.expectsContinue else { return }
    append(HTTP1ResponseHead.continuing)
    response.isContinued = true
  }

  private func request(_ head: HTTP1Head) -> HTTPRequest {
    HTTPRequest(
      method: head.method, target: head.target, authority: head.authority, fields: head.fields,
      connection: context.connection)
  }

  private func receiveBody(_ bytes: RawSpan) {
    times.bodyByteCount += bytes.byteCount
    current?.receiver?.receive([UInt8](copying: bytes)[...])
  }

  private func finishRequest() {
    guard let current else { return }
    current.isRequestComplete = true
    current.receiver?.finish()
    removeCurrentIfComplete()
  }

  private func removeCurrentIfComplete() {
    guard let response = current, response.hasEnded else { return }
    guard response.keepsAlive, !isDraining else { return finish() }
    if response.isRequestComplete { current = nil }
  }

  // MARK: Responses

  func refused(_ refusal: Refusal, detail: String) {
    context.observer.refused(refusal, context.connection, detail: detail)
  }

  func append(_ bytes: [UInt8]) { output.append(bytes) }

  /// Whether a response may have more bytes. If not, it is reset with its connection.
  func admits(_ byteCount: Int) -> Bool {
    let unsent = unsentByteCount
    let isTooMuch = unsent > 0 && unsent + byteCount > context.limits.unsentBytesMax
    guard isTooMuch || !share.resize(to: heldByteCount + byteCount) else { return true }
    output = HTTP1Output()
    end(
      isTooMuch
        ? SessionError(.unread, "the client reads too slowly")
        : SessionError(.heldBytes, "too many answers wait for their clients"))
    return false
  }

  func responseChanged() {
    if !isPaused, unsentByteCount > context.limits.pauseBytes {
      isPaused = true
      queue?.setPaused(true)
    }
    context.wake()
  }

  func responseEnded(_ response: HTTP1Response) {
    closeQueue()
    removeCurrentIfComplete()
    context.wake()
    if !isParsing { parseWaiting() }
  }

  /// The handler gives up a response. The client sees that it is incomplete.
  func responseAborted() {
    finish()
    context.wake()
  }

  private func closeQueue() {
    queue?.close()
    queue = nil
    isPaused = false
  }

  // MARK: Output

  private var heldByteCount: Int { unsentByteCount + waiting.count }

  private var unsentByteCount: Int { output.byteCount + (current?.heldByteCount ?? 0) }

  package var hasOutput: Bool { output.byteCount > 0 || current?.isHeld == true }

  package func moveOutput(to buffer: inout [UInt8], bytesMax: Int) {
    current?.sendHeld()
    output.move(to: &buffer, bytesMax: bytesMax)
    _ = share.resize(to: heldByteCount)
    begunInTurn = 0
    if isPaused, unsentByteCount <= context.limits.pauseBytes / 2 {
      isPaused = false
      queue?.setPaused(false)
    }
    // Requests that wait for room begin outside of this call, because the caller is using the output.
    if !waiting.isEmpty, takesHead { context.loop.execute { [weak self] in self?.parseWaiting() } }
  }

  // MARK: The end

  package var lastRequest: UInt64 { context.lastRequest }

  package var openRequests: Int { current.map { $0.hasEnded ? 0 : 1 } ?? 0 }

  package func drain() {
    isDraining = true
    if current == nil { finish() } else { removeCurrentIfComplete() }
  }

  package func close() {
    finish()
    output = HTTP1Output()
  }

  package func tick(now: UInt64) throws(SessionError) {
    guard !isFinished else { return }
    isReceiving = true
    if let refusal = times.exceeded(now, context.limits, isInBody: takesBody) { fail(refusal) }
    isReceiving = false
    if let failure = failure.take() { throw failure }
  }

  /// Answers a request that breaks a rule, and ends the connection.
  private func fail(_ refusal: HTTP1Refusal) {
    let isUnanswered = current?.isUnsent ?? true
    let hasBody = current?.hasBody ?? true
    end(SessionError(refusal.refusal, refusal.text))
    guard isUnanswered else { return }
    let body = Array((refusal.text + "\n").utf8)
    var fields = HTTPFields(["content-type": "text/plain; charset=utf-8"])
    if let head = refusal.head { fields.append(context.handler.refusalFields(request(head))) }
    append(
      HTTP1ResponseHead.bytes(
        refusal.status, fields, framing: .length(body.count), persistence: .closes))
    if hasBody { append(body) }
  }

  /// Ends the connection for a reason, which `receive` throws if it is running.
  private func end(_ error: SessionError) {
    finish()
    if isReceiving {
      failure = error
    } else {
      context.observer.refused(error.refusal, context.connection, detail: error.detail)
    }
    context.wake()
  }

  /// Ends the connection after the client has closed its side. A request that can no longer become complete
  /// is not answered. A complete one is, because clients may close their side before they read.
  private func finishIfInputEnded() {
    guard hasInputEnded, waiting.isEmpty, !isParsing, current == nil || takesBody else { return }
    finish()
    context.wake()
  }

  private func finish() {
    isFinished = true
    waiting = []
    waitingStart = 0
    let response = current
    current = nil
    closeQueue()
    response?.cancel()
  }
}
