// A remote that sends data that no store accepts: each part is refused alone, without other effects.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import StoreTools
import Testing

@Suite struct RemoteRefusalTests {
  private let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))
  private let listener = ListenerID(1)

  private func path(_ name: String) -> DocumentPath { DocumentPath(unchecked: ["rooms", name]) }

  private func document(
    _ name: String, _ fields: StoredMap = StoredMap([("n", .integer(1))]), at version: Int64 = 500
  ) -> RemoteDocument {
    RemoteDocument(path(name), fields, version: SnapshotVersion(microseconds: version))
  }

  private func engine(_ store: DocumentStore) throws -> SyncEngine {
    SyncEngine(try LocalStore(store, user: nil, collector: .lru, client: "client"))
  }

  /// Formats the events of listeners as text.
  private func listenerEvents(_ effects: [SyncEffect]) -> [String] {
    effects.compactMap { effect -> String? in
      switch effect {
      case .notify(let id, let snapshot):
        let names = snapshot.documents.map(\.path.id).joined(separator: " ")
        return "\(id.value): \(names)\(snapshot.isFromCache ? " cached" : "")"
      case .refuse(let id, let refusal):
        guard case .document(let path) = refusal.subject else {
          return "\(id.value): refused \(refusal.subject)"
        }
        return "\(id.value): refused \(path.segments.last ?? "")"
      default: return nil
      }
    }
  }

  private func asked(_ effects: [SyncEffect]) -> [WatchTarget] {
    effects.compactMap { if case .watch(let target) = $0 { target } else { nil } }
  }

  private func listen(_ engine: SyncEngine) throws -> TargetID {
    _ = try engine.handle(.listen(listener, rooms, ListenRules(includesMetadataChanges: true)))
    _ = try engine.handle(.watchOpened)
    let id = try #require(engine.target(of: rooms))
    _ = try engine.handle(.watchChanged(.target(.added, [id]), .none))
    return id
  }

  private func notify(_ engine: SyncEngine, _ documents: [RemoteDocument], _ id: TargetID) throws {
    for document in documents {
      _ = try engine.handle(
        .watchChanged(.document(document.path, document, updated: [id], removed: []), .none))
    }
  }

  private func finish(
    _ engine: SyncEngine, _ id: TargetID, token: [UInt8] = [1], at version: Int64 = 1000
  ) throws -> [SyncEffect] {
    let version = SnapshotVersion(microseconds: version)
    return try engine.handle(.watchChanged(.target(.current, [id], resumeToken: token), .none))
      + engine.handle(.watchChanged(.target(.noChange, [], resumeToken: token), version))
  }

  /// Breaks the connection and opens another one.
  private func reconnect(_ engine: SyncEngine) throws -> [WatchTarget] {
    _ = try engine.handle(.watchClosed(RemoteError(.unavailable)))
    _ = try engine.handle(.timer(.watchBackoff))
    return asked(try engine.handle(.watchOpened))
  }

  // MARK: Documents

  private static let time = StoredTimestamp(seconds: 1, nanoseconds: 0)

  private static func pending(_ previous: StoredValue?) throws -> StoredValue {
    .pendingTimestamp(try #require(time), previous: previous)
  }

  private static func nest(_ depth: Int) -> StoredValue {
    (0..<depth).reduce(.integer(1)) { value, _ in .map(StoredMap([("d", value)])) }
  }

  private func hostile(_ kind: String) throws -> RemoteDocument {
    var document = document("bad")
    var fields = StoredMap()
    switch kind {
    case "depth": fields["v"] = Self.nest(21)
    case "name": fields[String(repeating: "n", count: 1501)] = .integer(1)
    case "inner name": fields["m"] = .map(StoredMap([(String(repeating: "n", count: 1501), .null)]))
    case "reserved name": fields["__x__"] = .null
    case "pending": fields["v"] = .array([.map(StoredMap([("p", try Self.pending(nil))]))])
    case "nested pending": fields["v"] = try Self.pending(try Self.pending(.null))
    case "nested array": fields["v"] = .array([.array([])])
    case "size": fields["v"] = .string(String(repeating: "s", count: 2 << 20))
    case "record": fields["v"] = .array([StoredValue](repeating: .bytes([]), count: 1_700_000))
    case "reference":
      let name = String(repeating: "p", count: 9 << 20)
      fields["v"] = .reference(StoredReference(projectID: name, databaseID: "", path: path("a")))
    case "late": document.version = SnapshotVersion(microseconds: .max)
    case "early": document.version = SnapshotVersion(microseconds: -1)
    case "unreadable": return RemoteDocument(unreadable: path("bad"), because: "It is not Base64.")
    case "created": document.createTime = SnapshotVersion(microseconds: .min)
    default: document.path = path("another")
    }
    document.fields = fields
    return document
  }

  private static let kinds = [
    "depth", "name", "inner name", "reserved name", "pending", "nested pending", "nested array", "size",
    "record",
    "reference", "late", "early", "created", "another", "unreadable",
  ]

  @Test(arguments: kinds)
  func anOversizedDocumentIsRefusedAloneAndRequestedAgain(kind: String) throws {
    let store = try DocumentStore.openInMemory()
    let engine = try engine(store)
    let id = try listen(engine)
    try notify(engine, [document("a")], id)
    let bad = WatchChange.document(path("bad"), try hostile(kind), updated: [id], removed: [])
    _ = try engine.handle(.watchChanged(bad, .none))
    try notify(engine, [document("c")], id)
    #expect(listenerEvents(try finish(engine, id)) == ["1: a c cached", "1: refused bad"])
    #expect(listenerEvents(try finish(engine, id, token: [2], at: 2000)) == [], "it is reported once")

    // The store contains nothing of the refused document and works as before.
    #expect(try store.check().isSound)
    #expect(try store.documents(rooms).map(\.path.id) == ["a", "c"])
    #expect(try store.document(at: path("bad")) == nil)
    _ = try engine.handle(.write([.set(path("d"), StoredMap())], at: try #require(Self.time), nil))
    let again = try self.engine(store)
    #expect(try again.local.documents(rooms).map(\.path.id) == ["a", "c", "d"])

    // The next connection uses the resume token from before the refused document.
    #expect(try reconnect(engine).map(\.resumeToken) == [[]])
    _ = try engine.handle(.watchChanged(.target(.added, [id]), .none))
    try notify(engine, [document("a"), document("bad"), document("c")], id)
    #expect(listenerEvents(try finish(engine, id, token: [3], at: 3000)) == ["1: a bad c d"])
    #expect(try reconnect(engine).map(\.resumeToken) == [[3]])
  }

  @Test func aRefusedDocumentKeepsTheOldTokenAndTheOldVersion() throws {
    let engine = try engine(try DocumentStore.openInMemory())
    let id = try listen(engine)
    try notify(engine, [document("a"), document("bad")], id)
    #expect(listenerEvents(try finish(engine, id)) == ["1: a bad"])
    let hostile = WatchChange.document(path("bad"), try hostile("depth"), updated: [id], removed: [])
    _ = try engine.handle(.watchChanged(hostile, .none))
    #expect(
      listenerEvents(try finish(engine, id, token: [2], at: 2000)) == ["1: a bad cached", "1: refused bad"])
    #expect(try engine.local.document(path("bad")).fields == StoredMap([("n", .integer(1))]))
    #expect(try reconnect(engine).map(\.resumeToken) == [[1]])
  }

  @Test(arguments: [false, true])
  func aRefusedDocumentThatIsResentOrRemovedCompletesTheTarget(isGone: Bool) throws {
    let engine = try engine(try DocumentStore.openInMemory())
    let id = try listen(engine)
    let bad = WatchChange.document(path("bad"), try hostile("depth"), updated: [id], removed: [])
    _ = try engine.handle(.watchChanged(bad, .none))
    try notify(engine, [document("a")], id)
    #expect(listenerEvents(try finish(engine, id)) == ["1: a cached", "1: refused bad"])
    if isGone {
      _ = try engine.handle(.watchChanged(.document(path("bad"), nil, updated: [], removed: [id]), .none))
    } else {
      try notify(engine, [document("bad", at: 1500)], id)
    }
    #expect(listenerEvents(try finish(engine, id, token: [2], at: 2000)) == [isGone ? "1: a" : "1: a bad"])
    #expect(try reconnect(engine).map(\.resumeToken) == [[2]])
  }

  /// After a refusal, the client has documents of a target but no resume token. The remote then sends the
  /// whole target, and says nothing of documents that were deleted in the meantime.
  @Test func aTargetWithoutATokenLosesTheDocumentsThatTheRemoteNoLongerSends() throws {
    let engine = try engine(try DocumentStore.openInMemory())
    let id = try listen(engine)
    try notify(engine, [document("a"), document("gone")], id)
    let bad = WatchChange.document(path("bad"), try hostile("depth"), updated: [id], removed: [])
    _ = try engine.handle(.watchChanged(bad, .none))
    _ = try finish(engine, id)
    #expect(try engine.local.remoteKeys(of: id) == [path("a"), path("gone")])

    #expect(try reconnect(engine).map(\.resumeToken) == [[]])
    _ = try engine.handle(.watchChanged(.target(.added, [id]), .none))
    try notify(engine, [document("a")], id)
    _ = try finish(engine, id, token: [2], at: 2000)
    #expect(try engine.local.remoteKeys(of: id) == [path("a")])
    let limbo = try #require(engine.activeLimbo[path("gone")], "it is requested individually")
    _ = try engine.handle(.watchChanged(.target(.added, [limbo]), .none))
    #expect(listenerEvents(try finish(engine, limbo, token: [3], at: 3000)) == ["1: a"])
  }

  /// The remote has sent the complete target, but the target's only document was refused. The refusal does
  /// not mean that the document is absent.
  @Test func aRefusedDocumentIsNotAbsentAndLaterListenersAreNotified() throws {
    let engine = try engine(try DocumentStore.openInMemory())
    let query = StructuredQuery(.document(path("bad")))
    _ = try engine.handle(
      .listen(listener, query, ListenRules(includesMetadataChanges: true, waitsForSync: true)))
    _ = try engine.handle(.watchOpened)
    let id = try #require(engine.target(of: query))
    _ = try engine.handle(.watchChanged(.target(.added, [id]), .none))
    let bad = WatchChange.document(path("bad"), try hostile("pending"), updated: [id], removed: [])
    _ = try engine.handle(.watchChanged(bad, .none))
    #expect(listenerEvents(try finish(engine, id)) == ["1: refused bad"])
    let later = try engine.handle(.listen(ListenerID(2), query, ListenRules(waitsForSync: true)))
    #expect(listenerEvents(later) == ["2: refused bad"])
    let cached = try engine.handle(.listen(ListenerID(3), query, ListenRules(isCacheOnly: true)))
    #expect(!listenerEvents(cached).contains("3: refused bad"))
  }

  @Test func aRefusedLimboDocumentIsReportedToItsViews() throws {
    let engine = try engine(try DocumentStore.openInMemory())
    let id = try listen(engine)
    try notify(engine, [document("a"), document("bad")], id)
    _ = try finish(engine, id)
    _ = try engine.handle(.watchChanged(.document(path("bad"), nil, updated: [], removed: [id]), .none))
    #expect(listenerEvents(try finish(engine, id, token: [2], at: 2000)) == ["1: a bad cached"])
    let limbo = try #require(engine.activeLimbo[path("bad")])
    _ = try engine.handle(.watchChanged(.target(.added, [limbo]), .none))
    let bad = WatchChange.document(path("bad"), try hostile("name"), updated: [limbo], removed: [])
    _ = try engine.handle(.watchChanged(bad, .none))
    #expect(listenerEvents(try finish(engine, limbo, token: [3], at: 3000)) == ["1: refused bad"])
    #expect(engine.activeLimbo[path("bad")] == limbo)
  }

  /// A path may fit in the key of its document, while the escaped path does not fit in the keys of the
  /// client's own entries.
  @Test func aDocumentWithATooLongCacheKeyIsRefused() throws {
    let store = try DocumentStore.openInMemory()
    let engine = try engine(store)
    let id = try listen(engine)
    let name = String(repeating: "%", count: 1500)
    let long = try DocumentPath(["rooms", name, name, name, name, "i"])
    let oversized = RemoteDocument(long, StoredMap(), version: SnapshotVersion(microseconds: 1))
    try notify(engine, [oversized, document("a")], id)
    let effects = try finish(engine, id)
    #expect(listenerEvents(effects) == ["1: a cached", "1: refused i"])
    let refusals = effects.compactMap { if case .refuse(_, let refusal) = $0 { refusal } else { nil } }
    #expect(refusals.allSatisfy { $0.description.utf8.count < 2000 })
    #expect(try store.check().isSound)
  }

  /// The progress names the document because of which the query is not current.
  @Test func aRefusalIsPartOfTheProgressUntilTheDocumentIsGood() throws {
    let engine = try engine(try DocumentStore.openInMemory())
    let id = try listen(engine)
    let unreadable = RemoteDocument(unreadable: path("bad"), because: "It is not Base64.")
    try notify(engine, [document("a"), unreadable], id)
    _ = try finish(engine, id)
    let refused = try #require(engine.syncProgress.queries.first)
    #expect(refused.refusal == RemoteRefusal(.document(path("bad")), "It is not Base64."))
    #expect(!refused.isCurrent && engine.syncProgress.error == nil)
    try notify(engine, [document("bad", at: 1500)], id)
    _ = try finish(engine, id, token: [2], at: 2000)
    #expect(try #require(engine.syncProgress.queries.first).refusal == nil)
    #expect(try #require(engine.syncProgress.queries.first).isCurrent)
  }

  // MARK: Tokens, times and counts

  @Test func anOversizedTokenIsDroppedAlone() throws {
    let engine = try engine(try DocumentStore.openInMemory())
    let id = try listen(engine)
    try notify(engine, [document("a")], id)
    let large = [UInt8](repeating: 1, count: 9 << 20)
    #expect(listenerEvents(try finish(engine, id, token: large)) == ["1: a", "1: refused resumeToken"])
    #expect(try reconnect(engine).map(\.resumeToken) == [[]])
  }

  @Test(arguments: [.max, .min, -1] as [Int64])
  func aSnapshotWithoutAValidTimeIsRefusedAndItsChangesComeWithTheNext(number: Int64) throws {
    let engine = try engine(try DocumentStore.openInMemory())
    let id = try listen(engine)
    try notify(engine, [document("a")], id)
    #expect(listenerEvents(try finish(engine, id, at: number)) == ["1: refused snapshotTime"])
    #expect(listenerEvents(try finish(engine, id, token: [2])) == ["1: a"])
    #expect(engine.local.lastRemoteVersion == SnapshotVersion(microseconds: 1000))
  }

  @Test func aFilterWithANegativeCountIsIgnored() throws {
    let engine = try engine(try DocumentStore.openInMemory())
    let id = try listen(engine)
    try notify(engine, [document("a")], id)
    let effects = try engine.handle(.watchChanged(.existenceFilter(id, count: -1, nil), .none))
    #expect(asked(effects).isEmpty)
    #expect(listenerEvents(try finish(engine, id)) == ["1: a", "1: refused existenceFilter"])
  }

  /// Messages about a target that was not requested must not affect a later target.
  @Test func messagesAboutUnrequestedTargetsAreIgnored() throws {
    let engine = try engine(try DocumentStore.openInMemory())
    let id = try listen(engine)
    let strange = [Int32.min, 0, id.value + 2, .max].map { TargetID($0) }
    for state in [WatchChange.TargetState.added, .removed, .current, .reset, .noChange] {
      _ = try engine.handle(.watchChanged(.target(state, strange, resumeToken: [9]), .none))
    }
    try notify(engine, [document("a")], id)
    #expect(listenerEvents(try finish(engine, id)) == ["1: a"])
    let query = StructuredQuery(.document(path("a")))
    let effects = try engine.handle(.listen(ListenerID(2), query, ListenRules(includesMetadataChanges: true)))
    #expect(asked(effects).map(\.id) == [TargetID(id.value + 2)])
    let second = try #require(engine.target(of: query))
    _ = try engine.handle(.watchChanged(.target(.added, [second]), .none))
    try notify(engine, [document("a")], second)
    #expect(listenerEvents(try finish(engine, second, at: 2000)) == ["2: a"])
  }

  // MARK: Answers to writes

  private func write(_ engine: SyncEngine) throws {
    let transforms = [
      FieldTransform(StoredFieldPath(unchecked: ["n"]), .increment(.integer(1))),
      FieldTransform(StoredFieldPath(unchecked: ["t"]), .serverTimestamp),
    ]
    _ = try engine.handle(
      .write(
        [.patch(path("a"), StoredMap(), mask: FieldMask([]), transforms: transforms)],
        at: try #require(Self.time), nil))
    _ = try engine.handle(.writeOpened)
    _ = try engine.handle(.handshakeComplete(token: []))
  }

  private static let results: [(String, StoredValue)] = [
    ("depth", nest(21)), ("pending", .pendingTimestamp(time!, previous: nil)),
    ("nested pending", .pendingTimestamp(time!, previous: .pendingTimestamp(time!, previous: nil))),
    ("size", .string(String(repeating: "s", count: 2 << 20))),
    ("array", .array([.array([])])),
  ]

  @Test(arguments: results)
  func anOversizedResultIsComputedLocallyUntilTheDocumentArrives(
    name: String, value: StoredValue
  ) throws {
    let store = try DocumentStore.openInMemory()
    let engine = try engine(store)
    let id = try listen(engine)
    try notify(engine, [document("a")], id)
    _ = try finish(engine, id)
    try write(engine)
    let version = SnapshotVersion(microseconds: 2000)
    let result = WriteResult(version: version, transformResults: [value, value])
    let effects = try engine.handle(.writeAnswered(version, [result], token: []))
    #expect(listenerEvents(effects).contains("1: refused a"))
    #expect(engine.pendingBatches.isEmpty, "it was accepted")
    #expect(try store.check().isSound)
    let seen = try #require(try store.document(at: path("a")))
    #expect(seen.fields["n"] == .integer(2) && seen.fields["t"] == .timestamp(version.stored))
    #expect(try engine.local.isAssumed(path("a")))
    try notify(engine, [document("a", StoredMap([("n", .integer(7))]), at: 2000)], id)
    _ = try finish(engine, id, token: [3], at: 3000)
    #expect(try engine.local.document(path("a")).fields == StoredMap([("n", .integer(7))]))
  }

  @Test(arguments: [.max, .min, -1, 0] as [Int64])
  func anAnswerWithoutAValidTimeIsReplacedByTheRemotesDocument(number: Int64) throws {
    let store = try DocumentStore.openInMemory()
    let engine = try engine(store)
    let id = try listen(engine)
    try notify(engine, [document("a")], id)
    _ = try finish(engine, id)
    try write(engine)
    let never = SnapshotVersion(microseconds: number)
    let result = WriteResult(
      version: never, transformResults: [.integer(2), .timestamp(try #require(Self.time))],
      versionBefore: never)
    _ = try engine.handle(.writeAnswered(never, [result], token: [UInt8](repeating: 1, count: 1 << 20)))
    #expect(engine.pendingBatches.isEmpty)
    #expect(engine.local.streamToken == [], "the token is beyond the limit")
    let known = try engine.local.document(path("a"))
    #expect(known.pending == .committed && known.version == SnapshotVersion(microseconds: 501))
    #expect(try engine.brokenInvariant() == nil)
    try notify(engine, [document("a", StoredMap([("n", .integer(7))]), at: 900)], id)
    _ = try finish(engine, id, token: [3], at: 3000)
    #expect(try engine.local.document(path("a")).fields == StoredMap([("n", .integer(7))]))
  }

  // MARK: Bundles

  @Test(arguments: ["depth", "name", "pending", "nested pending", "record"])
  func anOversizedBundleIsRefusedWithAndWithoutARemote(kind: String) throws {
    let time = try #require(Self.time)
    var bundle = BundleContents(id: "b", createTime: time)
    for fields in [StoredMap(), try hostile(kind).fields] {
      bundle.documents.append(
        BundledDocument(
          path: path("\(bundle.documents.count)"), fields: fields, version: time, byteCount: 1))
    }
    let store = try DocumentStore.openInMemory()
    let view = LocalView(over: store)
    #expect(throws: DocumentStoreError.self) { try view.load(bundle) }
    #expect(try store.documents(rooms).isEmpty && !view.hasBundle("b", from: time))

    let client = LocalView(over: try DocumentStore.openInMemory())
    let remote = try LoopbackRemote(authority: try DocumentStore.openInMemory())
    let driver = try client.store.attach(remote)
    #expect(throws: DocumentStoreError.self) { try client.load(bundle, through: driver) }
    let failed = Locked<OfflineSyncError?>(nil)
    driver.send(.collect(threshold: .max, percentile: 0)) { error in failed.withLock { $0 = error } }
    driver.stop()
    #expect(failed.withLock { $0 } == nil, "the database continues")
  }
}
