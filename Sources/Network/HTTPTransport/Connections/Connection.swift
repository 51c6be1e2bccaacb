// A socket and its protocol.
//
//   1. The first bytes tell the version of HTTP, unless the TLS handshake has agreed on one.
//   2. Bytes that arrive go through TLS to the session. Output goes back the same way at the end of each
//      turn.
//   3. A connection whose bytes take long is costly. It reads fewer bytes at a time, and the loop serves the
//      others first.
//   4. A connection that ends sends its output first. It then reads and drops what the client still sends
//      for a while, because the system would otherwise discard an answer that the client has not read yet.

internal import ByteStore
internal import Libc

/// A connection of a client. All of it runs on its loop.
final class Connection: EventReceiver {
  private enum Phase {
    /// The version of HTTP is not known yet. The bytes are the first ones.
    case opening([UInt8])
    case open(any ConnectionSession)
    /// The output leaves, and nothing is read.
    case finishing(any ConnectionSession)
    /// The server's side is closed. What arrives is dropped until this time.
    case lingering(until: UInt64)
    case closed
  }

  private enum Constants {
    static let outputBytesMax = 64 * 1024
    /// With more output, the connection is not read from.
    static let unsentBytesMax = 1024 * 1024
    static let plainBytesMax = 16 * 1024
    static let keptCapacity = 4096
    /// A read should not take longer. A client that floods the server then delays others by little.
    static let readNanoseconds: UInt64 = 200_000
    static let readBytesMin = 512
    static let lingerNanoseconds: UInt64 = 2_000_000_000
    static let prefaceStart = Array("PRI ".utf8)
  }

  private let socket: Int32
  private let loop: EventLoop
  private let server: any ConnectionServer
  private var info: ConnectionInfo
  private var tls: TLSSession?
  private var phase = Phase.opening([])

  private var output: [UInt8] = []
  private var outputStart = 0
  private var plainOutput: [UInt8] = []
  private var plainInput: [UInt8] = []
  /// The limit of the next read.
  private var readBytesMax = ReadBuffer.byteCount
  private var isReading = true
  private var isWriting = false
  private var isInTurn = false

  private let opened: UInt64
  private var lastActivity: UInt64
  private var lastProgress: UInt64
  private var hasReceived = false
  private var hasInputEnded = false
  private var isDraining = false

  /// The position of the loop among the loops of the server.
  let position: Int

  init(
    _ socket: Int32, _ info: ConnectionInfo, on loop: EventLoop, at position: Int,
    of server: any ConnectionServer
  ) {
    self.position = position
    self.socket = socket
    self.info = info
    self.loop = loop
    self.server = server
    opened = loop.clock.now()
    lastActivity = opened
    lastProgress = opened
  }

  /// Begins to read. Called on the loop.
  func start() {
    server.observer.connectionOpened(info)
    if info.isEncrypted {
      do throws(TLSError) { tls = try server.makeTLSSession() } catch {
        refuse(.tlsHandshake, error.description)
        return close()
      }
    }
    if !loop.add(self, socket, number: info.number, reads: true, writes: false) {
      refuse(.descriptors, "the event queue is full")
      close()
    }
  }

  // MARK: - Events

  func ready(canRead: Bool, canWrite: Bool, hasFailed: Bool) {
    if canWrite { flush() }
    // The flush closes a broken connection. Its descriptor can already be that of another one.
    if canRead || hasFailed, !isClosed { read() }
  }

  func turnEnded() {
    session?.endTurn()
    isInTurn = false
    if !isClosed { flush() }
  }

  func tick(now: UInt64) {
    if let (refusal, detail) = exceededTime(now) {
      refuse(refusal, detail)
      return close()
    }
    guard case .open(let session) = phase else {
      if case .lingering(let end) = phase, now > end { close() }
      return
    }
    if unsentCount == 0, hasPassed(1, since: lastProgress, at: now) { releaseBuffers() }
    do throws(SessionError) { try session.tick(now: now) } catch {
      return finish(session, error)
    }
    if session.openRequests > 0 { lastActivity = now }
    let lastUse = max(lastActivity, session.lastRequest)
    if session.openRequests == 0, !isDraining, hasPassed(server.limits.idleSeconds, since: lastUse, at: now) {
      isDraining = true
      refuse(.idle, "no request for a long time")
      session.drain()
    }
    wake()
  }

  func stop() { close() }

  /// Refuses new requests, and closes after those that are open.
  func drain() {
    switch phase {
    case .opening: close()
    case .open(let session):
      isDraining = true
      session.drain()
      wake()
    case .finishing, .lingering, .closed: break
    }
  }

