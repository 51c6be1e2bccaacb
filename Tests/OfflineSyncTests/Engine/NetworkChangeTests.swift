// Changes of the device's network, step by step.

import ByteStore
import DocumentStore
import Testing

@testable import OfflineSync

@Suite struct NetworkChangeTests {
  private let engine: SyncEngine
  private let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))
  private let room = DocumentPath(unchecked: ["rooms", "a"])
  private let away = RemoteError(.unavailable)
  private let wifi = NetworkStatus.available(NetworkPath("Wi-Fi"))
  private let mobile = NetworkStatus.available(NetworkPath("mobile"))

  init() throws {
    engine = SyncEngine(
      try LocalStore(try DocumentStore.openInMemory(), user: nil, collector: .lru, client: "client"))
  }

  private func listen(_ number: Int = 1, _ rules: ListenRules = ListenRules()) -> SyncEvent {
    .listen(ListenerID(number), rooms, rules)
  }

  private func write() throws -> SyncEvent {
    .write([.set(room, StoredMap())], at: try #require(StoredTimestamp(microseconds: 1)), nil)
  }

  /// The effects that concern streams and connections, in order.
  private func streams(_ event: SyncEvent) throws -> [String] {
    try engine.handle(event).compactMap { effect in
      switch effect {
      case .renewConnections: "renew"
      case .openWatch: "open watch"
      case .openWrite: "open write"
      case .closeWatch: "close watch"
      case .closeWrite: "close write"
      case .stopTimer(.watchBackoff), .stopTimer(.writeBackoff): "stop waiting"
      case .startTimer(.watchBackoff, _), .startTimer(.writeBackoff, _): "wait"
      default: nil
      }
    }
  }

  /// The snapshots that an event delivers.
  private func snapshots(_ event: SyncEvent) throws -> [ViewSnapshot] {
    try engine.handle(event).compactMap { if case .notify(_, let snapshot) = $0 { snapshot } else { nil } }
  }

  /// A listener that the remote has answered.
  private func connect() throws {
    _ = try engine.handle(listen(1, ListenRules(includesMetadataChanges: true)))
    let target = try #require(engine.target(of: rooms))
    _ = try engine.handle(.watchOpened)
    _ = try engine.handle(.watchChanged(.target(.added, [target]), .none))
    _ = try engine.handle(.watchChanged(.target(.current, [target], resumeToken: [1]), .none))
    let snapshot = try snapshots(
      .watchChanged(.target(.noChange, [], resumeToken: [1]), SnapshotVersion(microseconds: 20)))
    try #require(snapshot.map(\.isFromCache) == [false])
  }

  @Test func anotherPathEndsTheBackoffOfBothStreams() throws {
    _ = try engine.handle(.networkChanged(wifi))
    _ = try engine.handle(listen())
    _ = try engine.handle(write())
    for _ in 0..<6 {
      _ = try engine.handle(.watchClosed(away))
      _ = try engine.handle(.timer(.watchBackoff))
      _ = try engine.handle(.writeClosed(away))
      _ = try engine.handle(.timer(.writeBackoff))
    }
    #expect(try streams(.watchClosed(away)) == ["wait"])
    #expect(try streams(.writeClosed(away)) == ["wait"])
    #expect(
      try streams(.networkChanged(mobile))
        == ["renew", "stop waiting", "stop waiting", "open watch", "open write"])
    // The next delays are those after a success: none, and then a second.
    #expect(try streams(.watchClosed(away)) == ["open watch"])
    let delays = try engine.handle(.watchClosed(away)).compactMap { effect in
      if case .startTimer(.watchBackoff, let delay) = effect { delay } else { nil }
    }
    #expect(delays.count == 1 && delays.allSatisfy { $0 <= 1_500_000 }, "\(delays)")
  }

  @Test func openStreamsAreOpenedAgainOnAnotherPath() throws {
    _ = try engine.handle(.networkChanged(wifi))
    try connect()
    _ = try engine.handle(write())
    _ = try engine.handle(.writeOpened)
    _ = try engine.handle(.handshakeComplete(token: [1]))
    #expect(engine.outstandingCount == 1)
    let effects = try engine.handle(.networkChanged(mobile))
    let names = effects.compactMap { effect -> String? in
      switch effect {
      case .renewConnections: "renew"
      case .closeWatch: "close watch"
      case .closeWrite: "close write"
      case .openWatch: "open watch"
      case .openWrite: "open write"
      case .notify: "notify"
      default: nil
      }
    }
    // The result stays as it is, because the stream may be open again before anybody looks.
    #expect(names == ["renew", "close write", "close watch", "open watch", "open write"])
    #expect(!engine.isOffline)
    // The write is sent again, and the watch continues from its token.
    _ = try engine.handle(.writeOpened)
    #expect(engine.outstandingCount == 1)
    let opened = try engine.handle(.watchOpened)
    guard case .watch(let target)? = opened.first else {
      Issue.record("\(opened)")
      return
    }
    #expect(target.resumeToken == [1])
    #expect(try engine.brokenInvariant() == nil)
  }

  @Test func onlyAnotherPathIsAChange() throws {
    #expect(try streams(listen()) == ["open watch"])
    #expect(try streams(.networkChanged(wifi)) == [], "the first report")
    #expect(try streams(.networkChanged(wifi)) == [])
    #expect(try streams(.networkChanged(.available(NetworkPath("Wi-Fi", .metered)))) == [])
    #expect(try streams(.networkChanged(mobile)).contains("open watch"))
    #expect(try streams(.networkChanged(.unavailable)).contains("open watch"))
    #expect(try streams(.networkChanged(.unavailable)) == [])
    #expect(try streams(.networkChanged(mobile)).contains("open watch"))
  }

  @Test func withoutANetworkResultsAreCachedAtOnce() throws {
    _ = try engine.handle(.networkChanged(wifi))
    try connect()
    #expect(try snapshots(.networkChanged(.unavailable)).map(\.isFromCache) == [true])
    #expect(engine.isOffline && engine.syncProgress.connection == .offline)
    // A read that waits for the remote has the cached result.
    let rules = ListenRules(includesMetadataChanges: true, waitsForSync: true)
    #expect(try snapshots(listen(2, rules)).map(\.isFromCache) == [true])
    // The client tries nevertheless, and the monitor may be wrong.
    #expect(try streams(.watchClosed(away)) == ["open watch"])
    #expect(try streams(.watchClosed(away)) == ["wait"])
    #expect(engine.isOffline)
    #expect(try streams(.timer(.watchBackoff)) == ["open watch"])
    _ = try engine.handle(.watchOpened)
    let target = try #require(engine.target(of: rooms))
    _ = try engine.handle(.watchChanged(.target(.added, [target]), .none))
    #expect(!engine.isOffline && engine.syncProgress.connection == .connected)
    #expect(try engine.brokenInvariant() == nil)
  }

  @Test func aListenerThatIsAddedWithoutANetworkDoesNotWait() throws {
    _ = try engine.handle(.networkChanged(.unavailable))
    #expect(!engine.isOffline, "nothing needs the network")
    #expect(try snapshots(listen()).map(\.isFromCache) == [true])
    #expect(engine.isOffline)
    #expect(try streams(.networkChanged(wifi)) == ["renew", "close watch", "open watch"])
    #expect(!engine.isOffline)
  }

  @Test func aDisabledNetworkStaysDisabled() throws {
    _ = try engine.handle(.networkChanged(wifi))
    _ = try engine.handle(listen())
    _ = try engine.handle(.disableNetwork)
    #expect(try streams(.networkChanged(.unavailable)) == ["renew"])
    #expect(try streams(.networkChanged(mobile)) == ["renew"])
    #expect(try streams(write()) == [])
    #expect(engine.syncProgress.connection == .disabled)
    #expect(try streams(.enableNetwork) == ["open watch", "open write"])
  }

  @Test func aClientWithNothingToDoOpensNothing() throws {
    _ = try engine.handle(.networkChanged(wifi))
    #expect(try streams(.networkChanged(.unavailable)) == ["renew"])
    #expect(try streams(.networkChanged(mobile)) == ["renew"])
    #expect(engine.syncProgress.connection == .idle)
  }
}
