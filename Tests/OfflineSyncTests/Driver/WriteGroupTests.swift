// Concurrent writes share one sync, but each write succeeds or fails independently.

import Authority
import ByteStore
import Dispatch
import DocumentStore
import Foundation
import Harness
import OfflineSync
import Testing

@Suite struct WriteGroupTests {
  private let world: LoopbackWorld
  private let disk = SimulatedDisk()

  init() throws { world = try LoopbackWorld() }

  private func path(_ number: Int) -> DocumentPath { DocumentPath(unchecked: ["rooms", "\(number)"]) }

  /// The outcomes of writes by number.
  private final class Ends: Sendable {
    private let all = Locked<[Int: [OfflineSyncError?]]>([:])

    func note(_ number: Int, _ error: OfflineSyncError?) {
      all.withLock { $0[number, default: []].append(error) }
    }

    var succeeded: Set<Int> { all.withLock { Set($0.filter { $0.value == [nil] }.keys) } }
    var endedOnce: Set<Int> { all.withLock { Set($0.filter { $0.value.count == 1 }.keys) } }
  }

  private func write(_ numbers: Range<Int>, _ client: SyncDriver, _ ends: Ends) {
    for number in numbers {
      client.write([.set(path(number), StoredMap())], .local) { ends.note(number, $0) }
    }
  }

  @Test func concurrentWritesShareOneFsync() throws {
    let client = try world.client(on: disk)
    client.send(.disableNetwork)
    world.pass()
    let (before, ends) = (disk.counters.fileSyncs, Ends())
    write(0..<8, client, ends)
    #expect(ends.endedOnce.isEmpty)
    world.pass(seconds: 0)
    #expect(disk.counters.fileSyncs == before + 1)
    #expect(ends.succeeded == Set(0..<8))
    #expect(world.ask(client) { $0.pendingBatches.map(\.id.value) } == Array(1...8))
    let image = SimulatedDisk(disk.image(after: .powerLoss(.nothing, seed: 1)))
    let later = try world.client(on: image)
    later.send(.disableNetwork)
    #expect(world.ask(later) { $0.pendingBatches.count } == 8)
  }

  @Test func aCallBetweenTwoWritesSplitsTheGroupCommit() throws {
    let client = try world.client(on: disk)
    client.send(.disableNetwork)
    let ends = Ends()
    write(0..<2, client, ends)
    client.send(.changeUser("ann"))
    write(2..<5, client, ends)
    let seen = Locked<[Int]>([])
    client.inspect { engine in seen.withLock { $0.append(engine.pendingBatches.count) } }
    write(5..<6, client, ends)
    client.send(.changeUser(nil))
    client.inspect { engine in seen.withLock { $0.append(engine.pendingBatches.count) } }
    world.pass(seconds: 0)
    #expect(seen.withLock { $0 } == [3, 2])
    #expect(ends.succeeded == Set(0..<6))
  }

  /// The listener is first called before any write that is issued after its registration completes.
  @Test func aQueueListenerSplitsTheGroupCommit() throws {
    let client = try world.client(on: disk)
    client.send(.disableNetwork)
    world.pass()
    let lines = Locked<[String]>([])
    func issue(_ number: Int) {
      client.write([.set(path(number), StoredMap())], .local) { _ in
        lines.withLock { $0.append("write \(number)") }
      }
    }
    issue(0)
    let id = client.listenToQueue { result in
      if case .success(let progress) = result {
        lines.withLock { $0.append("\(progress.pendingCount) pending") }
      }
    }
    issue(1)
    world.pass(seconds: 0)
    #expect(lines.withLock { Array($0.prefix(2)) } == ["write 0", "1 pending"])
    // The removal also splits the group. The listener is called for the first of these two writes only.
    lines.withLock { $0 = [] }
    issue(2)
    client.unlistenToQueue(id)
    issue(3)
    world.pass(seconds: 0)
    #expect(lines.withLock { $0 } == ["3 pending", "write 2", "write 3"])
  }

  /// Damages the document so that a write of the document fails. The last write of a group causes the sync,
  /// so even if the last write fails, the earlier writes must still become durable.
  private func damageNote(of place: Int, _ client: SyncDriver) throws {
    let time = try #require(StoredTimestamp(microseconds: 1))
    let note = DocumentPath(unchecked: ["__remote__", "rooms%2f\(place)"])
    try client.store.commit([
      .place(
        StoredDocument(
          path: note, createTime: time, updateTime: time, fields: StoredMap([("s", .integer(9))])))
    ])
  }

