// Targets of one document: the client concludes from a complete target without its document that the document
// does not exist. It must not conclude this too early, because the conclusion hides older versions of the
// document that the remote sends later.

import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct DocumentTargetTests {
  private let path = DocumentPath(unchecked: ["rooms", "a"])
  private let store: DocumentStore
  private let engine: SyncEngine

  init() throws {
    store = try DocumentStore.openInMemory()
    engine = SyncEngine(try LocalStore(store, user: nil, collector: .lru, client: "client"))
  }

  private var query: StructuredQuery { StructuredQuery(.document(path)) }

  private func listen(_ listener: Int) throws -> [WatchTarget] {
    asked(
      try engine.handle(
        .listen(ListenerID(listener), query, ListenRules(includesMetadataChanges: true))))
  }

  private func asked(_ effects: [SyncEffect]) -> [WatchTarget] {
    effects.compactMap { if case .watch(let target) = $0 { target } else { nil } }
  }

  /// Passes a message of the remote to the engine. Returns the resulting requests.
  @discardableResult
  private func take(_ change: WatchChange, at version: Int64 = 0) throws -> [WatchTarget] {
    asked(try engine.handle(.watchChanged(change, SnapshotVersion(microseconds: version))))
  }

  private func sendDocument(at version: Int64, for id: TargetID) throws {
    let document = RemoteDocument(
      path, StoredMap([("n", .integer(1))]), version: SnapshotVersion(microseconds: version))
    try take(.document(path, document, updated: [id], removed: []))
  }

  @discardableResult
  private func finish(_ id: TargetID, token: [UInt8], at version: Int64) throws -> [WatchTarget] {
    try take(.target(.current, [id], resumeToken: token))
    return try take(.target(.noChange, [], resumeToken: token), at: version)
  }

  private var isKnown: Bool {
    get throws { try store.document(at: path)?.fields == StoredMap([("n", .integer(1))]) }
  }

  /// A reset that no document follows leaves a target without its document, and a resume token. At the next
  /// resume, the remote's count shows the client that it lacks the document.
  @Test func aFilterThatCountsAMissingDocumentRequestsTheTargetAgain() throws {
    _ = try listen(1)
    _ = try engine.handle(.watchOpened)
    let id = try #require(engine.target(of: query))
    try take(.target(.added, [id]))
    try sendDocument(at: 500, for: id)
    try finish(id, token: [1], at: 1000)
    try take(.target(.reset, [id]))
    try take(.target(.noChange, [], resumeToken: [2]), at: 1500)

    _ = try engine.handle(.watchClosed(RemoteError(.unavailable)))
    _ = try engine.handle(.timer(.watchBackoff))
    let resumed = asked(try engine.handle(.watchOpened))
    #expect(resumed.map(\.resumeToken) == [[2]])
    #expect(resumed.map(\.expectedCount) == [0])
    try take(.target(.added, [id]))
    try take(.existenceFilter(id, count: 1, nil))
    let again = try finish(id, token: [3], at: 2000)
    #expect(try isKnown)
    #expect(again.filter { $0.id == id }.map(\.resumeToken) == [[]])
    #expect(again.filter { $0.id == id }.map(\.purpose) == [.existenceFilterMismatch])

    // The answer to the new request contains the document in its old version.
    try take(.target(.removed, [id]))
    try take(.target(.added, [id]))
    try take(.target(.noChange, []), at: 2500)
    #expect(try isKnown, "the new watch is not complete yet")
    try sendDocument(at: 500, for: id)
    try finish(id, token: [4], at: 3000)
    #expect(try isKnown)
    #expect(try engine.local.remoteKeys(of: id) == [path])
  }

  @Test(arguments: [0, 1])
  func aFilterWithTheRightCountChangesNothing(count: Int) throws {
    _ = try listen(1)
    _ = try engine.handle(.watchOpened)
    let id = try #require(engine.target(of: query))
    try take(.target(.added, [id]))
    if count == 1 { try sendDocument(at: 500, for: id) }
    try take(.existenceFilter(id, count: count, nil))
    #expect(try finish(id, token: [1], at: 1000).isEmpty)
    #expect(try isKnown == (count == 1))
    #expect(try engine.local.remoteKeys(of: id) == (count == 1 ? [path] : []))
  }

  /// A target that is watched again on the same stream is not complete because its earlier watch was.
  @Test func aTargetThatIsWatchedAgainIsNotCompleteBeforeItsDocumentArrives() throws {
    _ = try listen(1)
    _ = try engine.handle(.watchOpened)
    let id = try #require(engine.target(of: query))
    try take(.target(.added, [id]))
    try finish(id, token: [1], at: 1000)
    #expect(try !isKnown)
    _ = try engine.handle(.unlisten(ListenerID(1)))
    #expect(try listen(2).map(\.id) == [id])
    try take(.target(.removed, [id]))
    try take(.target(.added, [id]))
    // A snapshot of other targets.
    try take(.target(.noChange, []), at: 1500)
    try sendDocument(at: 1200, for: id)
    try finish(id, token: [2], at: 1600)
    #expect(try isKnown)
  }
}
