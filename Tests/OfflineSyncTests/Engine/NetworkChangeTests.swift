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

  // MARK: Credentials

  @Test func otherCredentialsEndTheBackoffOfBothStreams() throws {
    let refused = RemoteError(.unauthenticated)
    _ = try engine.handle(listen())
    _ = try engine.handle(write())
    for _ in 0..<6 {
      _ = try engine.handle(.watchClosed(refused))
      _ = try engine.handle(.timer(.watchBackoff))
      _ = try engine.handle(.writeClosed(refused))
      _ = try engine.handle(.timer(.writeBackoff))
    }
    #expect(try streams(.watchClosed(refused)) == ["wait"])
    #expect(try streams(.writeClosed(refused)) == ["wait"])
    #expect(
      try streams(.credentialsChanged) == ["stop waiting", "open watch", "stop waiting", "open write"])
    #expect(try streams(.credentialsChanged) == [], "both streams are opening")
    #expect(try streams(.watchClosed(refused)) == ["open watch"])
    #expect(try engine.brokenInvariant() == nil)
  }

  @Test func otherCredentialsOpenNothingWithoutNeed() throws {
    #expect(try streams(.credentialsChanged) == [])
    try connect()
    #expect(try streams(.credentialsChanged) == [])
    _ = try engine.handle(.disableNetwork)
    #expect(try streams(.credentialsChanged) == [])
  }

  // MARK: Metered networks

  private let metered = NetworkStatus.available(NetworkPath("mobile", .metered))

  @Test func aMeteredNetworkPausesAClientThatWantsNone() throws {
    _ = try engine.handle(.setNetworkUse(.unmetered))
    _ = try engine.handle(.networkChanged(wifi))
    try connect()
    _ = try engine.handle(write())
    _ = try engine.handle(.waitForPendingWrites(CallID(1)))
    #expect(engine.syncProgress.pause == nil && engine.syncProgress.connection == .connected)
    let effects = try engine.handle(.networkChanged(metered))
    #expect(effects.contains { if case .closeWatch = $0 { true } else { false } })
    #expect(effects.contains { if case .closeWrite = $0 { true } else { false } })
    let cached = effects.compactMap {
      if case .notify(_, let snapshot) = $0 { snapshot.isFromCache } else { nil }
    }
    #expect(cached == [true] && engine.isOffline)
    #expect(engine.syncProgress.pause == .meteredNetwork && engine.syncProgress.connection == .offline)
    #expect(try streams(write()) == [] && engine.pendingBatches.count == 2)
    #expect(try streams(listen(2)) == [])
    // Another path of the same kind opens nothing either.
    #expect(try streams(.networkChanged(.available(NetworkPath("other", .metered)))) == ["renew"])
    #expect(try streams(.networkChanged(wifi)) == ["renew", "open watch", "open write"])
    #expect(engine.syncProgress.pause == nil)
    #expect(try engine.brokenInvariant() == nil)
  }

  @Test func theSamePathMayBecomeMetered() throws {
    _ = try engine.handle(.setNetworkUse(.unmetered))
    _ = try engine.handle(listen())
    _ = try engine.handle(.networkChanged(.available(NetworkPath("mobile"))))
    #expect(try streams(.networkChanged(metered)) == ["close watch"])
    #expect(try streams(.networkChanged(.available(NetworkPath("mobile")))) == ["open watch"])
    // Without a network, there is nothing to save.
    _ = try engine.handle(.networkChanged(metered))
    #expect(try streams(.networkChanged(.unavailable)) == ["renew", "open watch"])
    #expect(engine.isOffline && engine.syncProgress.pause == nil)
  }

  @Test func theAppAndTheNetworkHaveToAllowAConnection() throws {
    _ = try engine.handle(.networkChanged(metered))
    #expect(try streams(listen()) == ["open watch"], "any network is allowed")
    #expect(try streams(.setNetworkUse(.unmetered)) == ["close watch"])
    #expect(try streams(.disableNetwork) == [])
    #expect(engine.syncProgress.connection == .disabled && engine.syncProgress.pause == .meteredNetwork)
    #expect(try streams(.setNetworkUse(.any)) == [])
    #expect(engine.syncProgress.connection == .disabled && engine.syncProgress.pause == nil)
    #expect(try streams(.setNetworkUse(.unmetered)) == [])
    #expect(try streams(.enableNetwork) == [])
    #expect(engine.syncProgress.connection == .offline && engine.syncProgress.pause == .meteredNetwork)
    #expect(try streams(.setNetworkUse(.any)) == ["open watch"])
    #expect(engine.syncProgress.pause == nil)
  }

  @Test func aClientThatStartsOnAMeteredNetworkOpensNothing() throws {
    var options = SyncEngine.Options()
    options.networkUse = .unmetered
    let engine = SyncEngine(engine.local, options)
    _ = try engine.handle(.networkChanged(metered))
    let effects = try engine.start() + engine.handle(listen()) + engine.handle(write())
    #expect(
      !effects.contains {
        switch $0 {
        case .openWatch, .openWrite: true
        default: false
        }
      })
    #expect(engine.isOffline)
    #expect(engine.isIdle, "time need not pass for it")
  }
}
