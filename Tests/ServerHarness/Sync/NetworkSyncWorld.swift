// A server and a proxy with faults, over sockets of loopback, for the histories of `campaign sync`.

#if Server
import Authority
import ByteStore
package import DocumentStore
import FirestoreRemote
package import Harness
package import OfflineSync

/// The surroundings of a history whose clients reach their authority over the network. Used on one thread.
package final class NetworkSyncWorld: SyncWorld, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the scheduler runs its jobs on the thread of the history.
  private static let timeScale = 40.0
  private static let startMicroseconds: Int64 = 1_700_000_000_000_000
  private static let longWait: Int64 = 100_000_000
  private static let longWaitFactor: Int64 = 6

  package struct Counts: Sendable {
    package var restarts = 0
    package var kills = 0
    package var powerLosses = 0
    package var faults: [ProxyFaults.Kind: Int] = [:]
  }

  private let loop = PollLoop()
  private let proxy: FaultyProxy
  private let scaled: ScaledScheduler
  private var disk = SimulatedDisk()
  private var server: LiveServer
  private var rules = AuthorityRules()
  private var random: SeededRandom
  private var isReachable = true
  private var counted = Counts()
  /// The connections and stores that have to be released after the history.
  package private(set) var remains = RemainingObjects()

  package init(random: inout SeededRandom) throws {
    self.random = SeededRandom(seed: random.next())
    server = try Self.start(disk, rules)
    remains.add(server.store)
    proxy = try FaultyProxy(
      loop: loop, upstreamPort: server.port, faults: ProxyFaults(seed: random.next(), oneIn: 0))
    let loop = LoopReference(loop)
    scaled = ScaledScheduler(scale: Self.timeScale, at: Self.startMicroseconds) { seconds in
      _ = loop.loop.run(seconds: seconds) { false }
    }
  }

  private static func start(_ disk: SimulatedDisk, _ rules: AuthorityRules) throws -> LiveServer {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let platform = Platform(fileSystem: disk, clock: SystemClock(), random: SystemRandom())
    return try LiveServer(
      try DocumentStore.open("/authority", options: options, platform: platform), rules: rules)
  }

  package var scheduler: any PlayedScheduler { scaled }
  package var authority: DocumentStore { server.store }
  package var counts: Counts {
    var counts = counted
    counts.faults = proxy.faults.counts
    return counts
  }

  package func makeRemote() -> any Remote {
    var options = FirestoreRemoteOptions(project: LiveServer.project)
    options.host = "127.0.0.1:\(proxy.port)"
    options.isSSLEnabled = false
    options.credentials = { request in request.user.map { .unsigned(for: $0) } }
    let transport = SystemTransport.make(host: options.host, isTLS: false)
    remains.add(transport)
    return FirestoreRemote(
      options, transport: transport,
      channels: WebChannels(transport, database: LiveServer.database, scheduler: scaled), on: scaled)
  }

  package func setRule(_ mayWrite: @escaping @Sendable ([Mutation]) -> RemoteError?) {
    rules.mayWrite = { _, mutations in mayWrite(mutations) }
    server.setRules(rules)
  }

  package func chooseFaults(_ random: inout SeededRandom) {
    proxy.faults.oneIn = random.oneIn(4) ? 0 : 2 + random.below(12)
  }

  package func endFaults() { proxy.faults.oneIn = 0 }

  package func setReachable(_ isReachable: Bool) {
    self.isReachable = isReachable
    if !isReachable { proxy.cutAll() }
    proxy.moveUpstream(to: isReachable ? server.port : FaultyProxy.unreachablePort)
  }

  package func refresh() {}

  package func restartIfDue() throws {
    switch random.below(4) {
    case 0:
      counted.restarts += 1
      try restart()
    case 1:
      let isPowerLoss = random.oneIn(2)
      if isPowerLoss { counted.powerLosses += 1 } else { counted.kills += 1 }
      // The old process cannot reach a client any more, and its later writes are on another disk.
      let image = disk.image(after: isPowerLoss ? .powerLoss(.nothing, seed: random.next()) : .kill)
      try restart(on: SimulatedDisk(image))
    default: break
    }
  }

  private func restart(on newDisk: SimulatedDisk? = nil) throws {
    try server.stop()
    disk = newDisk ?? disk
    server = try Self.start(disk, rules)
    remains.add(server.store)
  }

  /// A wait of minutes ends as soon as its condition holds. It may take longer than its time, because work
  /// does not pass faster on a busy machine.
  package func play(for microseconds: Int64, until isDone: () -> Bool) {
    let isLong = microseconds >= Self.longWait
    scaled.play(for: isLong ? microseconds * Self.longWaitFactor : microseconds, until: isDone)
  }

  package func close() {
    proxy.close()
    try? server.stop()
  }
}

/// A loop that a closure refers to. It is only used on the thread of the history.
private struct LoopReference: @unchecked Sendable {
  let loop: PollLoop

  init(_ loop: PollLoop) { self.loop = loop }
}
#endif
