// Listeners of the sync's progress: how often they are called, and how they end.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct ProgressListenerTests {
  private let world: LoopbackWorld
  private let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))

  init() throws {
    world = try LoopbackWorld()
    for number in 1...100 {
      let path = DocumentPath(unchecked: ["rooms", "\(number)"])
      try world.authority.commit([.set(path, StoredMap([("n", .integer(1))]))])
    }
  }

  private func progress(of client: SyncDriver) -> (ListenerID, Locked<[SyncProgressState]>) {
    let states = Locked<[SyncProgressState]>([])
    let id = client.listenToProgress { result in
      if case .success(let state) = result { states.withLock { $0.append(state) } }
    }
    return (id, states)
  }

  @Test func growingCountsAreReportedTenTimesASecond() throws {
    var faults = LoopbackFaults()
    faults.latency = 0...2_000_000
    world.remote.setFaults(faults)
    let client = try world.client(on: SimulatedDisk())
    let (_, states) = progress(of: client)
    _ = client.listen(to: rooms, ListenRules()) { _ in }
    world.pass()
    let counts = states.withLock { $0.compactMap(\.queries.first?.receivedCount) }
    #expect(counts == counts.sorted() && counts.last == 100)
    #expect(Set(counts).count > 5 && counts.count < 60, "\(counts)")
    let last = try #require(states.withLock { $0.last })
    #expect(last.queries.map(\.isCurrent) == [true] && last.connection == .connected)
    #expect(last.version != .none)
  }

  /// The load stalls, and the last count is reported nevertheless.
  @Test func theLastCountOfAStalledLoadIsReported() throws {
    var faults = LoopbackFaults()
    faults.latency = 1000...1000
    world.remote.setFaults(faults)
    let client = try world.client(on: SimulatedDisk())
    let (_, states) = progress(of: client)
    _ = client.listen(to: rooms, ListenRules()) { _ in }
    while world.ask(client, { $0.syncProgress.queries.first?.receivedCount ?? 0 }) ?? 0 == 0 {
      world.scheduler.play(for: 100)
    }
    let count = try #require(world.ask(client) { $0.syncProgress.queries.first?.receivedCount } ?? nil)
    #expect(count > 0)
    world.scheduler.play(for: 100_000)
    #expect(try #require(states.withLock { $0.last?.queries.first?.receivedCount }) >= count)
  }

  @Test func nothingIsReportedTwiceOrAfterTheRemoval() throws {
    let client = try world.client(on: SimulatedDisk())
    let (id, states) = progress(of: client)
    let (_, others) = progress(of: client)
    _ = client.listen(to: rooms, ListenRules()) { _ in }
    world.pass()
    let received = states.withLock { $0 }
    #expect(zip(received, received.dropFirst()).allSatisfy { $0 != $1 })
    client.unlistenToProgress(id)
    client.write([.set(DocumentPath(unchecked: ["rooms", "a"]), StoredMap())], .local) { _ in }
    world.pass()
    #expect(states.withLock { $0.count } == received.count)
    #expect(others.withLock { $0.contains { $0.pendingCount == 1 } && $0.last?.pendingCount == 0 })
    client.stop()
    let errors = Locked<[OfflineSyncError]>([])
    _ = client.listenToProgress { result in
      if case .failure(let error) = result { errors.withLock { $0.append(error) } }
    }
    world.pass()
    #expect(errors.withLock { $0.count } == 1)
  }
}