  private func exceededTime(_ now: UInt64) -> (Refusal, String)? {
    switch phase {
    case .opening:
      if !hasReceived, hasPassed(server.limits.firstByteSeconds, since: opened, at: now) {
        return (.firstByteTimeout, "nothing arrived")
      }
      guard hasPassed(server.limits.headerSeconds, since: opened, at: now) else { return nil }
      if let tls, !tls.isReady { return (.tlsHandshake, "the handshake did not end in time") }
      return (.headerTimeout, "no request arrived")
    case .open, .finishing:
      guard unsentCount > 0, hasPassed(server.limits.unreadSeconds, since: lastProgress, at: now) else {
        return nil
      }
      return (.unread, "the client does not read")
    case .lingering, .closed: return nil
    }
  }

  private func hasPassed(_ seconds: Int, since start: UInt64, at now: UInt64) -> Bool {
    now > start && now - start > UInt64(seconds) * 1_000_000_000
  }

  private func refuse(_ refusal: Refusal, _ detail: String) {
    server.observer.refused(refusal, info, detail: detail)
  }

  // MARK: - Input

  /// Whether the last reads took long, or the handshake is not complete, which costs more than any request.
  var isCostly: Bool { readBytesMax < ReadBuffer.byteCount || tls?.isReady == false }

  private func read() {
    let start = loop.clock.exact()
    readSome()
    let time = loop.clock.exact() - start
    if time > Constants.readNanoseconds {
      readBytesMax = max(Constants.readBytesMin, readBytesMax / 2)
    } else if time < Constants.readNanoseconds / 4 {
      readBytesMax = min(ReadBuffer.byteCount, readBytesMax * 2)
    }
  }

  private func readSome() {
    let buffer = unsafe UnsafeMutableRawBufferPointer(rebasing: loop.readBuffer.bytes[..<readBytesMax])
    let count: Int
    do throws(SocketFailure) {
      var span = unsafe MutableRawSpan(_unsafeBytes: buffer)
      count = try loop.sockets.receive(socket, into: &span)
    } catch {
      return error.isTemporary ? () : receiveEnd(isFailure: true)
    }
    guard count > 0 else { return receiveEnd(isFailure: false) }
    hasReceived = true
    let bytes = unsafe UnsafeRawBufferPointer(rebasing: buffer[0..<count])
    guard let tls else { return unsafe receive(bytes) }
    do throws(TLSError) { unsafe try tls.receive(bytes, into: &plainInput) } catch {
      refuse(.tlsHandshake, error.description)
      return end()
    }
    wake()
    let plain = plainInput
    plainInput = []
    if !plain.isEmpty { unsafe plain.withUnsafeBytes { unsafe receive($0) } }
    if tls.hasReceivedEnd { receiveEnd(isFailure: false) }
  }

  private func receive(_ bytes: UnsafeRawBufferPointer) {
    switch phase {
    case .opening(let first): unsafe open(first, bytes)
    case .open(let session): unsafe receive(bytes, session)
    case .finishing, .lingering, .closed: break
    }
  }

  private func open(_ first: [UInt8], _ bytes: UnsafeRawBufferPointer) {
    let start = unsafe first + bytes.prefix(Constants.prefaceStart.count)
    let isPreface = start.starts(with: Constants.prefaceStart)
    guard isPreface || !Constants.prefaceStart.starts(with: start) else {
      phase = .opening(unsafe first + bytes)
      return
    }
    info.version = isPreface || tls?.applicationProtocol == .h2 ? 2 : 1
    do throws(SessionError) {
      let session = try makeSession()
      phase = .open(session)
      if !first.isEmpty { unsafe first.withUnsafeBytes { unsafe receive($0, session) } }
      if case .open = phase { unsafe receive(bytes, session) }
    } catch {
      refuse(error.refusal, error.detail)
      end()
    }
  }

  private func makeSession() throws(SessionError) -> any ConnectionSession {
    var services = SessionServices(
      handler: server.handler, loop: loop, pool: server.pool, observer: server.observer)
    services.limits = server.limits
    services.budget = server.budget
    let context = SessionContext(info, services, clock: loop.clock) { [weak self] in self?.wake() }
    return try server.makeSession(context)
  }

  private func receive(_ bytes: UnsafeRawBufferPointer, _ session: any ConnectionSession) {
    do throws(SessionError) { unsafe try session.receive(bytes) } catch { finish(session, error) }
    wake()
  }

  private func receiveEnd(isFailure: Bool) {
    guard !isFailure, !hasInputEnded else { return close() }
    switch phase {
    case .open(let session): session.receiveEnd()
    // A client that has broken a rule still gets the answers to what it has sent before.
    case .finishing: break
    case .opening, .lingering, .closed: return close()
    }
    hasInputEnded = true
    isReading = false
    updateInterest()
    wake()
  }

