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
