// One history of a server and its clients on a simulated network (docs/testing.md).
//
//   1. The server listens. Clients connect, send, read, stop and go away, each step when the seed says so.
//      Turns of the loops, blocks of the pool and bytes on their way are steps, too.
//   2. When nothing can step, the time goes to the next time-out. A client that does nothing more must be
//      closed by the server.
//   3. The server drains and ends. Then no descriptor is open, and no memory is held.

#if Server
import HTTPTransport

package struct ConnectionHistory {
  package struct Result: Sendable {
    package var failure: String?
    package var trace: UInt64 = 0
    package var traceLines: [String] = []
    package var counts: [String: Int] = [:]
  }

  /// The maximum of steps. A history with more is an endless loop.
  private static let stepsMax = 200_000
  /// Turns without any effect, one after the other, after which a loop is busy for nothing.
  private static let idleTurnsMax = 20
  private static let second: UInt64 = 1_000_000_000

  let network: SimulatedNetwork
  let handler: PlannedHandler
  let observer: NetworkObserver
  let pool = SimulatedPool()
  let limits: HTTPLimits
  let server: HTTPServer
  var random: SeededRandom
  var clients: [SimulatedClient] = []
  private(set) var kinds: [ClientScript.Kind] = []
  private var deadlines: [UInt64]
  private var idleTurns = 0
  private let isTight: Bool
  private(set) var drained: UInt64?
  /// The loops that have had a turn since the drain began.
  private var drainedLoops: Set<Int> = []
  /// Whether the drain begins while clients are at work.
  private(set) var drainsEarly = false
  private(set) var steps = 0
  /// The time of all jumps.
  private var jumped: UInt64 = 0

  package static func run(seed: UInt64, recordsTrace: Bool = false) -> Result {
    var result = Result()
    do throws(NetworkViolation) {
      var history = try ConnectionHistory(seed: seed, recordsTrace: recordsTrace)
      do throws(NetworkViolation) { try history.run() } catch { result.failure = error.text }
      result.trace = history.network.trace.hash
      result.traceLines = history.network.trace.lines
      result.counts = history.counts
    } catch {
      result.failure = error.text
    }
    return result
  }

  private init(seed: UInt64, recordsTrace: Bool) throws(NetworkViolation) {
    random = SeededRandom(seed: seed)
    var faults = NetworkFaults.harmless(&random)
    if random.oneIn(3) { faults.addLosses(&random) }
    network = SimulatedNetwork(seed: random.next(), faults: faults, recordsTrace: recordsTrace)
    var limits = Self.limits(&random)
    isTight = random.oneIn(6)
    if isTight { Self.tighten(&limits, &random) }
    self.limits = limits
    handler = PlannedHandler(network, limits: limits)
    observer = NetworkObserver(network)
    var options = HTTPServerOptions([ListenAddress(host: "10.0.0.0", port: 8080)])
    options.limits = limits
    options.loopCount = 1 + random.below(3)
    options.sockets = network
    options.pool = pool
    do throws(TransportError) {
      server = try HTTPServer(options, handler: handler, observer: observer)
      _ = try server.startWithoutThreads()
    } catch {
      throw NetworkViolation("the server does not start: \(error)")
    }
    deadlines = Array(repeating: 0, count: server.loops.count)
    drainsEarly = random.oneIn(6)
    addClients()
  }

  private mutating func addClients() {
    for number in 1...1 + random.below(5) {
      let kind = ClientScript.Kind.allCases[random.below(ClientScript.Kind.allCases.count)]
      let script = ClientScript.random(kind, firstID: 1000 * number, limits, &random)
      for plan in script.plans { handler.add(plan) }
      clients.append(SimulatedClient(number, script, network, isLossy: !isStrict))
      kinds.append(kind)
    }
  }

  /// Whether each client must get what its script expects.
  var isStrict: Bool { isHarmless && !drainsEarly }

  /// Whether neither faults nor limits end what clients do right.
  var isHarmless: Bool { !network.faults.losesConnections && !isTight }

  // MARK: The run

  private mutating func run() throws(NetworkViolation) {
    try runUntil(within: 300) { $0.areClientsDone }
    try checkClients()
    server.beginDrain()
    drained = network.now
    try runUntil(within: 100) { $0.server.connectionCount == 0 && !$0.network.isListening }
    try end()
  }

  /// Whether all clients have run their scripts, and the server has closed all connections.
  private var areClientsDone: Bool {
    clients.allSatisfy(\.isDone) && server.connectionCount == 0 && network.backlog.isEmpty
  }

  private mutating func runUntil(
    within seconds: UInt64, _ isOver: (borrowing ConnectionHistory) -> Bool
  ) throws(NetworkViolation) {
    let end = network.now - jumped + seconds * Self.second
    while !isOver(self) {
      steps += 1
      guard steps < Self.stepsMax else { throw NetworkViolation("the history has no end\(openText)") }
      guard network.now - jumped < end else {
        throw NetworkViolation("after \(seconds) s there are connections\(openText)")
      }
      try step()
      if let violation = network.violation { throw NetworkViolation(violation) }
    }
  }

  private var openText: String {
    let open = zip(kinds, clients).filter { kind, client in
      let connection = observer.connections[client.peer]
      return !client.isDone || connection?.opened != nil && connection?.closed == nil
    }
    return ": "
      + open.map { "\($0.rawValue) \($1.number)\($1.isClosed ? "" : ", not closed by itself")" }
      .joined(separator: ", ")
  }

  private enum Actor {
    case loop(Int)
    case link(Int)
    case client(Int)
    case pool
  }

  private mutating func step() throws(NetworkViolation) {
    if random.oneIn(16) { network.advance(UInt64(random.below(200_000))) }
    if network.strikes(network.faults.jumps) { jump() }
    if drainsEarly, drained == nil, random.oneIn(200) {
      server.beginDrain()
      drained = network.now
    }
    let actors = actors
    guard !actors.isEmpty else { return passTime() }
    switch actors[random.below(actors.count)] {
    case .loop(let index): try turn(index)
    case .link(let index): network.deliver(network.links[index])
    case .client(let index):
      do throws(NetworkViolation) { try clients[index].step(&random) } catch {
        throw NetworkViolation("client \(clients[index].number): \(error.text)")
      }
    case .pool:
      network.note(.pool, -1, 0)
      network.noteProgress()
      pool.runOne(&random)
    }
  }

  private var actors: [Actor] {
    var actors: [Actor] = []
    let now = network.now
    for index in server.loops.indices where isRunnable(index) { actors.append(.loop(index)) }
    for link in network.links where link.canDeliver(at: now) { actors.append(.link(link.number)) }
    for (index, client) in clients.enumerated() where client.canStep(at: now) {
      actors.append(.client(index))
    }
    if !pool.isEmpty { actors.append(.pool) }
    return actors
  }

  private func isRunnable(_ index: Int) -> Bool {
    network.queues[index].isReady || deadlines[index] <= network.now
      || server.loops[index].waitMilliseconds == 0
  }

  private mutating func turn(_ index: Int) throws(NetworkViolation) {
    let progress = network.progress
    let isCaused = deadlines[index] > network.now
    network.note(.turn, Int32(index), 0)
    handler.mustBeIdle = drainedLoops.contains(index)
    _ = server.loops[index].runTurn()
    handler.mustBeIdle = false
    if drained != nil { drainedLoops.insert(index) }
    deadlines[index] = network.now + UInt64(server.loops[index].waitMilliseconds) * 1_000_000
    guard isCaused, network.progress == progress else {
      idleTurns = 0
      return
    }
    idleTurns += 1
    if idleTurns > Self.idleTurnsMax { throw NetworkViolation("the loop \(index) is busy for nothing") }
  }

  /// Goes to the time at which something can happen.
  private mutating func passTime() {
    let now = network.now
    let times =
      deadlines + clients.compactMap(\.wakes) + network.links.map(\.heldUntil).filter { $0 > now }
    let next = times.filter { $0 > now }.min() ?? now + Self.second
    network.advance(next - now)
  }

  /// Lets time pass although there is work, as if the machine had been busy: to just before or just behind
  /// the end of a time.
  private mutating func jump() {
    let seconds = [
      1, limits.firstByteSeconds, limits.headerSeconds, limits.idleSeconds, limits.pingSeconds,
      limits.pingAnswerSeconds, limits.unreadSeconds,
    ][random.below(7)]
    let time = UInt64(seconds) * Self.second + UInt64(random.below(3)) - 1
    jumped += time
    network.advance(time)
  }

  private mutating func end() throws(NetworkViolation) {
    for loop in server.loops { loop.runEnd() }
    while !pool.isEmpty { pool.runOne(&random) }
    // Blocks of the pool have sent answers that no connection takes any more.
    for loop in server.loops { loop.runEnd() }
    if let violation = network.violation { throw NetworkViolation(violation) }
    guard network.descriptors.isEmpty else {
      throw NetworkViolation("\(network.descriptors.count) descriptors are open at the end")
    }
    guard network.queues.allSatisfy(\.isEmpty) else {
      throw NetworkViolation("a queue has descriptors at the end")
    }
    guard server.heldBytes == 0 else {
      throw NetworkViolation("\(server.heldBytes) bytes are held at the end")
    }
    if let violation = handler.finalViolation { throw NetworkViolation(violation) }
    for (peer, connection) in observer.connections where connection.opened != nil {
      guard connection.closed != nil else {
        throw NetworkViolation("the connection of \(peer) is not closed")
      }
    }
  }
}
#endif
