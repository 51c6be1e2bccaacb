// A connection of HTTP/2, by nghttp2.
//
//   client → receive → nghttp2 → callbacks → streams → handlers
//   handlers → responses → streams → nghttp2 → moveOutput → client
//
// nghttp2 owns the state of the protocol. It calls the functions in HTTP2Callbacks, which find their stream
// by the pointer that nghttp2 keeps for it. All of it runs on the loop of the connection.
//
// Requests are begun at the end of a turn of the loop. Those that the client has reset by then, or has the
// server reset, cost no more than their frames.

#if Server
internal import ByteStore
internal import CNGHTTP2

/// The server's side of an HTTP/2 connection.
@safe
package final class HTTP2Session: ConnectionSession {
  private enum Constants {
    static let streamWindow: Int32 = 256 * 1024
    static let connectionWindow: Int32 = 1024 * 1024
    /// With more frames that wait, such as resets of streams beyond the limit, nothing is read.
    static let queuedFramesMax = 1000
    /// With more refused requests, the connection ends.
    static let refusedMax = 1000
  }

  let context: SessionContext
  private let session: OpaquePointer
  private var streams: [Int32: HTTP2Stream] = [:]
  /// Streams whose fields have arrived in this turn.
  private var arrivedStreams: [HTTP2Stream] = []
  /// Streams whose response was begun in this turn, and may get its end in it.
  private var begun: [HTTP2Stream] = []
  /// The last request that is answered in a drain. Nil before the drain.
  private var lastStream: Int32?
  private var isClosed = false
  /// Whether the session itself has ended the connection for a reason.
  private var isEnding = false
  /// A failure that a callback has found. `receive` throws it.
  private var failure: SessionError?

  private var lastReceived: UInt64
  private var pingSent: UInt64?
  private var floods: HTTP2Floods
  private var refusedCount = 0
  /// Whether the observer knows of a frame that breaks a rule.
  private var hasRefusedFrame = false
  /// The time at which a block of fields began that is not complete.
  private var fieldsBegan: UInt64?

  package init(_ context: SessionContext) throws(SessionError) {
    self.context = context
    lastReceived = context.clock.now()
    floods = HTTP2Floods(lastReceived)
    guard let session = unsafe HTTP2Callbacks.makeSession() else {
      throw SessionError(.malformed, "nghttp2 could not create a session")
    }
    unsafe self.session = session
    unsafe nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
    try submitSettings()
  }

  deinit { unsafe nghttp2_session_del(session) }

  private func submitSettings() throws(SessionError) {
    let settings = [
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue),
        value: UInt32(context.limits.streamsMax)),
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue),
        value: UInt32(Constants.streamWindow)),
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
        value: UInt32(context.limits.headerBytesMax)),
    ]
    let result =
      unsafe nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
      | nghttp2_session_set_local_window_size(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Constants.connectionWindow)
    guard result == 0 else { throw SessionError(.malformed, "nghttp2 refused the settings") }
  }

  // MARK: - ConnectionSession

  package func receive(_ bytes: UnsafeRawBufferPointer) throws(SessionError) {
    guard !isClosed, let base = bytes.baseAddress else { return }
    lastReceived = context.clock.now()
    let count = unsafe nghttp2_session_mem_recv(
      session, base.assumingMemoryBound(to: UInt8.self), bytes.count)
    pingSent = nil
    if let failure { throw failure }
    guard count >= 0 else {
      let floods = [NGHTTP2_ERR_FLOODED, NGHTTP2_ERR_TOO_MANY_CONTINUATIONS].map { Int($0.rawValue) }
      let reason = unsafe String(cString: nghttp2_strerror(Int32(count)))
      throw SessionError(floods.contains(count) ? .frameFlood : .malformed, reason)
    }
  }

  package func endTurn() {
    guard !arrivedStreams.isEmpty else { return }
    let streams = arrivedStreams
    arrivedStreams.removeAll(keepingCapacity: true)
    for stream in streams { stream.begin() }
  }

  package func receiveEnd() { close() }

  package func moveOutput(to buffer: inout [UInt8], bytesMax: Int) {
    guard !isClosed else { return }
    submitBegun()
    while buffer.count < bytesMax {
      var bytes: UnsafePointer<UInt8>?
      let count = unsafe nghttp2_session_mem_send(session, &bytes)
      guard count > 0, let bytes = unsafe bytes else { return }
      unsafe buffer.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
    }
  }

  package var hasOutput: Bool {
    unsafe !isClosed && (!begun.isEmpty || nghttp2_session_want_write(session) != 0)
  }

  package var wantsInput: Bool {
    unsafe nghttp2_session_get_outbound_queue_size(session) <= Constants.queuedFramesMax
  }

  package var isFinished: Bool {
    unsafe isClosed
      || nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
      || lastStream != nil && streams.isEmpty && !hasOutput
  }

  /// Whether bytes that arrive have no meaning any more.
  package var readsNoMore: Bool { unsafe nghttp2_session_want_read(session) == 0 }

  package var openRequests: Int { streams.count }

  package var lastRequest: UInt64 { context.lastRequest }

  package func drain() {
    guard lastStream == nil else { return }
    let last = unsafe nghttp2_session_get_last_proc_stream_id(session)
    _ = unsafe nghttp2_submit_goaway(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, NGHTTP2_NO_ERROR.rawValue, nil, 0)
    lastStream = last
    context.wake()
  }

  package func close() {
    guard !isClosed else { return }
    isClosed = true
    for id in streams.keys.sorted() {
      guard let stream = streams[id] else { continue }
      // nghttp2 keeps the stream, and may still ask for its body.
      unsafe nghttp2_session_set_stream_user_data(session, id, nil)
      stream.lose()
    }
    streams = [:]
    begun = []
  }

  package func tick(now: UInt64) throws(SessionError) {
    if let fieldsBegan, hasPassed(context.limits.headerSeconds, since: fieldsBegan, at: now) {
      throw end(.headerTimeout, "the fields of a request did not arrive", code: NGHTTP2_ENHANCE_YOUR_CALM)
    }
    if let pingSent {
      if hasPassed(context.limits.pingAnswerSeconds, since: pingSent, at: now) {
        throw SessionError(.pingTimeout, "no answer to a ping")
      }
    } else if hasPassed(context.limits.pingSeconds, since: lastReceived, at: now) {
      pingSent = now
      _ = unsafe nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
      context.wake()
    }
    for id in streams.keys.sorted() {
      guard let stream = streams[id] else { continue }
      if stream.isUnread(now: now) {
        refuse(stream, .unread, detail: "the client does not read")
      } else if stream.isSlow(now: now) {
        refuse(stream, .bodyRate, detail: "the body arrives too slowly")
      }
    }
  }

  private func hasPassed(_ seconds: Int, since start: UInt64, at now: UInt64) -> Bool {
    now > start && now - start > UInt64(seconds) * 1_000_000_000
  }

  /// Ends the connection after the client was told why.
  private func end(
    _ refusal: Refusal, _ detail: String, code: nghttp2_error_code
  ) -> SessionError {
    isEnding = true
    _ = unsafe nghttp2_session_terminate_session(session, code.rawValue)
    return SessionError(refusal, detail)
  }

  // MARK: - Events of nghttp2

  func fieldsBegin(_ id: Int32) {
    // While the end of the requests waits to be sent, nghttp2 still takes requests. The client is going to
    // read that they were not begun, and may send them again elsewhere.
    if let lastStream, id > lastStream {
      _ = unsafe nghttp2_submit_rst_stream(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, NGHTTP2_REFUSED_STREAM.rawValue)
      return
    }
    let stream = HTTP2Stream(id, self)
    streams[id] = stream
    fieldsBegan = context.clock.now()
    unsafe nghttp2_session_set_stream_user_data(session, id, Unmanaged.passUnretained(stream).toOpaque())
  }

  func fieldsEnd() { fieldsBegan = nil }

  /// Fields begin that are the trailers of a request.
  func trailersBegin() { fieldsBegan = context.clock.now() }

  func arrived(_ stream: HTTP2Stream) { arrivedStreams.append(stream) }

  /// The handler begins the request of a stream.
  func begin(_ stream: HTTP2Stream, _ request: HTTPRequest) -> (any HTTPBodyReceiver, ResponseQueue) {
    let queue = ResponseQueue(on: context.pool, of: context.connection.number)
    context.lastRequest = context.clock.now()
    let receiver = context.handler.begin(
      request, HTTPResponse(context.loop, stream, queue: queue, budget: context.budget))
    return (receiver, queue)
  }

  func streamClosed(_ id: Int32) {
    fieldsBegan = nil
    guard let stream = streams.removeValue(forKey: id) else { return }
    stream.lose()
  }

  /// nghttp2 has refused a frame, and resets its stream or ends the connection.
  func refusedFrame(isRequest: Bool) {
    fieldsBegan = nil
    hasRefusedFrame = true
    let isTooMany = isRequest && streams.count >= context.limits.streamsMax
    if isRequest { refusedCount += 1 }
    guard refusedCount <= Constants.refusedMax else {
      return fail(.streams, "too many requests were refused")
    }
    context.observer.refused(
      isTooMany ? .streams : .malformed, context.connection,
      detail: isTooMany ? "too many open requests" : "a frame breaks a rule of HTTP/2")
    if !isTooMany { received { $0.reset($1) } }
  }

  /// Counts a frame of the client, and ends the connection if there are too many.
  func received(_ count: (inout HTTP2Floods, _ now: UInt64) -> Refusal?) {
    guard let refusal = count(&floods, context.clock.now()) else { return }
    fail(refusal, "too many frames that lead to nothing")
  }

  /// Counts an answer to a ping, which the server has sent or has not.
  func clientAnsweredPing() {
    if pingSent == nil { received { $0.frameWithoutEffect($1) } }
    pingSent = nil
  }

  private func fail(_ refusal: Refusal, _ detail: String) {
    guard failure == nil else { return }
    failure = end(refusal, detail, code: NGHTTP2_ENHANCE_YOUR_CALM)
  }

  func sentAnswer() { floods.answered() }

  /// The connection ends. nghttp2 does so by itself for frames of which it does not tell otherwise.
  func sentGoAway(_ code: UInt32) {
    guard code != NGHTTP2_NO_ERROR.rawValue, failure == nil, !hasRefusedFrame, !isEnding else { return }
    hasRefusedFrame = true
    context.observer.refused(
      code == NGHTTP2_ENHANCE_YOUR_CALM.rawValue ? .frameFlood : .malformed, context.connection,
      detail: "nghttp2 has ended the connection with the error \(code)")
  }

  // MARK: - Responses

  func responseBegan(_ stream: HTTP2Stream) {
    begun.append(stream)
    context.wake()
  }

  /// Submits the responses that were begun, with as much of them as there is.
  private func submitBegun() {
    guard !begun.isEmpty else { return }
    let streams = begun
    begun.removeAll(keepingCapacity: true)
    for stream in streams { stream.submit() }
  }

  /// Submits the status and the fields. Without a body, they end the stream.
  func submit(_ stream: HTTP2Stream, _ status: Int, fields: HTTPFields, hasBody: Bool) {
    var provider = unsafe HTTP2Callbacks.dataProvider
    unsafe withNameValues(status, fields) { values, count in
      _ =
        unsafe hasBody
        ? nghttp2_submit_response(session, stream.id, values, count, &provider)
        : nghttp2_submit_response(session, stream.id, values, count, nil)
    }
  }

  func submitTrailers(_ stream: HTTP2Stream, _ fields: HTTPFields) {
    unsafe withNameValues(nil, fields) { values, count in
      _ = unsafe nghttp2_submit_trailer(session, stream.id, values, count)
    }
  }

  /// Has nghttp2 ask for more of the body.
  func resume(_ stream: HTTP2Stream) {
    guard !isClosed else { return }
    _ = unsafe nghttp2_session_resume_data(session, stream.id)
    context.wake()
  }

  func reset(_ stream: HTTP2Stream, _ code: nghttp2_error_code) {
    guard !isClosed else { return }
    _ = unsafe nghttp2_submit_rst_stream(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.id, code.rawValue)
    context.wake()
  }

  func refuse(_ stream: HTTP2Stream, _ refusal: Refusal, detail: String) {
    context.observer.refused(refusal, context.connection, detail: detail)
    reset(stream, NGHTTP2_ENHANCE_YOUR_CALM)
  }

  private func withNameValues(
    _ status: Int?, _ fields: HTTPFields, _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Void
  ) {
    let statusField: [UInt8] = Array(":status".utf8) + (status.map { Array(String($0).utf8) } ?? [])
    let nameCount = 7
    unsafe statusField.withUnsafeBufferPointer { statusBytes in
      unsafe fields.withUnsafeBytes { bytes, ranges in
        unsafe withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: fields.count + 1) { values in
          var count = 0
          func add(_ base: UnsafeBufferPointer<UInt8>, _ name: Range<Int>, value: Range<Int>) {
            let start = unsafe UnsafeMutablePointer(mutating: base.baseAddress)
            unsafe values.initializeElement(
              at: count,
              to: nghttp2_nv(
                name: start.map { unsafe $0 + name.lowerBound },
                value: start.map { unsafe $0 + value.lowerBound },
                namelen: name.count, valuelen: value.count, flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
            count += 1
          }
          if status != nil { unsafe add(statusBytes, 0..<nameCount, value: nameCount..<statusBytes.count) }
          for position in 0..<fields.count {
            let (name, value) = ranges(position)
            unsafe add(bytes, name, value: value)
          }
          unsafe body(values.baseAddress, count)
        }
      }
    }
  }
}
#endif