  @Test(arguments: [0, 1, 2]) func aFailedWriteInAGroupCommitFailsAlone(place: Int) throws {
    let client = try world.client(on: disk)
    client.send(.disableNetwork)
    world.pass()
    try damageNote(of: place, client)
    let ends = Ends()
    write(0..<3, client, ends)
    world.pass(seconds: 0)
    let others = Set(0..<3).subtracting([place])
    #expect(ends.endedOnce == Set(0..<3) && ends.succeeded == others)
    let image = SimulatedDisk(disk.image(after: .powerLoss(.nothing, seed: 1)))
    let later = try world.client(on: image)
    later.send(.disableNetwork)
    let found = world.ask(later) { Set($0.pendingBatches.flatMap { $0.paths.map(\.id) }) }
    #expect(found == Set(others.map { "\($0)" }))
  }

  /// Whichever disk call fails, each write completes exactly once, and the effect of each successful write is
  /// present.
  @Test(arguments: 0..<24) func aFailingDiskLosesNoAcknowledgedWrite(call: Int) throws {
    let client = try world.client(on: disk)
    client.send(.disableNetwork)
    world.pass()
    let ends = Ends()
    disk.setFault(FaultPlan(.inputOutput, at: disk.counters.operations + call, isSticky: true))
    write(0..<6, client, ends)
    world.pass(seconds: 0)
    write(6..<9, client, ends)
    world.pass(seconds: 0)
    #expect(ends.endedOnce == Set(0..<9))
    let image = SimulatedDisk(disk.image(after: .powerLoss(.nothing, seed: 1)))
    let later = try world.client(on: image)
    later.send(.disableNetwork)
    let found = world.ask(later) { Set($0.pendingBatches.flatMap { $0.paths.map(\.id) }) } ?? []
    #expect(Set(ends.succeeded.map { "\($0)" }).isSubset(of: found))
  }

  /// If a handler stops the client in the middle of a group, no write completes twice.
  @Test(arguments: [false, true]) func stoppingWithinAGroupCommitCompletesEachWriteOnce(oneFails: Bool) throws
  {
    let client = try world.client(on: disk)
    client.send(.disableNetwork)
    world.pass()
    if oneFails { try damageNote(of: 4, client) }
    let ends = Ends()
    client.write([.set(path(0), StoredMap())], .local) { error in
      ends.note(0, error)
      client.stop()
    }
    write(1..<4, client, ends)
    client.write([.set(path(4), StoredMap())], .server) { ends.note(4, $0) }
    world.pass(seconds: 0)
    write(5..<7, client, ends)
    world.pass(seconds: 0)
    #expect(ends.endedOnce == Set(0..<7))
    #expect(ends.succeeded == Set(0..<4))
  }

  /// On a real disk and a real queue, eight tasks share syncs. Each task awaits each of its writes.
  @Test func eightConcurrentTasksShareFsyncs() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dugout-group-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let watched = WatchedFileSystem(PosixFileSystem())
    var platform = Platform.real
    platform.fileSystem = watched
    let store = try DocumentStore.open(folder.path, options: DocumentStore.Options(), platform: platform)
    let local = try LocalStore(store, user: nil, collector: .lru, client: "client")
    let remote = try LoopbackRemote(authority: try DocumentStore.openInMemory())
    remote.setReachable(false)
    let client = SyncDriver(
      local, remote, options: SyncEngine.Options(), scheduler: QueueScheduler(label: "dugout.test.group"))
    let before = watched.counters.syncs
    let (tasks, each) = (8, 25)
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        group.addTask {
          for number in 0..<each {
            await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
              let path = DocumentPath(unchecked: ["rooms", "\(task)-\(number)"])
              client.write([.set(path, StoredMap())], .local) { _ in done.resume() }
            }
          }
        }
      }
    }
    let syncs = watched.counters.syncs - before
    print("\(tasks) tasks: \(tasks * each) durable writes with \(syncs) syncs")
    #expect(syncs < tasks * each * 3 / 4)
    client.stop()
    try store.close()
  }
}
