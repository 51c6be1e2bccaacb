// The functions in C that nghttp2 calls.

#if Server
internal import CNGHTTP2

enum HTTP2Callbacks {
  /// Creates a session of the server, without its user data.
  static func makeSession() -> OpaquePointer? {
    var callbacks: OpaquePointer?
    var options: OpaquePointer?
    var session: OpaquePointer?
    guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
    defer { unsafe nghttp2_session_callbacks_del(callbacks) }
    guard unsafe nghttp2_option_new(&options) == 0 else { return nil }
    defer { unsafe nghttp2_option_del(options) }
    unsafe set(callbacks)
    // A closed stream must not stay in memory for its priority.
    unsafe nghttp2_option_set_no_closed_streams(options, 1)
    unsafe nghttp2_option_set_max_outbound_ack(options, 1000)
    unsafe nghttp2_option_set_max_settings(options, 32)
    unsafe dugout_limit_floods(options)
    guard unsafe nghttp2_session_server_new2(&session, callbacks, nil, options) == 0 else { return nil }
    return unsafe session
  }

  private static func set(_ callbacks: OpaquePointer?) {
    unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, user in
      guard let frame = unsafe frame, unsafe frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue),
        let owner = unsafe HTTP2Callbacks.owner(user)
      else { return 0 }
      if unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST {
        unsafe owner.fieldsBegin(frame.pointee.hd.stream_id)
      } else {
        owner.trailersBegin()
      }
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      session, frame, name, nameCount, value, valueCount, _, user in
      guard let frame = unsafe frame,
        let stream = unsafe HTTP2Callbacks.stream(session, frame.pointee.hd.stream_id)
      else { return 0 }
      unsafe stream.receive(
        name: UnsafeBufferPointer(start: name, count: nameCount),
        value: UnsafeBufferPointer(start: value, count: valueCount))
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { session, frame, user in
      guard let frame = unsafe frame, let owner = unsafe HTTP2Callbacks.owner(user) else { return 0 }
      let head = unsafe frame.pointee.hd
      let isEnd = head.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
      // In SETTINGS and PING, this bit says that the frame is an acknowledgement.
      let isAcknowledgement = isEnd
      switch UInt32(head.type) {
      case NGHTTP2_HEADERS.rawValue:
        owner.fieldsEnd()
        guard let stream = unsafe HTTP2Callbacks.stream(session, head.stream_id) else { return 0 }
        if unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST { stream.fieldsEnded() }
        if isEnd { stream.finish() }
      case NGHTTP2_DATA.rawValue:
        if isEnd {
          unsafe HTTP2Callbacks.stream(session, head.stream_id)?.finish()
        } else if head.length == 0 {
          owner.received { $0.frameWithoutEffect($1) }
        }
      case NGHTTP2_PING.rawValue:
        if isAcknowledgement { owner.clientAnsweredPing() } else { owner.received { $0.ping($1) } }
      case NGHTTP2_RST_STREAM.rawValue: owner.received { $0.reset($1) }
      case NGHTTP2_WINDOW_UPDATE.rawValue: owner.received { $0.windowUpdate($1) }
      case NGHTTP2_SETTINGS.rawValue, NGHTTP2_PRIORITY.rawValue:
        owner.received { $0.frameWithoutEffect($1) }
      default: break
      }
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
      session, _, id, bytes, count, _ in
      unsafe HTTP2Callbacks.stream(session, id)?.receive(UnsafeBufferPointer(start: bytes, count: count))
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { session, frame, user in
      guard let frame = unsafe frame, let owner = unsafe HTTP2Callbacks.owner(user) else { return 0 }
      let head = unsafe frame.pointee.hd
      if head.type == UInt8(NGHTTP2_GOAWAY.rawValue) {
        unsafe owner.sentGoAway(frame.pointee.goaway.error_code)
      }
      guard head.type == UInt8(NGHTTP2_HEADERS.rawValue) || head.type == UInt8(NGHTTP2_DATA.rawValue) else {
        return 0
      }
      owner.sentAnswer()
      if head.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
        unsafe HTTP2Callbacks.stream(session, head.stream_id)?.endWasSent()
      }
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) {
      session, frame, _, user in
      guard let frame = unsafe frame, let owner = unsafe HTTP2Callbacks.owner(user) else { return 0 }
      unsafe HTTP2Callbacks.stream(session, frame.pointee.hd.stream_id)?.frameWasRefused()
      owner.refusedFrame(isRequest: unsafe frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue))
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, _, user in
      unsafe HTTP2Callbacks.owner(user)?.streamClosed(id)
      return 0
    }
  }

  /// Gives nghttp2 the next bytes of a response.
  static var dataProvider: nghttp2_data_provider {
    unsafe nghttp2_data_provider(
      source: nghttp2_data_source(),
      read_callback: { session, id, buffer, count, flags, _, _ in
        guard let stream = unsafe HTTP2Callbacks.stream(session, id), let buffer = unsafe buffer,
          let flags = unsafe flags
        else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
        let target = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: count)
        switch unsafe stream.moveBody(to: target) {
        case .bytes(let count): return count
        case .wait: return Int(NGHTTP2_ERR_DEFERRED.rawValue)
        case .end(let count, let hasTrailers):
          unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
          if hasTrailers { unsafe flags.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue }
          return count
        }
      })
  }

  private static func owner(_ user: UnsafeMutableRawPointer?) -> HTTP2Session? {
    guard let user = unsafe user else { return nil }
    return unsafe Unmanaged<HTTP2Session>.fromOpaque(user).takeUnretainedValue()
  }

  /// The stream that nghttp2 keeps a pointer to. The session holds it until the stream is closed.
  private static func stream(_ session: OpaquePointer?, _ id: Int32) -> HTTP2Stream? {
    guard let pointer = unsafe nghttp2_session_get_stream_user_data(session, id) else { return nil }
    return unsafe Unmanaged<HTTP2Stream>.fromOpaque(pointer).takeUnretainedValue()
  }
}
#endif