  /// Ends a session whose client has broken a rule, after what it has to say.
  private func finish(_ session: any ConnectionSession, _ error: SessionError) {
    refuse(error.refusal, error.detail)
    phase = .finishing(session)
    wake()
  }

  // MARK: - Output

  /// Sends output at the end of this turn.
  private func wake() {
    guard !isInTurn else { return }
    isInTurn = true
    loop.callAtEndOfTurn(self)
  }

  private var unsentCount: Int { output.count - outputStart }

  private func flush() {
    while true {
      if unsentCount == 0, !fill() { break }
      guard let count = sendOutput() else { return close() }
      guard count > 0 else {
        setWriting(true)
        return setReading(unsentCount < Constants.unsentBytesMax && session?.wantsInput != false)
      }
      lastProgress = loop.clock.now()
      outputStart += count
    }
    setWriting(false)
    setReading(session?.wantsInput != false)
    switch phase {
    case .open(let session): if session.isFinished { end() }
    case .finishing: end()
    case .opening, .lingering, .closed: break
    }
  }

  /// Returns the number of bytes that were sent, 0 if the socket is full, and nil if it has failed.
  private func sendOutput() -> Int? {
    let output = output
    do throws(SocketFailure) {
      return try loop.sockets.send(socket, output.rawSpan.extracting(outputStart..<output.count))
    } catch {
      return error.isTemporary ? 0 : nil
    }
  }

  /// Takes more output. Returns false if there is none.
  private func fill() -> Bool {
    output.removeAll(keepingCapacity: true)
    outputStart = 0
    lastProgress = loop.clock.now()
    guard let tls else {
      session?.moveOutput(to: &output, bytesMax: Constants.outputBytesMax)
      return !output.isEmpty
    }
    if let session, tls.isReady {
      plainOutput.removeAll(keepingCapacity: true)
      session.moveOutput(to: &plainOutput, bytesMax: Constants.plainBytesMax)
      if !plainOutput.isEmpty {
        do throws(TLSError) { try tls.send(plainOutput) } catch { return false }
      }
    }
    tls.moveOutput(to: &output, bytesMax: Constants.outputBytesMax)
    return !output.isEmpty
  }

  private var session: (any ConnectionSession)? {
    switch phase {
    case .open(let session), .finishing(let session): session
    case .opening, .lingering, .closed: nil
    }
  }

  private func releaseBuffers() {
    if output.capacity > Constants.keptCapacity { output = [] }
    if plainOutput.capacity > Constants.keptCapacity { plainOutput = [] }
  }

  private func setWriting(_ isWanted: Bool) {
    guard isWriting != isWanted else { return }
    isWriting = isWanted
    updateInterest()
  }

  private func setReading(_ isWanted: Bool) {
    guard isReading != isWanted, !hasInputEnded, case .open = phase else { return }
    isReading = isWanted
    updateInterest()
  }

  private func updateInterest() {
    loop.change(socket, number: info.number, reads: isReading, writes: isWriting)
  }

  // MARK: - The end

  private var isClosed: Bool { if case .closed = phase { true } else { false } }

  /// Closes the server's side, and drops what the client still sends.
  private func end() {
    session?.close()
    if let tls {
      tls.close()
      var rest: [UInt8] = []
      tls.moveOutput(to: &rest, bytesMax: Constants.outputBytesMax)
      _ = try? loop.sockets.send(socket, rest.rawSpan)
      self.tls = nil
    }
    loop.sockets.shutdownSending(socket)
    phase = .lingering(until: loop.clock.now() + Constants.lingerNanoseconds)
    isReading = !hasInputEnded
    isWriting = false
    updateInterest()
  }

  private func close() {
    guard !isClosed else { return }
    let session = session
    phase = .closed
    session?.close()
    loop.remove(number: info.number)
    loop.sockets.close(socket)
    // The observer is last, because a connection that it knows to be closed must not count any more.
    server.connectionClosed(self, info)
    server.observer.connectionClosed(info)
  }
}

extension SocketFailure {
  /// Whether the same call may succeed later.
  fileprivate var isTemporary: Bool { code == EAGAIN || code == EINTR }
}

/// The parts of a server that its connections share.
protocol ConnectionServer: AnyObject {
  var limits: HTTPLimits { get }
  var handler: any HTTPHandler { get }
  var pool: any BlockPool { get }
  var observer: any TransportObserver { get }
  var budget: HeldMemory { get }
  func makeTLSSession() throws(TLSError) -> TLSSession
  func makeSession(_ context: SessionContext) throws(SessionError) -> any ConnectionSession
  /// Called on the loop of the connection.
  func connectionClosed(_ connection: Connection, _ info: ConnectionInfo)
}
