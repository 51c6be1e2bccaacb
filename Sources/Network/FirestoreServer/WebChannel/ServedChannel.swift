// A session in a server: it performs what the state machine decides.
//
// All of it runs on one loop, that of the connection by which the session was opened. So everything that a
// session sends leaves in order, whichever loops its requests come by. Events of the service come from
// threads of the pool and are handed over in batches.

internal import ByteStore
internal import FirestoreService
internal import FirestoreWire
internal import HTTPTransport
internal import OfflineSync

/// An open session. Usable from any thread.
final class ServedChannel: DrainableStream, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: everything that changes, except `inbox`, is only used on `loop`.
  private struct Inbox {
    var events: [ServiceEvent] = []
    var byteCount = 0
  }

  let id: ChannelID
  let method: ServerMethod
  let metadata: CallMetadata
  let owner: ChannelOwner
  private let connection: ConnectionInfo
  private let surroundings: ChannelSurroundings
  private let record: RequestRecord
  private let loop: any LoopExecutor
  private let queue: ResponseQueue
  private let share: HeldMemoryShare
  private let inbox = Locked(Inbox())

  private var session: ChannelSession
  private var call: ServiceCall?
  private var responses: [UInt64: ChannelResponse] = [:]
  private var timer: (any LoopTimer)?
  private var timerTime = UInt64.max
  /// Events that came while an earlier one is handled.
  private var waiting: [ChannelEvent] = []
  private var isHandling = false
  private var isCallOver = false
  /// Whether the queue of the call waits for the client, and the bytes that the client has sent meanwhile.
  private var isPaused = false
  private var pausedBytes = 0
  private var isDropped = false
  /// A request that arrives while the queue waits takes memory of its own.
  private static let requestBytes = 512
  private static let pausedBytesMax = 1 << 20

  /// Creates a session on the loop of its first response, by which this is called.
  init(
    _ opening: ChannelOpening, _ surroundings: ChannelSurroundings, record: RequestRecord,
    response: HTTPResponse
  ) {
    id = surroundings.makeID()
    method = opening.method
    metadata = opening.metadata
    owner = ChannelOwner(opening.connection)
    connection = opening.connection
    self.surroundings = surroundings
    self.record = record
    loop = response.loop
    queue = response.queue.makeSibling()
    // The clients of a proxy share its connections, but not the limits of a connection.
    let budget = opening.connection.isProxy ? response.budget.ofServer : response.budget
    share = HeldMemoryShare(of: budget)
    session = ChannelSession(
      firstRequest: opening.form.requests.first?.number ?? 0, limits: surroundings.limits,
      at: surroundings.now)
  }

  private var runner: CallRunner { surroundings.runner }

  /// Begins the call, and passes the requests of the opening body to it. Called on the loop.
  func start(_ first: [FormBody.Request]) {
    runner.journal.metrics.openStreams.add(1)
    runner.journal.metrics.openChannels.add(1)
    call = runner.service.handle(
      method.name, metadata: metadata, format: .json, on: ServiceQueue(of: queue, for: method)
    ) { [weak self] event in self?.deliver(event) }
    handle(.opened(first))
  }

  // MARK: Requests

  /// Takes an event of a request, whose answer is `response`.
  func receive(_ event: ChannelEvent, request: UInt64, response: ChannelResponse) {
    onLoop { channel in
      channel.responses[request] = response
      channel.handle(event)
    }
  }

  /// The answer to a request is over, because its client is gone.
  func lose(request: UInt64) {
    onLoop { channel in
      channel.responses[request] = nil
      channel.handle(.lost(request: request))
    }
  }

  /// Ends the session without a message to its client.
  func abandon() {
    onLoop { $0.handle(.terminate(request: $0.surroundings.channels.nextRequest())) }
  }

  private func onLoop(_ block: @escaping @Sendable (ServedChannel) -> Void) {
    if loop.isCurrent { block(self) } else { loop.execute { [self] in block(self) } }
  }

  // MARK: The service

  /// Takes an event of the call, in a block of its queue.
  private func deliver(_ event: ServiceEvent) {
    var byteCount = 0
    if case .message(let bytes) = event { byteCount = bytes.count }
    queue.post(byteCount)
    let isFirst = inbox.withLock { inbox in
      inbox.events.append(event)
      inbox.byteCount += byteCount
      return inbox.events.count == 1
    }
    if isFirst { loop.execute { [self] in takeInbox() } }
  }

  private func takeInbox() {
    let taken = inbox.withLock { inbox in
      defer { inbox = Inbox() }
      return inbox
    }
    for event in taken.events {
      switch event {
      case .message(let bytes): record.sent(bytes.count)
      case .ended(let error):
        let seen = error ?? (session.isDraining ? CallRunner.draining : nil)
        callEnded(code: seen?.code.rawValue ?? 0)
      }
    }
    handle(.service(taken.events))
    queue.arrived(taken.byteCount)
  }

  private func pass(_ message: [UInt8]) {
    guard !isDropped else { return }
    record.received(message.count)
    if isPaused {
      pausedBytes += message.count + Self.requestBytes
      // The client sends, but does not acknowledge. It opens another session, and sends the rest again.
      guard pausedBytes <= Self.pausedBytesMax || pausedBytes == message.count + Self.requestBytes else {
        runner.journal.refused(.channelRequests, connection)
        isDropped = true
        return waiting.append(.drop)
      }
    }
    call?.send(message)
  }

  private func callEnded(code: Int) {
    guard !isCallOver else { return }
    isCallOver = true
    runner.streams.remove(self)
    runner.journal.metrics.openStreams.add(-1)
    record.end(code: code)
    // The last reference to the call ends it.
    call = nil
  }

  // MARK: The state machine

  private func handle(_ event: ChannelEvent) {
    waiting.append(event)
    // An action may call this again. The actions of an event come before the next event.
    guard !isHandling else { return }
    isHandling = true
    var position = 0
    while position < waiting.count {
      let event = waiting[position]
      position += 1
      for action in session.receive(event, at: surroundings.now) { perform(action) }
      if !share.resize(to: session.heldBytes) {
        runner.journal.refused(
          HTTPTransport.Refusal.heldBytes, connection, detail: "too many arrays wait for their clients")
        waiting.append(.drop)
      }
    }
    waiting = []
    isHandling = false
    armTimer()
  }

  private func perform(_ action: ChannelAction) {
    switch action {
    case .answer(let request, let body): responses.removeValue(forKey: request)?.answer(body)
    case .refuse(let request, let refusal): refuse(request, refusal)
    case .begin(let request): responses[request]?.begin()
    case .send(let request, let bytes): responses[request]?.response.send(bytes)
    case .askWhenRead(let request):
      responses[request]?.response.queue.add { [weak self] in
        self?.onLoop { $0.handle(.read(request: request)) }
      }
    case .end(let request): responses.removeValue(forKey: request)?.response.end()
    case .pass(let message): pass(message)
    case .setPaused(let isPaused):
      self.isPaused = isPaused
      pausedBytes = 0
      queue.setPaused(isPaused)
    case .cancelCall(let end): cancelCall(end)
    case .forget: forget()
    }
  }

  private func refuse(_ request: UInt64, _ refusal: ChannelRefusal) {
    let error: RemoteError
    switch refusal {
    case .unknown: error = ChannelTarget.unknown
    case .acknowledgement:
      error = RemoteError(.invalidArgument, "AID is not the number of an array that can be acknowledged.")
    case .earlyRequests:
      runner.journal.refused(.channelRequests, connection)
      error = RemoteError(.resourceExhausted, "Too many requests of the session wait for earlier ones.")
    }
    responses.removeValue(forKey: request)?.refuse(
      error, RefusedRequest(journal: runner.journal, connection: connection, method: method))
  }

  private func cancelCall(_ end: ChannelEnd) {
    if end == .absent { runner.journal.refused(.channelTimeout, connection) }
    call?.cancel()
    callEnded(code: RemoteError.Code.cancelled.rawValue)
  }

  private func forget() {
    surroundings.channels.remove(self)
    if isFetched { runner.streams.delivered() }
    runner.journal.metrics.openChannels.add(-1)
    queue.close()
    timer?.cancel()
    timer = nil
  }

  private func armTimer() {
    let deadline = session.deadline
    guard !session.isOver, timer == nil || deadline < timerTime else { return }
    timer?.cancel()
    timerTime = deadline
    let now = surroundings.now
    timer = loop.after(deadline > now ? deadline - now : 0) { [weak self] in
      guard let self else { return }
      timer = nil
      handle(.time)
    }
  }

  // MARK: Shutting down

  /// The results of writes wait for their client, which may have no back channel at present.
  var isFetched: Bool { method == .write }

  /// Ends a watch stream at once, and a write stream after the writes that it has taken. The session of a
  /// write stream stays until its client has the results.
  func drain() {
    onLoop { channel in
      channel.handle(.drain)
      guard let call = channel.call else { return }
      guard channel.method != .write else { return call.finish() }
      call.cancel()
      channel.callEnded(code: CallRunner.draining.code.rawValue)
      channel.handle(.service([.ended(CallRunner.draining)]))
    }
  }
}
