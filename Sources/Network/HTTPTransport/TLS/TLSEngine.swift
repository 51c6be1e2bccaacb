// Either side of one encrypted connection.

#if TLS

internal import CTLS

/// Owns a session of OpenSSL: bytes in, bytes out.
@safe
struct TLSEngine: ~Copyable {
  /// The most plaintext in a record.
  static let recordBytesMax = 16 * 1024
  /// A peer can make the session answer, for instance with new keys. The session fails at this limit.
  static let outputBytesMax = 256 * 1024

  private let session: OpaquePointer
  private var failure: TLSError?
  /// Whether the handshake is complete.
  private(set) var isReady = false
  /// Whether the peer has said that it sends no more. If a connection is lost before that, data may be
  /// missing.
  private(set) var hasReceivedEnd = false
  private(set) var hasSentEnd = false

  init(_ session: OpaquePointer?) throws(TLSError) {
    guard let session = unsafe session else { throw .unavailable(OpenSSLContext.errorText()) }
    unsafe self.session = session
  }

  deinit { unsafe dugout_tls_session_free(session) }

  // MARK: Bytes

  /// Takes bytes from the peer, and appends their plaintext. After an error, all calls throw the same error.
  mutating func receive(
    _ encrypted: UnsafeRawBufferPointer, into plaintext: inout [UInt8]
  ) throws(TLSError) {
    if let failure { throw failure }
    guard !hasReceivedEnd else { return }
    try unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.recordBytesMax) {
      (record) throws(TLSError) in
      guard let start = record.baseAddress else { return }
      var input = unsafe encrypted
      var state = DUGOUT_TLS_OPEN
      while state == DUGOUT_TLS_OPEN {
        let progress = unsafe dugout_tls_receive(
          session, input.baseAddress?.assumingMemoryBound(to: UInt8.self), input.count, start, record.count)
        unsafe plaintext.append(contentsOf: record[..<progress.output_count])
        unsafe input = UnsafeRawBufferPointer(rebasing: input[progress.input_count...])
        state = progress.state
        isReady = unsafe isReady || dugout_tls_is_ready(session)
      }
      try finishReceiving(state)
    }
  }

  private mutating func finishReceiving(_ state: dugout_tls_state) throws(TLSError) {
    switch state {
    case DUGOUT_TLS_STARVED: break
    case DUGOUT_TLS_ENDED: hasReceivedEnd = true
    case DUGOUT_TLS_OVERFLOW: throw fail(.outputLimit)
    default:
      let reason = unsafe OpenSSLContext.errorText(of: session)
      throw fail(isReady ? .record(reason) : .handshake(reason))
    }
  }

  /// Encrypts bytes, in records of at most 16 KiB. Fails if the output would exceed its limit.
  mutating func send(_ plaintext: [UInt8]) throws(TLSError) {
    if let failure { throw failure }
    guard isReady, !hasSentEnd else { throw .notOpen }
    var start = 0
    while start < plaintext.count {
      let count = min(plaintext.count - start, Self.recordBytesMax)
      let state = unsafe plaintext.withUnsafeBufferPointer { bytes in
        unsafe bytes.baseAddress.map { unsafe dugout_tls_send(session, $0 + start, count) }
      }
      switch state {
      case DUGOUT_TLS_OPEN?: start += count
      case DUGOUT_TLS_OVERFLOW?: throw fail(.outputLimit)
      default: throw fail(.record(unsafe OpenSSLContext.errorText(of: session)))
      }
    }
  }

  /// Says to the peer that no more follows, if the handshake is complete.
  mutating func close() {
    guard isReady, !hasSentEnd, failure == nil else { return }
    hasSentEnd = true
    unsafe dugout_tls_close(session)
  }

  /// Ends the session. Output that waits can still be taken.
  mutating func fail(_ error: TLSError) -> TLSError {
    failure = error
    return error
  }

  // MARK: Output

  var outputCount: Int { unsafe dugout_tls_output_count(session) }

  /// Moves at most `bytesMax` encrypted bytes to the end of `buffer`.
  mutating func moveOutput(to buffer: inout [UInt8], bytesMax: Int) {
    let count = min(outputCount, bytesMax)
    guard count > 0, let start = unsafe dugout_tls_output(session) else { return }
    unsafe buffer.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
    unsafe dugout_tls_output_remove(session, count)
  }

  // MARK: Agreement

  /// Whether the two sides have agreed on TLS 1.2, and not on a later version.
  var isTLS12: Bool { unsafe dugout_tls_version(session) == 0x0303 }

  /// The version of HTTP that ALPN has chosen. Nil if one side does not use ALPN.
  var applicationProtocol: ApplicationProtocol? {
    switch unsafe dugout_tls_protocol(session) {
    case 1: .http1
    case 2: .h2
    default: nil
    }
  }
}

#endif
