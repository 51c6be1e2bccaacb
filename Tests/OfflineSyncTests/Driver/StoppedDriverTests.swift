// Clients that are stopped while they begin.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct StoppedDriverTests {
  private let scheduler = VirtualScheduler()
  private let disk = SimulatedDisk()
  private let remote: CountingRemote

  init() throws {
    remote = CountingRemote(
      try LoopbackRemote(
        authority: try DocumentStore.openInMemory(), faults: LoopbackFaults(), seed: 1, on: scheduler))
  }

  private func client(on disk: SimulatedDisk) throws -> SyncDriver {
    let store = try DocumentStore.open(
      "/client", options: LoopbackWorld.manual, platform: disk.platform(seed: 1))
    let local = try LocalStore(store, user: nil, collector: .lru, client: "client")
    return SyncDriver(local, remote, options: SyncEngine.Options(), scheduler: scheduler)
  }

  @Test func aClientThatIsStoppedBeforeItBeginsOpensNoStream() throws {
    defer { scheduler.clear() }
    let first = try client(on: disk)
    first.send(.disableNetwork)
    first.write([.set(DocumentPath(unchecked: ["rooms", "a"]), StoredMap())], .local) { _ in }
    scheduler.play(for: 1_000_000)
    first.abandon()
    #expect(remote.openings == 0)
    let image = disk.image(after: .kill)
    let second = try client(on: SimulatedDisk(image))
    second.abandon()
    scheduler.play(for: 1_000_000)
    #expect(remote.openings == 0)
    // The write is there, and a client that begins sends it.
    let third = try client(on: SimulatedDisk(image))
    scheduler.play(for: 1_000_000)
    #expect(remote.openings == 1)
    third.abandon()
  }
}

/// Counts the streams that are opened.
private final class CountingRemote: Remote {
  private let inner: LoopbackRemote
  private let count = Locked(0)

  init(_ inner: LoopbackRemote) { self.inner = inner }

  var openings: Int { count.withLock { $0 } }
  var documentsName: String { inner.documentsName }

  func openWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream {
    count.withLock { $0 += 1 }
    return inner.openWatchStream(as: user, handler)
  }

  func openWriteStream(
    as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream {
    count.withLock { $0 += 1 }
    return inner.openWriteStream(as: user, handler)
  }

  func documents(
    at paths: [DocumentPath], as user: String?,
    _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void
  ) { inner.documents(at: paths, as: user, answer) }

  func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
  ) { inner.commit(mutations, as: user, answer) }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
  ) { inner.aggregate(aggregates, over: query, as: user, answer) }
}
