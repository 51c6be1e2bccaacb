// The streams of a client, over connections of the test.

import ByteStore
import DocumentStore
import FirestoreRemote
import FirestoreWire
import Harness
import OfflineSync
import Testing

@Suite struct ClientStreamTests {
  private let peer: ScriptedRemote
  private let instruments = RecordedInstruments()
  private let client: SyncDriver
  private let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))

  init() throws {
    peer = ScriptedRemote(hasCredentials: true)
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.instruments = instruments
    let store = try DocumentStore.open(
      "/client", options: options, platform: SimulatedDisk().platform(seed: 1))
    let local = try LocalStore(store, user: "ann", collector: .lru, client: "client")
    client = SyncDriver(local, peer.remote, options: SyncEngine.Options(), scheduler: peer.scheduler)
  }

  /// Begins a listener and a write, and refuses the sign-in until both streams wait for long.
  private func refuseSignIn() {
    _ = client.listen(to: rooms, ListenRules()) { _ in }
    client.write([.set(.init("rooms/a"), StoredMap())], .local) { _ in }
    peer.play()
    for _ in 0..<200 {
      for fetch in peer.tokens.all { fetch.done(.failure(RemoteError(.unauthenticated, "signed out"))) }
      peer.scheduler.play(for: 1_000_000)
    }
    #expect(peer.channels.all.isEmpty)
  }

  @Test func anotherTokenIsUsedAtOnceByAClientThatWaits() {
    refuseSignIn()
    peer.remote.tokenDidChange(of: "ann")
    peer.play()
    peer.tokens.give("t1", to: peer.tokens.all.count - 1)
    peer.play()
    #expect(peer.channels.all.map(\.method) == ["Listen", "Write"])
  }

  @Test func anotherTokenOfTheAppIsUsedAtOnceByAClientThatWaits() {
    refuseSignIn()
    let count = peer.tokens.all.count
    peer.remote.appCheckTokenDidChange()
    peer.play()
    #expect(peer.tokens.all.count == count + 1)
  }

  @Test func anObserverIsCalledAtEachChangeUntilItIsRemoved() {
    let count = Locked(0)
    let stop = peer.remote.observeCredentials { count.withLock { $0 += 1 } }
    peer.remote.tokenDidChange(of: "bob")
    peer.remote.appCheckTokenDidChange()
    peer.play()
    #expect(count.withLock { $0 } == 2)
    stop()
    stop()
    peer.remote.tokenDidChange(of: "bob")
    peer.play()
    #expect(count.withLock { $0 } == 2)
  }

  /// The streams that were reported as connected.
  private var connected: [InstrumentEvent.Value?] { instruments.events(.syncConnected).map { $0["stream"] } }

  @Test func aClientIsConnectedWhenTheServerHasAnswered() throws {
    _ = client.listen(to: rooms, ListenRules()) { _ in }
    client.write([.set(.init("rooms/a"), StoredMap())], .local) { _ in }
    peer.play()
    peer.tokens.give("t1", to: 0)
    peer.play()
    peer.channels.all[0].end(RemoteError(.unavailable, "no connection"))
    peer.channels.all[1].end(RemoteError(.unavailable, "no connection"))
    peer.scheduler.play(for: 2_000_000)
    #expect(instruments.events(.syncDisconnected).count == 2)
    #expect(connected == [])
    let open = peer.channels.all.filter { !$0.isClosed }
    let watch = try #require(open.last { $0.method == "Listen" })
    watch.deliver(#"{"targetChange": {"targetChangeType": "NO_CHANGE"}}"#)
    watch.deliver(#"{"targetChange": {"targetChangeType": "NO_CHANGE"}}"#)
    peer.play()
    #expect(connected == [.text("watch")])
    try #require(open.last { $0.method == "Write" }).deliver(#"{"streamId": "1", "streamToken": "AQ=="}"#)
    peer.play()
    #expect(connected == [.text("watch"), .text("write")])
  }
}

/// A client whose own work takes longer than the arrival of changes.
@Suite struct SlowClientTests {
  private let peer = ScriptedRemote()
  private let scheduler = VirtualScheduler()
  private let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))

  private func attach(_ remote: any Remote) throws -> SyncDriver {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open(
      "/client", options: options, platform: SimulatedDisk().platform(seed: 1))
    let local = try LocalStore(store, user: nil, collector: .lru, client: "client")
    return SyncDriver(local, remote, options: SyncEngine.Options(), scheduler: scheduler)
  }

  private func playBoth() {
    for _ in 0..<5 {
      scheduler.play(for: 0)
      peer.play()
    }
  }

  private func document(_ number: Int) -> String {
    let text = String(repeating: "a", count: 200_000)
    return """
      {"documentChange": {"document": {
        "name": "projects/shop/databases/(default)/documents/rooms/\(number)",
        "fields": {"t": {"stringValue": "\(text)"}},
        "createTime": "2026-01-01T00:00:02Z", "updateTime": "2026-01-01T00:00:02Z"}, "targetIds": [2]}}
      """
  }

  @Test func theServerIsHeldBackWhileTheClientHasNotHandledItsChanges() throws {
    let client = try attach(peer.remote)
    _ = client.listen(to: rooms, ListenRules()) { _ in }
    playBoth()
    let channel = try #require(peer.channels.all.first)
    for number in 0..<5 { channel.deliver(document(number)) }
    peer.play()
    #expect(!channel.isPaused)
    channel.deliver(document(5))
    peer.play()
    #expect(channel.isPaused)
    // The first three are handled: the half of 1 MiB is left.
    scheduler.play(for: 0, max: 3)
    peer.play()
    #expect(channel.isPaused)
    scheduler.play(for: 0, max: 1)
    peer.play()
    #expect(!channel.isPaused)
    // More than the sizes that are kept.
    for _ in 0..<3 {
      for _ in 0..<3000 { channel.deliver(#"{"targetChange": {"targetChangeType": "NO_CHANGE"}}"#) }
      playBoth()
    }
    for number in 0..<6 { channel.deliver(document(number)) }
    peer.play()
    #expect(channel.isPaused)
    playBoth()
    #expect(!channel.isPaused)
    client.stop()
  }

  /// A remote around another one may drop events, and the client cannot say that it has handled those.
  @Test func aRemoteOfAnAppIsNotHeldBack() throws {
    let client = try attach(WrappedRemote(inner: peer.remote))
    _ = client.listen(to: rooms, ListenRules()) { _ in }
    playBoth()
    let channel = try #require(peer.channels.all.first)
    for number in 0..<12 { channel.deliver(document(number)) }
    peer.play()
    #expect(!channel.isPaused)
    client.stop()
  }

  private struct WrappedRemote: Remote {
    let inner: FirestoreRemote
    var documentsName: String { inner.documentsName }

    func openWatchStream(
      as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
    ) -> any WatchStream { inner.openWatchStream(as: user, handler) }

    func openWriteStream(
      as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
    ) -> any WriteStream { inner.openWriteStream(as: user, handler) }

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
}
