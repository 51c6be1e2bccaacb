// A running client and the monitor of its network.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct NetworkMonitorTests {
  private let world: LoopbackWorld
  private let network = ReportedNetworkMonitor(.available(NetworkPath("Wi-Fi")))
  private let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))
  private let room = DocumentPath(unchecked: ["rooms", "a"])

  init() throws { world = try LoopbackWorld() }

  private func client() throws -> SyncDriver {
    try world.client(on: SimulatedDisk()) { [network] in $0.networkMonitor = network }
  }

  private final class Seen: Sendable {
    let last = Locked<ViewSnapshot?>(nil)
    let cachedCount = Locked(0)
    var isFromCache: Bool? { last.withLock { $0?.isFromCache } }
    var count: Int? { last.withLock { $0?.documents.count } }
  }

  private func listen(_ client: SyncDriver) -> Seen {
    let seen = Seen()
    _ = client.listen(to: rooms, ListenRules(includesMetadataChanges: true)) { result in
      guard case .success(let snapshot) = result else { return }
      seen.last.withLock { $0 = snapshot }
      if snapshot.isFromCache { seen.cachedCount.withLock { $0 += 1 } }
    }
    world.pass(seconds: 2)
    return seen
  }

  private func put() throws {
    try world.authority.commit([.set(room, StoredMap())])
    world.remote.refresh()
  }

  @Test func aClientThatWasAwayForHoursSyncsWithinASecond() throws {
    let client = try client()
    let seen = listen(client)
    #expect(seen.isFromCache == false)
    network.report(.unavailable)
    world.remote.setReachable(false)
    world.pass(seconds: 1)
    #expect(seen.isFromCache == true)
    let isAccepted = Locked(false)
    client.write([.set(DocumentPath(unchecked: ["rooms", "b"]), StoredMap())], .server) { error in
      isAccepted.withLock { $0 = error == nil }
    }
    world.pass(seconds: 7200)
    try put()
    world.remote.setReachable(true)
    network.report(.available(NetworkPath("Wi-Fi")))
    world.pass(seconds: 1)
    #expect(isAccepted.withLock { $0 })
    #expect(seen.isFromCache == false && seen.count == 2)
  }

  /// The time without the monitor, for comparison: most of a minute.
  @Test func withoutAReportTheBackoffEndsByItself() throws {
    let client = try client()
    let seen = listen(client)
    world.remote.setReachable(false)
    world.pass(seconds: 7200)
    try put()
    world.remote.setReachable(true)
    world.pass(seconds: 1)
    #expect(seen.isFromCache == true && seen.count == 0)
    world.pass(seconds: 90)
    #expect(seen.isFromCache == false && seen.count == 1)
  }

  @Test func aSwitchFromOneNetworkToAnotherKeepsTheResult() throws {
    let client = try client()
    let seen = listen(client)
    let cachedCount = seen.cachedCount.withLock { $0 }
    network.report(.available(NetworkPath("mobile")))
    try put()
    world.pass(seconds: 1)
    #expect(seen.isFromCache == false && seen.count == 1)
    #expect(seen.cachedCount.withLock { $0 } == cachedCount, "no snapshot from the cache between")
  }

  @Test func aMonitorThatIsWrongKeepsNoClientFromItsRemote() throws {
    network.report(.unavailable)
    let client = try client()
    let seen = listen(client)
    #expect(seen.isFromCache == false)
    try put()
    world.pass(seconds: 1)
    #expect(seen.count == 1)
  }

  @Test func aStoppedClientObservesNothing() throws {
    let monitor = CountingMonitor()
    let client = try world.client(on: SimulatedDisk()) { $0.networkMonitor = monitor }
    world.pass(seconds: 1)
    #expect(monitor.observerCount == 1)
    client.stop()
    world.pass(seconds: 1)
    #expect(monitor.observerCount == 0)
  }

  @Test func aClientThatIsReleasedObservesNothing() throws {
    let monitor = CountingMonitor()
    var client: SyncDriver? = try world.client(on: SimulatedDisk()) { $0.networkMonitor = monitor }
    world.pass(seconds: 1)
    #expect(monitor.observerCount == 1)
    withExtendedLifetime(client) {}
    client = nil
    world.scheduler.clear()
    #expect(monitor.observerCount == 0)
  }

  @Test func aReportedMonitorCallsItsObserversOncePerChange() {
    let monitor = ReportedNetworkMonitor()
    #expect(monitor.status == nil)
    let seen = Locked<[NetworkStatus?]>([])
    let stop = monitor.observe { [weak monitor] in seen.withLock { $0.append(monitor?.status) } }
    monitor.report(.unavailable)
    monitor.report(.unavailable)
    monitor.report(.available(NetworkPath("a", .metered)))
    stop()
    stop()
    monitor.report(.unavailable)
    #expect(seen.withLock { $0 } == [.unavailable, .available(NetworkPath("a", .metered))])
    #expect(monitor.status == .unavailable)
  }
}

/// A monitor without a status.
private final class CountingMonitor: NetworkMonitor {
  private let count = Locked(0)

  var status: NetworkStatus? { nil }
  var observerCount: Int { count.withLock { $0 } }

  func observe(_ handler: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    count.withLock { $0 += 1 }
    return { [count] in count.withLock { $0 -= 1 } }
  }
}
