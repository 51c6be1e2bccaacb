// A session of WebChannel without sockets, threads and a clock.
//
//   1. While the call is open, requests of the client go to it in the order of their numbers. Its messages
//      become arrays.
//   2. The end of the call is an array, too: an error, or "close".
//   3. The session is over when the client has acknowledged that array or has ended the session, or after a
//      minute without a back channel.
//   4. If the server shuts down, requests that come later are not passed. A session whose client has all
//      results is over when the call ends.
//
// Invariants:
//   - A session has one back channel at most. A new one ends the one before.
//   - A back channel sends arrays in order and without gaps, from the one after its acknowledgement.
//   - Arrays are kept until they are acknowledged.
//   - The call is paused while too many arrays are kept. A back channel with many arrays ends, so that the
//     client begins the next one and acknowledges them.

internal import FirestoreService

/// The state of a session. Events go in, and actions come out.
struct ChannelSession {
  enum Phase {
    case open
    /// The call has ended, and the last array says so.
    case ended
    case over
  }

  private static let noop = Array(#""noop""#.utf8)
  private static let close = Array(#""close""#.utf8)

  let limits: ChannelLimits
  private(set) var phase = Phase.open
  private(set) var arrays = ChannelArrays()
  private(set) var line: ForwardLine
  private(set) var backChannel: BackChannel?
  /// When the session is closed unless it has a back channel.
  private var absentDeadline: UInt64
  private(set) var isPaused = false
  /// Whether the server shuts down.
  private(set) var isDraining = false
  /// Whether the call has sent its first message, which answers the opening and is no result.
  private var hasGreeted = false
  /// The number of the last array that the client would miss.
  private var lastResult: UInt64 = 0
  private var actions: [ChannelAction] = []

  /// Begins a session whose first request has this number.
  init(firstRequest: UInt64 = 0, limits: ChannelLimits = ChannelLimits(), at now: UInt64) {
    self.limits = limits
    line = ForwardLine(next: firstRequest)
    // The first back channel has to come earlier than those after it.
    absentDeadline = now + limits.unusedNanoseconds
  }

  var isOver: Bool { phase == .over }
  /// The memory that the session holds.
  var heldBytes: Int { arrays.heldBytes + line.earlyBytes }
  /// When `time` has something to do.
  var deadline: UInt64 { phase == .over ? .max : backChannel?.deadline ?? absentDeadline }

  /// Takes an event, and returns what has to be done now.
  mutating func receive(_ event: ChannelEvent, at now: UInt64) -> [ChannelAction] {
    if phase == .over {
      refuse(event)
    } else {
      take(event, at: now)
    }
    defer { actions = [] }
    return actions
  }

  private mutating func take(_ event: ChannelEvent, at now: UInt64) {
    switch event {
    case .opened(let requests): actions += (line.take(requests, limits) ?? []).map { .pass($0) }
    case .forward(let request, let requests, let acknowledged):
      forward(request, requests, acknowledged: acknowledged, at: now)
    case .backChannel(let request, let acknowledged, let mode):
      begin(request, acknowledged: acknowledged, mode: mode, at: now)
    case .lost(let request):
      guard backChannel?.request == request else { return }
      leave(at: now)
    case .read(let request):
      guard backChannel?.request == request else { return }
      backChannel?.unreadBytes = 0
      backChannel?.isAskedWhenRead = false
      flush(at: now)
    case .terminate(let request):
      if phase == .open { actions.append(.cancelCall(.terminated)) }
      endBackChannel(at: now)
      actions.append(.answer(request: request, []))
      forget()
    case .service(let events):
      for event in events { take(event) }
      updatePause()
      flush(at: now)
      forgetIfDelivered()
    case .drain: isDraining = true
    case .drop:
      if phase == .open { actions.append(.cancelCall(.dropped)) }
      endBackChannel(at: now)
      forget()
    case .time:
      if now >= deadline { deadlinePassed(at: now) }
    }
  }

  /// A session that is over knows no requests.
  private mutating func refuse(_ event: ChannelEvent) {
    switch event {
    case .forward(let request, _, _), .backChannel(let request, _, _), .terminate(let request):
      actions.append(.refuse(request: request, .unknown))
    case .opened, .lost, .read, .service, .drain, .drop, .time: break
    }
  }

  // MARK: From the client

  private mutating func forward(
    _ request: UInt64, _ requests: [FormBody.Request], acknowledged: UInt64?, at now: UInt64
  ) {
    guard acknowledged ?? 0 <= arrays.last else {
      actions.append(.refuse(request: request, .acknowledgement))
      return
    }
    guard let ready = line.take(requests, limits) else {
      actions.append(.refuse(request: request, .earlyRequests))
      return
    }
    // A client that continues to send does not keep its call open. It sends these requests again elsewhere.
    if phase == .open, !isDraining { actions += ready.map { .pass($0) } }
    acknowledge(acknowledged)
    let status = "[\(backChannel == nil ? 0 : 1),\(arrays.last),\(arrays.contentBytes)]"
    actions.append(.answer(request: request, ChannelArrays.framed(status)))
    forgetIfDone(at: now)
  }

  private mutating func begin(
    _ request: UInt64, acknowledged: UInt64?, mode: BackChannelMode, at now: UInt64
  ) {
    // A request that was late on its way asks for arrays that are gone. It must not replace a later one.
    let last = acknowledged ?? arrays.acknowledged
    guard last >= arrays.acknowledged, last <= arrays.last else {
      actions.append(.refuse(request: request, .acknowledgement))
      return
    }
    acknowledge(last)
    guard !isDone else {
      actions.append(.refuse(request: request, .unknown))
      return forgetIfDone(at: now)
    }
    endBackChannel(at: now)
    var wait = limits.keepAliveNanoseconds
    if case .polling(let nanoseconds?) = mode { wait = min(wait, nanoseconds) }
    backChannel = BackChannel(
      request: request, isPolling: mode != .streaming, sent: last, deadline: now + wait)
    if mode == .streaming {
      actions.append(.begin(request: request))
      // Clients find out by the first bytes whether a proxy holds the answer back.
      if arrays.last == last { arrays.append(Self.noop) }
    }
    flush(at: now)
  }

  private mutating func acknowledge(_ number: UInt64?) {
    guard let number, arrays.acknowledge(number) else { return }
    // A back channel from before would leave a gap.
    if let sent = backChannel?.sent, sent < number { backChannel?.sent = number }
    updatePause()
  }

  // MARK: From the service

  private mutating func take(_ event: ServiceEvent) {
    guard phase == .open else { return }
    switch event {
    case .message(let bytes):
      arrays.append(bytes)
      if hasGreeted { lastResult = arrays.last }
      hasGreeted = true
    case .ended(let error):
      phase = .ended
      let seen = error ?? (isDraining ? CallRunner.draining : nil)
      arrays.append(seen.map { RESTAnswer($0).body } ?? Self.close)
      // A client does without an end that only says that the server shuts down.
      if error != nil || !isDraining { lastResult = arrays.last }
    }
  }

  private mutating func updatePause() {
    let isFull = arrays.count >= limits.arraysMax || arrays.heldBytes >= limits.arrayBytesMax
    let isHalfFull = arrays.count > limits.arraysMax / 2 || arrays.heldBytes > limits.arrayBytesMax / 2
    let pauses = phase == .open && (isPaused ? isHalfFull : isFull)
    guard pauses != isPaused else { return }
    isPaused = pauses
    actions.append(.setPaused(pauses))
  }

  // MARK: The back channel

  /// Sends what the back channel can take.
  private mutating func flush(at now: UInt64) {
    guard let channel = backChannel else { return }
    if channel.isPolling { poll(channel, at: now) } else { stream(channel, at: now) }
  }

  private mutating func poll(_ channel: BackChannel, at now: UInt64) {
    guard
      let piece = arrays.piece(
        after: channel.sent, bytesMax: limits.bytesPerBackChannelMax,
        arraysMax: limits.arraysPerBackChannelMax)
    else { return }
    actions.append(.answer(request: channel.request, piece.bytes))
    leave(at: now)
  }

  private mutating func stream(_ begun: BackChannel, at now: UInt64) {
    var channel = begun
    while channel.unreadBytes < limits.unreadBytesMax, !channel.isFull(limits),
      let piece = arrays.piece(
        after: channel.sent, bytesMax: limits.unreadBytesMax,
        arraysMax: limits.arraysPerBackChannelMax - channel.arrayCount)
    {
      actions.append(.send(request: channel.request, piece.bytes))
      channel.sent += UInt64(piece.count)
      channel.arrayCount += piece.count
      channel.byteCount += piece.bytes.count
      channel.unreadBytes += piece.bytes.count
      channel.deadline = now + limits.keepAliveNanoseconds
    }
    // The client acknowledges all arrays when it begins the next back channel.
    let isSent = channel.sent == arrays.last
    guard !channel.isFull(limits), !isSent || phase == .open && !isPaused else {
      actions.append(.end(request: channel.request))
      return leave(at: now)
    }
    if channel.unreadBytes >= limits.unreadBytesMax, !channel.isAskedWhenRead {
      channel.isAskedWhenRead = true
      actions.append(.askWhenRead(request: channel.request))
    }
    backChannel = channel
  }

  private mutating func endBackChannel(at now: UInt64) {
    guard let channel = backChannel else { return }
    actions.append(
      channel.isPolling ? .answer(request: channel.request, []) : .end(request: channel.request))
    leave(at: now)
  }

  /// The session has no back channel from now on.
  private mutating func leave(at now: UInt64) {
    backChannel = nil
    absentDeadline = now + limits.absentNanoseconds
  }

  // MARK: Ends

  private mutating func deadlinePassed(at now: UInt64) {
    guard let channel = backChannel else {
      if phase == .open { actions.append(.cancelCall(.absent)) }
      return forget()
    }
    backChannel?.deadline = now + limits.keepAliveNanoseconds
    // A client that has more to read knows that the server is alive.
    guard channel.sent == arrays.last else { return }
    arrays.append(Self.noop)
    flush(at: now)
  }

  /// Whether the client knows that the call has ended.
  private var isDone: Bool { phase == .ended && arrays.count == 0 }

  private mutating func forgetIfDone(at now: UInt64) {
    guard isDone else { return }
    endBackChannel(at: now)
    forget()
  }

  /// A server that shuts down waits for clients that lack results. It does not wait for others.
  private mutating func forgetIfDelivered() {
    guard isDraining, phase == .ended, backChannel == nil, arrays.acknowledged >= lastResult else { return }
    forget()
  }

  private mutating func forget() {
    phase = .over
    backChannel = nil
    arrays = ChannelArrays()
    line = ForwardLine(next: line.next)
    actions.append(.forget)
  }
}
