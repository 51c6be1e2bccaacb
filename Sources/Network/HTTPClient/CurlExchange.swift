// A request that libcurl performs.

#if !canImport(Darwin)
internal import ByteStore
internal import CCurl
internal import Dispatch

/// One transfer and its handler. `cancel` and `taken` are usable from any thread, and everything else only on
/// the thread of the loop.
@safe final class CurlExchange: WebExchange, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: locks protect the receiver and the window, and the loop uses the
  // rest.

  /// A closure that is the state of a lock itself gets a wrapper with each access, also when it is only read.
  private struct Receiver {
    /// Nil after the end.
    var handler: (@Sendable (WebEvent) -> Void)?

    mutating func end() -> (@Sendable (WebEvent) -> Void)? {
      defer { handler = nil }
      return handler
    }
  }

  /// The longest time that is taken for one.
  private static let silenceMax = 1e9

  let request: WebRequest
  private let origin: String
  private let receiver: Locked<Receiver>
  private let cancelled: @Sendable (CurlExchange) -> Void
  private let resumed: @Sendable (CurlExchange) -> Void
  private let window = Locked(ReceiveWindow())
  private let silence: UInt64
  private var transfer: UnsafeMutableRawPointer?
  private var head = HeadReader()
  /// When the first line of the head has arrived.
  private var headStart: UInt64?
  private var lastByte = DispatchTime.now().uptimeNanoseconds
  private var sentCount: Int64 = 0
  private var hasDelivered = false
  /// Whether the transfer waits for its receiver.
  private var isPaused = false

  /// `cancelled` is called from the thread that cancels the exchange. `resumed` is called from the thread
  /// that has taken enough of a paused answer.
  init(
    _ request: WebRequest, origin: String, _ handler: @escaping @Sendable (WebEvent) -> Void,
    cancelled: @escaping @Sendable (CurlExchange) -> Void,
    resumed: @escaping @Sendable (CurlExchange) -> Void
  ) {
    self.request = request
    self.origin = origin
    receiver = Locked(Receiver(handler: handler))
    self.cancelled = cancelled
    self.resumed = resumed
    let seconds = request.silenceSeconds.isNaN ? 1 : min(max(request.silenceSeconds, 0.001), Self.silenceMax)
    silence = UInt64(seconds * 1e9)
  }

  func cancel() {
    if receiver.withLock({ $0.end() != nil }) { cancelled(self) }
  }

  func taken(_ byteCount: Int) {
    if window.withLock({ $0.take(byteCount) }) { resumed(self) }
  }

  // MARK: On the thread of the loop

  /// Begins the transfer. Returns the reason if it cannot begin.
  func start(in group: UnsafeMutableRawPointer) -> WebFailure? {
    guard request.fields.allSatisfy({ Self.isValid($0.name) && Self.isValid($0.value) }),
      Self.isValid(request.method), Self.isValid(request.target)
    else { return WebFailure("A request has an invalid character in a field.", isUnsent: true) }
    let made = unsafe request.method.withCString { method in
      unsafe (origin + request.target).withCString { url in
        unsafe dugout_curl_transfer_create(
          url, method, Unmanaged.passUnretained(self).toOpaque(), Self.takeHead, Self.takeBody)
      }
    }
    guard let made = unsafe made else { return Self.noMemory }
    unsafe transfer = unsafe made
    guard unsafe addParts(to: made), unsafe dugout_curl_transfer_start(group, made) == 0 else {
      unsafe dugout_curl_transfer_destroy(nil, made)
      unsafe transfer = nil
      return Self.noMemory
    }
    lastByte = DispatchTime.now().uptimeNanoseconds
    return nil
  }

  private static let noMemory = WebFailure("There is no memory for a request.", isUnsent: true)

  /// Other bytes could begin another field, or another request.
  private static func isValid(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 != 0 && $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
  }

  private func addParts(to transfer: UnsafeMutableRawPointer) -> Bool {
    var lines = request.fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
    // libcurl would say that the body is a form.
    let hasType = request.fields.contains { $0.name.lowercased() == "content-type" }
    if request.body != nil, !hasType { lines.append("Content-Type:") }
    for line in lines {
      guard unsafe line.withCString({ unsafe dugout_curl_transfer_add_field(transfer, $0) }) == 0 else {
        return false
      }
    }
    guard let body = request.body else { return true }
    return unsafe body.withUnsafeBufferPointer { bytes in
      guard let base = bytes.baseAddress else {
        var none: UInt8 = 0
        return unsafe dugout_curl_transfer_set_body(transfer, &none, 0) == 0
      }
      return unsafe dugout_curl_transfer_set_body(transfer, base, bytes.count) == 0
    }
  }

  private static let takeHead: dugout_curl_receiver = { context, bytes, count in
    guard let exchange = unsafe exchange(context) else { return DUGOUT_CURL_END }
    return exchange.takeHead(unsafe array(bytes, count)) ? DUGOUT_CURL_TAKEN : DUGOUT_CURL_END
  }

  private static let takeBody: dugout_curl_receiver = { context, bytes, count in
    guard let exchange = unsafe exchange(context) else { return DUGOUT_CURL_END }
    guard exchange.admit(count) else { return DUGOUT_CURL_PAUSE }
    exchange.deliver(.bytes(unsafe array(bytes, count)))
    return DUGOUT_CURL_TAKEN
  }

  private static func exchange(_ context: UnsafeMutableRawPointer?) -> CurlExchange? {
    unsafe context.map { unsafe Unmanaged<CurlExchange>.fromOpaque($0).takeUnretainedValue() }
  }

  private static func array(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> [UInt8] {
    unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
  }

  private func takeHead(_ line: [UInt8]) -> Bool {
    noteByte()
    headStart = headStart ?? lastByte
    guard head.take(line) else { return false }
    if head.isComplete, !hasDelivered {
      hasDelivered = true
      deliver(.head(status: head.status, fields: head.fields))
    }
    return true
  }

  /// Notes a piece of the body. Returns false if the transfer pauses instead of delivering it.
  private func admit(_ byteCount: Int) -> Bool {
    noteByte()
    isPaused = !window.withLock { $0.admit(byteCount) }
    return !isPaused
  }

  /// Continues a paused transfer, whose server may be silent from here on as long as any other. Returns a
  /// code of libcurl.
  func resume() -> Int32 {
    guard isPaused, let transfer = unsafe transfer else { return 0 }
    isPaused = false
    noteByte()
    return unsafe dugout_curl_transfer_resume(transfer)
  }

  private func noteByte() { lastByte = DispatchTime.now().uptimeNanoseconds }

  private func deliver(_ event: WebEvent) { receiver.withLock { $0.handler }?(event) }

  /// Notes what was sent. Returns the time at which the exchange has been silent for too long. A server
  /// cannot send anything to a transfer that is paused.
  func deadline(at now: UInt64) -> UInt64 {
    guard !isPaused else { return .max }
    if let transfer = unsafe transfer {
      let sent = unsafe dugout_curl_transfer_sent(transfer)
      if sent != sentCount { (sentCount, lastByte) = (sent, now) }
    }
    let end = Self.time(lastByte, plus: silence)
    return headEnd.map { min($0, end) } ?? end
  }

  /// The time at which the rest of a head that has begun is too late; nil if no head is read. Each line ends
  /// the silence, and a server could send one at a time for weeks.
  private var headEnd: UInt64? {
    head.isComplete ? nil : headStart.map { Self.time($0, plus: 2 * silence) }
  }

  private static func time(_ start: UInt64, plus time: UInt64) -> UInt64 {
    let (end, isOver) = start.addingReportingOverflow(time)
    return isOver ? .max : end
  }

  /// Ends the transfer with a code of libcurl; 0 means that the answer is complete.
  func complete(code: Int32, in group: UnsafeMutableRawPointer) {
    var failure: WebFailure?
    if let transfer = unsafe transfer {
      if code != 0 {
        failure = WebFailure(
          curl: code, unsafe String(cString: dugout_curl_transfer_message(transfer, code)),
          wasConnected: unsafe dugout_curl_transfer_was_connected(transfer) != 0)
      }
      if !head.isComplete, code == 0 || head.isTooLong {
        // libcurl takes an answer whose head is cut for a complete one.
        failure = WebFailure(
          head.isTooLong ? "The head of the answer is too long." : "The head of the answer is cut.")
      }
    }
    unsafe end(failure, in: group)
  }

  /// Ends a transfer at its deadline: it was silent for too long, or its head does not end. Without a
  /// connection, nothing was sent.
  func endSilent(in group: UnsafeMutableRawPointer) {
    let isSilent = headEnd.map { $0 > Self.time(lastByte, plus: silence) } ?? true
    var failure = isSilent ? WebFailure.silence : WebFailure("The head of the answer takes too long.")
    if let transfer = unsafe transfer {
      failure.isUnsent = unsafe dugout_curl_transfer_was_connected(transfer) == 0
    }
    unsafe end(failure, in: group)
  }

  /// Ends the transfer, if it has begun, and delivers the end.
  func end(_ failure: WebFailure?, in group: UnsafeMutableRawPointer?) {
    if let begun = unsafe transfer { unsafe dugout_curl_transfer_destroy(group, begun) }
    unsafe transfer = nil
    receiver.withLock { $0.end() }?(.ended(failure))
  }
}

extension WebFailure {
  static let silence = WebFailure("The server has not sent anything for too long.")

  /// Errors of libcurl that come before a request is sent: of addresses, names, connections and certificates.
  private static let unsentCodes: Set<Int32> = [1, 3, 5, 6, 7, 35, 58, 59, 60, 77, 82, 83, 90, 91]
  private static let encryptionCodes: Set<Int32> = [
    35, 51, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91, 98,
  ]

  init(curl code: Int32, _ message: String, wasConnected: Bool) {
    let text = Self.encryptionCodes.contains(code) ? "TLS has failed: \(message)" : message
    self.init(text, isUnsent: Self.unsentCodes.contains(code) || !wasConnected)
  }
}
#endif
