// The state that the loops of a server share: who is connected, and where.

internal import ByteStore
internal import Synchronization

/// The connections of a server. Usable from any thread, except where a loop is named.
final class SharedServer: ConnectionServer, Sendable {
  /// Connections beyond the limit, for listeners with a reserve.
  private static let reservedConnections = 64
  /// A quarter of the descriptors is not for connections, up to this number.
  private static let keptDescriptorsMax: Int32 = 1024
  private static let keptShare: Int32 = 4

  private struct State {
    var counts: [Int]
    var total = 0
    var byNetwork: [String: Int] = [:]
    /// The networks of connections that count.
    var networks: [UInt64: String] = [:]
  }

  /// The connections of one loop.
  private final class LoopConnections: @unchecked Sendable {
    // Why `@unchecked Sendable` is correct: only used on its loop.
    var open: [UInt64: Connection] = [:]
    var isDraining = false
  }

  let limits: HTTPLimits
  let handler: any HTTPHandler
  let pool: any BlockPool
  let observer: any TransportObserver
  let budget: HeldMemory
  /// Whether a proxy connects from an address.
  let isProxy: @Sendable (_ peer: String) -> Bool
  private let addresses: [ListenAddress]
  private let tls: TLSContext?
  private let state: Locked<State>
  private let emptied = Signal()
  private let connections: [LoopConnections]
  private let lastNumber = Atomic<UInt64>(0)

  init(
    _ options: HTTPServerOptions, handler: any HTTPHandler, observer: any TransportObserver, loopCount: Int
  ) {
    limits = options.limits
    self.handler = handler
    self.observer = observer
    tls = options.tls
    isProxy = options.isProxy
    addresses = options.addresses
    budget = HeldMemory(bytesMax: options.limits.heldBytesMax)
    pool = options.pool ?? ThreadPool(threadsMax: options.threadsMax)
    state = Locked(State(counts: Array(repeating: 0, count: loopCount)))
    connections = (0..<loopCount).map { _ in LoopConnections() }
  }

  var connectionCount: Int { state.withLock { $0.total } }

  func nextNumber() -> UInt64 { lastNumber.add(1, ordering: .relaxed).newValue }

  /// Whether a listener accepts connections that others refuse.
  func hasReserve(_ listener: Int) -> Bool {
    addresses.indices.contains(listener) && addresses[listener].hasReserve
  }

  /// The descriptor with which the refusal of connections begins. A process gives new files the lowest number
  /// that is free, so a high number says that few are left.
  static func descriptorsEnd(limit: Int32, hasReserve: Bool) -> Int32 {
    let kept = min(limit / keptShare, keptDescriptorsMax)
    return limit - (hasReserve ? kept / 2 : kept)
  }

  /// Counts a connection and chooses its loop. Returns nil if there are too many connections.
  func admit(_ info: ConnectionInfo, of network: String) -> Int? {
    let (loop, refusal): (Int?, Refusal?) = state.withLock { state in
      let reserve = hasReserve(info.listener) ? Self.reservedConnections : 0
      guard state.total < limits.connectionsMax + reserve else { return (nil, .connections) }
      let ofAddress = state.byNetwork[network, default: 0]
      let isCounted = !info.isLoopback && !info.isProxy
      guard !isCounted || ofAddress < limits.connectionsPerAddressMax else {
        return (nil, .connectionsPerAddress)
      }
      guard let loop = state.counts.indices.min(by: { state.counts[$0] < state.counts[$1] }) else {
        return (nil, .connections)
      }
      state.total += 1
      state.counts[loop] += 1
      if isCounted {
        state.byNetwork[network] = ofAddress + 1
        state.networks[info.number] = network
      }
      return (loop, nil)
    }
    if let refusal { observer.refused(refusal, info, detail: "too many connections") }
    return loop
  }

  /// Opens a connection on its loop, by which this is called.
  func open(_ socket: Int32, _ info: ConnectionInfo, on loop: EventLoop, at position: Int) {
    let connection = Connection(socket, info, on: loop, at: position, of: self)
    connections[position].open[info.number] = connection
    connection.start()
    if connections[position].isDraining { connection.drain() }
  }

  func connectionClosed(_ connection: Connection, _ info: ConnectionInfo) {
    connections[connection.position].open[info.number] = nil
    state.withLock { state in
      state.total -= 1
      state.counts[connection.position] -= 1
      guard let network = state.networks.removeValue(forKey: info.number),
        let count = state.byNetwork[network]
      else { return }
      state.byNetwork[network] = count == 1 ? nil : count - 1
    }
    emptied.wake()
  }

  /// Drains the connections of a loop, on which this is called.
  func drain(loop position: Int) {
    connections[position].isDraining = true
    let open = connections[position].open
    for number in open.keys.sorted() { open[number]?.drain() }
  }

  func waitUntilEmpty(nanoseconds: UInt64) {
    state.withLock(wokenBy: emptied, within: nanoseconds, when: { $0.total == 0 }, { _ in })
  }

  func makeTLSSession() throws(TLSError) -> TLSSession {
    guard let tls else { throw TLSError("the server has no certificate") }
    return try tls.makeSession()
  }

  func makeSession(_ context: SessionContext) throws(SessionError) -> any ConnectionSession {
    guard context.connection.version == 2 else { return HTTP1Session(context) }
    #if Server
    return try HTTP2Session(context)
    #else
    throw SessionError(.malformed, "this program was built without the trait 'Server'")
    #endif
  }
}
