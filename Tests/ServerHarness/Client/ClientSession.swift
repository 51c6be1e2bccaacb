// HTTP/2 without its socket, by nghttp2, on the thread of a client.

#if Server
import CNGHTTP2
import Foundation

/// Used on the thread of the client alone, except for `counters`.
final class ClientSession: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: `counters` is never replaced, and all else is used on one thread.
  private static let windowBytes: Int32 = 1 << 20

  let counters = ClientCounters()
  private var session: OpaquePointer?
  private var calls: [Int32: ClientCall] = [:]
  /// The calls with a deadline, in the order of their deadlines, because all of them have the same time.
  private var deadlines: [(id: Int32, time: ContinuousClock.Instant)] = []
  private var deadlinesStart = 0
  private var isGoingAway = false
  private let fields: [(name: String, value: String)]

  init(_ fields: [(name: String, value: String)]) throws {
    self.fields = fields
    var callbacks: OpaquePointer?
    nghttp2_session_callbacks_new(&callbacks)
    defer { nghttp2_session_callbacks_del(callbacks) }
    Self.setCallbacks(callbacks)
    var option: OpaquePointer?
    nghttp2_option_new(&option)
    defer { nghttp2_option_del(option) }
    // Bytes count as read when a call reads them.
    nghttp2_option_set_no_auto_window_update(option, 1)
    let context = Unmanaged.passUnretained(self).toOpaque()
    guard nghttp2_session_client_new2(&session, callbacks, context, option) == 0 else {
      throw GRPCClientError("nghttp2 has no session")
    }
    let settings = [
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: UInt32(Self.windowBytes)),
      nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
    ]
    nghttp2_submit_settings(session, 0, settings, settings.count)
    nghttp2_session_set_local_window_size(session, 0, 0, Self.windowBytes * 16)
  }

  deinit { nghttp2_session_del(session) }

  private static func setCallbacks(_ callbacks: OpaquePointer?) {
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, frame, name, nameLength, value, length, _, context in
      guard let frame, let context else { return 0 }
      let session = Unmanaged<ClientSession>.fromOpaque(context).takeUnretainedValue()
      session.calls[frame.pointee.hd.stream_id]?.receiveField(
        String(decoding: UnsafeBufferPointer(start: name, count: nameLength), as: UTF8.self),
        String(decoding: UnsafeBufferPointer(start: value, count: length), as: UTF8.self))
      return 0
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, data, length, context in
      guard let context else { return 0 }
      Unmanaged<ClientSession>.fromOpaque(context).takeUnretainedValue()
        .receive(UnsafeBufferPointer(start: data, count: length), of: id)
      return 0
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, code, context in
      guard let context else { return 0 }
      Unmanaged<ClientSession>.fromOpaque(context).takeUnretainedValue().calls.removeValue(forKey: id)?
        .end(reset: code)
      return 0
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
      guard let frame, let context else { return 0 }
      Unmanaged<ClientSession>.fromOpaque(context).takeUnretainedValue().receive(frame.pointee.hd)
      return 0
    }
  }

  // MARK: Calls

  /// Begins a call. Returns nil after it has ended, if it cannot be begun.
  func begin(_ method: String, _ call: ClientCall, deadline: ContinuousClock.Instant?) -> Int32? {
    guard !isGoingAway, isOpen else {
      call.end(GRPCEnd(code: 14, message: "the server accepts no more calls", origin: .notBegun))
      return nil
    }
    var provider = nghttp2_data_provider()
    provider.read_callback = { _, id, buffer, length, flags, _, context in
      guard let context, let buffer, let flags else { return 0 }
      return Unmanaged<ClientSession>.fromOpaque(context).takeUnretainedValue()
        .provide(UnsafeMutableBufferPointer(start: buffer, count: length), of: id, flags)
    }
    let id = HeaderBlock([(":path", method)] + fields).withFields { fields, count in
      nghttp2_submit_request(session, nil, fields, count, &provider, nil)
    }
    guard id > 0 else {
      call.end(GRPCEnd(code: 14, message: "nghttp2 has no more streams", origin: .notBegun))
      return nil
    }
    calls[id] = call
    if let deadline { deadlines.append((id, deadline)) }
    return id
  }

  func send(_ message: [UInt8]?, on id: Int32, isLast: Bool) {
    guard let call = calls[id], !call.isFinished else { return }
    if let message { call.frames += GRPCFrames.frame(message) }
    call.isFinished = isLast
    guard call.isDeferred else { return }
    call.isDeferred = false
    nghttp2_session_resume_data(session, id)
  }

  func cancel(_ id: Int32, code: Int = 1, message: String = "the client has cancelled the call") {
    guard let call = calls.removeValue(forKey: id) else { return }
    nghttp2_submit_rst_stream(session, 0, id, HTTP2Code.cancel)
    call.end(GRPCEnd(code: code, message: message, origin: .client))
  }

  func setReading(_ isReading: Bool, on id: Int32) {
    guard let call = calls[id] else { return }
    call.isReading = isReading
    guard isReading, call.unreadBytes > 0 else { return }
    nghttp2_session_consume(session, id, call.unreadBytes)
    call.unreadBytes = 0
  }

  private func provide(
    _ buffer: UnsafeMutableBufferPointer<UInt8>, of id: Int32, _ flags: UnsafeMutablePointer<UInt32>
  ) -> Int {
    guard let call = calls[id] else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
    let rest = call.frames.count - call.framesStart
    guard rest > 0 || call.isFinished else {
      call.isDeferred = true
      return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    }
    let count = min(rest, buffer.count)
    _ = buffer.update(fromContentsOf: call.frames[call.framesStart..<(call.framesStart + count)])
    call.framesStart += count
    if call.framesStart == call.frames.count {
      call.frames.removeAll(keepingCapacity: true)
      call.framesStart = 0
      if call.isFinished { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    }
    return count
  }

  private func receive(_ frame: nghttp2_frame_hd) {
    if frame.type == UInt8(NGHTTP2_GOAWAY.rawValue) { isGoingAway = true }
    guard frame.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0,
      let call = calls.removeValue(forKey: frame.stream_id)
    else { return }
    // The server can end a call to which the client may still send.
    if !call.isFinished || !call.frames.isEmpty {
      nghttp2_submit_rst_stream(session, 0, frame.stream_id, HTTP2Code.none)
    }
    call.end(reset: HTTP2Code.none)
  }

  private func receive(_ bytes: UnsafeBufferPointer<UInt8>, of id: Int32) {
    guard let call = calls[id] else {
      nghttp2_session_consume_connection(session, bytes.count)
      return
    }
    call.receive(bytes)
    // The handler of a message may have changed this.
    if call.isReading {
      nghttp2_session_consume(session, id, bytes.count)
    } else {
      call.unreadBytes += bytes.count
    }
  }

  // MARK: Deadlines

  var millisecondsToDeadline: Int32 {
    guard deadlinesStart < deadlines.count else { return -1 }
    let rest = deadlines[deadlinesStart].time - .now
    return Int32(clamping: max(0, Int(rest / .milliseconds(1)) + 1))
  }

  /// Ends the calls whose deadlines have passed.
  func expire() {
    guard deadlinesStart < deadlines.count else { return }
    let now = ContinuousClock.now
    while deadlinesStart < deadlines.count {
      let next = deadlines[deadlinesStart]
      guard next.time <= now || calls[next.id] == nil else { break }
      deadlinesStart += 1
      cancel(next.id, code: 4, message: "the server has not answered in time")
    }
    if deadlinesStart > 1024, deadlinesStart * 2 > deadlines.count {
      deadlines.removeFirst(deadlinesStart)
      deadlinesStart = 0
    }
  }

  // MARK: Bytes

  func takeOutput() throws -> [UInt8] {
    var output: [UInt8] = []
    while output.count < 1 << 16 {
      var bytes: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(session, &bytes)
      guard count >= 0 else { throw GRPCClientError("nghttp2 fails: \(Self.text(count))") }
      guard count > 0 else { break }
      output.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
    }
    return output
  }

  func receive(_ bytes: ArraySlice<UInt8>) throws {
    let count = bytes.withUnsafeBufferPointer { nghttp2_session_mem_recv(session, $0.baseAddress, $0.count) }
    guard count >= 0 else { throw GRPCClientError("the server breaks HTTP/2: \(Self.text(count))") }
  }

  func noteReceived(bytes: Int) { counters.add(received: bytes) }
  func noteSent(bytes: Int) { counters.add(sent: bytes) }

  /// Whether the connection still has a purpose.
  var isOpen: Bool {
    nghttp2_session_want_read(session) != 0 || nghttp2_session_want_write(session) != 0
  }

  /// The connection is over: ends all calls.
  func end(_ reason: String) {
    isGoingAway = true
    let open = calls
    calls = [:]
    for (_, call) in open.sorted(by: { $0.key < $1.key }) {
      call.end(GRPCEnd(code: 14, message: reason, origin: .connection))
    }
  }

  private static func text(_ code: Int) -> String {
    nghttp2_strerror(Int32(code)).map { String(cString: $0) } ?? "error \(code)"
  }
}

