// A server: its listeners, its loops, and the end of both.
//
//   1. `start` binds all addresses, and then starts the loops. The first loop accepts.
//   2. An accepted connection goes to the loop with the fewest connections, and never leaves it.
//   3. `drain` closes the listeners, lets each connection answer its open requests, and closes what is left
//      when the time is over.

internal import ByteStore
internal import Libc

/// Where a server listens.
package struct ListenAddress: Sendable, Hashable {
  /// An IPv4 or IPv6 address.
  package var host: String
  /// The port; 0 lets the system choose one.
  package var port: Int
  package var isEncrypted: Bool
  /// Whether connections are accepted although others take all that clients may have. For probes.
  package var hasReserve = false

  package init(host: String, port: Int, isEncrypted: Bool = false) {
    self.host = host
    self.port = port
    self.isEncrypted = isEncrypted
  }
}

/// How a server is set up.
package struct HTTPServerOptions: Sendable {
  package var addresses: [ListenAddress]
  package var limits = HTTPLimits()
  /// The number of event loops; 0 is one for each core, up to 8.
  package var loopCount = 0
  /// The certificate and key of encrypted addresses.
  package var tls: TLSContext?
  /// Whether a proxy connects from an address. Its connections do not count in the limit of an address.
  package var isProxy: @Sendable (_ peer: String) -> Bool = { _ in false }
  /// Threads for answers that may block.
  package var threadsMax = 16
  /// The network and the clock.
  package var sockets: any SocketSystem = SystemSockets()
  /// Replaces the threads.
  package var pool: (any BlockPool)?

  package init(_ addresses: [ListenAddress]) { self.addresses = addresses }
}

/// An HTTP server. Usable from any thread.
package final class HTTPServer: Sendable {
  private enum Phase {
    case created
    case running
    case draining
    case stopped
  }

  private let options: HTTPServerOptions
  private let shared: SharedServer
  /// The loops. `start` starts their threads.
  package let loops: [EventLoop]
  private let phase = Locked(Phase.created)
  private let listeners = Locked<[Listener]>([])

  /// Creates a server that does not listen yet. Throws `missingTrait` if the program was built without what
  /// the options need.
  package init(
    _ options: HTTPServerOptions, handler: any HTTPHandler, observer: any TransportObserver
  ) throws(TransportError) {
    guard Self.hasTrait else { throw .missingTrait("Server") }
    self.options = options
    let count = options.loopCount > 0 ? options.loopCount : min(8, max(1, Self.coreCount))
    var loops: [EventLoop] = []
    for _ in 0..<count { loops.append(try EventLoop(options.sockets)) }
    self.loops = loops
    shared = SharedServer(options, handler: handler, observer: observer, loopCount: count)
  }

  /// Whether the program was built with the trait that servers need.
  private static var hasTrait: Bool {
    #if Server
    true
    #else
    false
    #endif
  }

  private static var coreCount: Int { sysconf(Int32(_SC_NPROCESSORS_ONLN)) }

  /// The number of open connections.
  package var connectionCount: Int { shared.connectionCount }

  /// The bytes of all requests that are not complete, and of all answers that are not sent.
  package var heldBytes: Int { shared.budget.usedBytes }

  /// Listens, and returns the ports in the order of the addresses.
  package func start() throws(TransportError) -> [Int] {
    let bound = try bind()
    var running: [EventLoop] = []
    do throws(TransportError) {
      for loop in loops {
        try loop.start()
        running.append(loop)
      }
    } catch {
      for loop in running { loop.stop() }
      for listener in bound { listener.closeUnused() }
      throw error
    }
    return accept(from: bound)
  }

  /// Listens without threads, and returns the ports. The caller runs the turns of `loops`.
  package func startWithoutThreads() throws(TransportError) -> [Int] { accept(from: try bind()) }

  private func bind() throws(TransportError) -> [Listener] {
    var bound: [Listener] = []
    do throws(TransportError) {
      for (index, address) in options.addresses.enumerated() {
        bound.append(try Listener(address, index: index, loops: loops, shared: shared))
      }
    } catch {
      for listener in bound { listener.closeUnused() }
      throw error
    }
    return bound
  }

  private func accept(from bound: [Listener]) -> [Int] {
    phase.withLock { $0 = .running }
    listeners.withLock { $0 = bound }
    for listener in bound { loops[0].execute { listener.start() } }
    return bound.map(\.port)
  }

  /// Stops listening, waits until the open requests are answered, at most for this time, and closes all
  /// connections. Waits for the threads of the loops, so it is not called on one of them.
  package func drain(within seconds: Int) { drain(nanoseconds: UInt64(max(0, seconds)) * 1_000_000_000) }

  /// Drains within a time in nanoseconds. Before the loops end, it calls `beforeEnd`, whose blocks on them
  /// still run.
  package func drain(nanoseconds: UInt64, beforeEnd: () -> Void = {}) {
    guard beginDrain() else { return }
    shared.waitUntilEmpty(nanoseconds: nanoseconds)
    beforeEnd()
    for loop in loops { loop.stop() }
    phase.withLock { $0 = .stopped }
  }

  /// Stops listening and refuses new requests. Returns false if the server is not running.
  @discardableResult
  package func beginDrain() -> Bool {
    let isFirst = phase.withLock { phase in
      defer { if phase == .running { phase = .draining } }
      return phase == .running
    }
    guard isFirst else { return false }
    let closing = listeners.withLock { listeners in
      defer { listeners = [] }
      return listeners
    }
    loops[0].execute { for listener in closing { listener.stop() } }
    for (index, loop) in loops.enumerated() { loop.execute { [shared] in shared.drain(loop: index) } }
    return true
  }
}
