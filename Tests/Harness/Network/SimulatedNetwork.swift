// A network in memory, for servers without threads.
//
// Every call has three steps: check the descriptor, consult the faults, execute the call. A call with a
// descriptor that is not open is a violation: on a real system it would reach another connection. Bytes move
// between the ends when the simulation delivers them. The same seed and the same calls give the same trace.

package import HTTPTransport
import Libc

package final class SimulatedNetwork: SocketSystem, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: a simulation has one thread.

  enum Descriptor {
    case listener
    case link(SimulatedLink)
    case spare
  }

  private static let start: UInt64 = 10_000_000_000

  package var faults: NetworkFaults
  var random: SeededRandom
  /// The time. The clock of the server is coarser.
  private(set) var now = SimulatedNetwork.start
  private(set) var descriptors: [Int32: Descriptor] = [:]
  /// Connections that wait to be accepted.
  private(set) var backlog: [SimulatedLink] = []
  private(set) var links: [SimulatedLink] = []
  private(set) var queues: [SimulatedQueue] = []
  /// The first rule that the server has broken.
  package private(set) var violation: String?
  /// Changes whenever a call has an effect. A loop whose turns do not change it is busy for nothing.
  private(set) var progress = 0
  package private(set) var trace = NetworkTrace()
  private var lastDescriptor: Int32 = 2

  package init(seed: UInt64, faults: NetworkFaults = NetworkFaults(), recordsTrace: Bool = false) {
    random = SeededRandom(seed: seed)
    self.faults = faults
    trace.isRecorded = recordsTrace
  }

  // MARK: The simulation

  package var clock: MonotonicClock {
    MonotonicClock { [unowned self] in now / faults.clockStep * faults.clockStep }
  }

  /// The time since the beginning.
  var elapsed: UInt64 { now - Self.start }

  func advance(_ nanoseconds: UInt64) {
    now += nanoseconds
    progress += 1
  }

  /// Whether the server listens.
  var isListening: Bool { descriptors.values.contains { if case .listener = $0 { true } else { false } } }

  /// Connects a client. Returns nil if the server does not listen.
  func connect(from peer: String) -> SimulatedLink? {
    guard isListening else { return nil }
    func bytes() -> Int { [20, 200, 1000, 4000, 16_000][random.below(5)] + random.below(200) }
    let link = SimulatedLink(links.count, peer: peer, bufferBytes: (bytes(), bytes()))
    links.append(link)
    backlog.append(link)
    note(.connect, -1, link.number)
    return link
  }

  func link(of peer: String) -> SimulatedLink? { links.first { $0.peer == peer } }

  func deliver(_ link: SimulatedLink) {
    if link.stallsLeft > 0, strikes(faults.stalled) {
      link.stallsLeft -= 1
      link.heldUntil = now + UInt64(random.below(700)) * 1_000_000
    }
    link.deliver(&random)
  }

  func note(_ event: NetworkTrace.Event, _ descriptor: Int32, _ value: Int) {
    trace.add(event, at: elapsed, descriptor: Int(descriptor), value: value)
  }

  func noteProgress() { progress += 1 }

  func violate(_ text: String) { violation = violation ?? "\(text), at \(elapsed) ns" }

  func strikes(_ rate: Int) -> Bool { rate > 0 && random.oneIn(rate) }

  private var isScarce: Bool { faults.scarce.contains(elapsed) }

  // MARK: SocketSystem

  package func makeEventQueue() throws(TransportError) -> any EventQueue {
    let queue = SimulatedQueue(of: self, position: queues.count)
    queues.append(queue)
    return queue
  }

  package func listen(
    _ host: String, port: Int, backlog: Int32
  ) throws(SocketFailure) -> (socket: Int32, port: Int) {
    let socket = open(.listener)
    note(.listen, socket, port)
    return (socket, port == 0 ? 8080 : port)
  }

  package func accept(_ listener: Int32) throws(SocketFailure) -> AcceptedSocket {
    try check(listener, "accept") { if case .listener = $0 { true } else { false } }
    try interrupt(.accept, listener)
    guard !backlog.isEmpty else { throw failure(.accept, listener, EAGAIN) }
    guard !isScarce else { throw failure(.accept, listener, random.oneIn(2) ? ENFILE : ENOBUFS) }
    guard descriptors.count < faults.descriptorsMax else { throw failure(.accept, listener, EMFILE) }
    progress += 1
    if strikes(faults.refused) { throw failure(.accept, listener, EPROTO) }
    let link = backlog.remove(at: 0)
    if strikes(faults.aborted) {
      link.resetOfClient = .inFlight
      throw failure(.accept, listener, ECONNABORTED)
    }
    let socket = open(.link(link))
    note(.accept, listener, Int(socket))
    return AcceptedSocket(socket: socket, peer: link.peer, network: link.peer, isLoopback: false)
  }

  package func receive(_ socket: Int32, into buffer: inout MutableRawSpan) throws(SocketFailure) -> Int {
    let link = try link(socket, "receive")
    try interrupt(.receive, socket)
    try breakLink(link, .receive, socket)
    let available = min(link.toServer.received.count, buffer.byteCount)
    guard available > 0 else { return try receiveEnd(link, socket) }
    progress += 1
    let count = strikes(faults.short) ? 1 + random.below(available) : available
    let bytes = link.toServer.received.take(count)
    buffer.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
    link.lastReceived = now
    note(.receive, socket, count)
    return count
  }

  private func receiveEnd(_ link: SimulatedLink, _ socket: Int32) throws(SocketFailure) -> Int {
    if link.resetOfServer == .arrived, !link.isResetReported {
      link.isResetReported = true
      progress += 1
      throw failure(.receive, socket, ECONNRESET)
    }
    guard link.toServer.hasEndArrived || link.resetOfServer == .arrived else {
      throw failure(.receive, socket, EAGAIN)
    }
    note(.receive, socket, 0)
    return 0
  }

  package func send(_ socket: Int32, _ bytes: RawSpan) throws(SocketFailure) -> Int {
    let link = try link(socket, "send")
    guard !link.toClient.isEnded else {
      violate("send on the socket \(socket), whose sending side is shut down")
      throw failure(.send, socket, EPIPE)
    }
    try interrupt(.send, socket)
    try breakLink(link, .send, socket)
    guard link.resetOfServer != .arrived else {
      let isFirst = !link.isResetReported
      link.isResetReported = true
      throw failure(.send, socket, isFirst && random.oneIn(2) ? ECONNRESET : EPIPE)
    }
    let most = min(bytes.byteCount, link.toClient.room)
    guard most > 0 else { throw failure(.send, socket, EAGAIN) }
    progress += 1
    let count = strikes(faults.single) ? 1 : strikes(faults.short) ? 1 + random.below(most) : most
    link.toClient.sending.append(bytes.extracting(0..<count).withUnsafeBytes { Array($0) })
    link.lastSent = now
    link.sentCount += count
    note(.send, socket, count)
    return count
  }

  package func shutdownSending(_ socket: Int32) {
    guard let link = try? link(socket, "shutdown") else { return }
    progress += 1
    note(.shutdown, socket, 0)
    link.toClient.isEnded = true
  }

  package func openSpare() -> Int32? {
    guard !isScarce, descriptors.count < faults.descriptorsMax else { return nil }
    let spare = open(.spare)
    note(.spare, spare, 0)
    return spare
  }

  package func close(_ descriptor: Int32) {
    guard let closed = descriptors.removeValue(forKey: descriptor) else {
      return violate("close of the descriptor \(descriptor), which is not open")
    }
    note(.close, descriptor, 0)
    for queue in queues { queue.forget(descriptor) }
    switch closed {
    case .link(let link):
      progress += 1
      link.serverClose()
    case .listener:
      progress += 1
      for link in backlog { link.resetOfClient = .inFlight }
      backlog = []
    case .spare: break
    }
  }

  // MARK: Descriptors and faults

  private func open(_ descriptor: Descriptor) -> Int32 {
    var number: Int32 = 3
    if faults.reusesDescriptors {
      while descriptors[number] != nil { number += 1 }
    } else {
      number = lastDescriptor + 1
      lastDescriptor = number
    }
    descriptors[number] = descriptor
    return number
  }

  private func check(
    _ descriptor: Int32, _ call: String, isRight: (Descriptor) -> Bool
  ) throws(SocketFailure) {
    if let open = descriptors[descriptor], isRight(open) { return }
    violate("\(call) on the descriptor \(descriptor), which is not open for it")
    throw SocketFailure(code: EBADF)
  }

  private func link(_ socket: Int32, _ call: String) throws(SocketFailure) -> SimulatedLink {
    try check(socket, call) { if case .link = $0 { true } else { false } }
    guard case .link(let link)? = descriptors[socket] else { throw SocketFailure(code: EBADF) }
    return link
  }

  private func interrupt(_ event: NetworkTrace.Event, _ descriptor: Int32) throws(SocketFailure) {
    guard strikes(faults.empty) || strikes(faults.interrupted) else { return }
    progress += 1
    throw failure(event, descriptor, random.oneIn(2) ? EAGAIN : EINTR)
  }

  private func breakLink(
    _ link: SimulatedLink, _ event: NetworkTrace.Event, _ descriptor: Int32
  ) throws(SocketFailure) {
    guard strikes(faults.broken) else { return }
    progress += 1
    throw failure(event, descriptor, [ECONNRESET, ETIMEDOUT, EPIPE, ENOBUFS][random.below(4)])
  }

  private func failure(
    _ event: NetworkTrace.Event, _ descriptor: Int32, _ code: Int32
  ) -> SocketFailure {
    note(event, descriptor, -Int(code))
    return SocketFailure(code: code)
  }
}