/// Counts the bytes of a connection. Usable from any thread.
final class ClientCounters: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the lock protects the numbers.
  private let lock = NSLock()
  private var received = 0
  private var sent = 0

  func add(received bytes: Int) { lock.withLock { received += bytes } }
  func add(sent bytes: Int) { lock.withLock { sent += bytes } }
  var bytesReceived: Int { lock.withLock { received } }
  var bytesSent: Int { lock.withLock { sent } }
}

/// The fields of a request in memory that nghttp2 can read.
private struct HeaderBlock {
  private var bytes: [UInt8] = []
  private var ends: [(name: Int, value: Int)] = []

  init(_ fields: [(name: String, value: String)]) {
    for (name, value) in fields {
      bytes += name.utf8
      let nameEnd = bytes.count
      bytes += value.utf8
      ends.append((nameEnd, bytes.count))
    }
  }

  func withFields<Result>(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Result) -> Result {
    var copy = bytes
    return copy.withUnsafeMutableBufferPointer { bytes in
      var fields: [nghttp2_nv] = []
      var start = 0
      for end in ends {
        fields.append(
          nghttp2_nv(
            name: bytes.baseAddress.map { $0 + start }, value: bytes.baseAddress.map { $0 + end.name },
            namelen: end.name - start, valuelen: end.value - end.name, flags: 0))
        start = end.value
      }
      return fields.withUnsafeBufferPointer { body($0.baseAddress, $0.count) }
    }
  }
}
#endif
