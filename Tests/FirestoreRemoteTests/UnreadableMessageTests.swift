// A server whose messages cannot be read: a client refuses a document alone, and does not ask in a loop.

import ByteStore
import DocumentStore
import FirestoreRemote
import FirestoreWire
import Harness
import OfflineSync
import Testing

@Suite struct UnreadableMessageTests {
  private static let documents = "projects/shop/databases/(default)/documents"
  private static let time = #""2026-01-01T00:00:02Z""#

  private let peer = ScriptedRemote()
  private let driver: SyncDriver
  private let heard = Locked<[String]>([])
  private let progress = Locked<[SyncProgressState]>([])

  init() throws {
    driver = try DocumentStore.openInMemory().attach(
      peer.remote, .refuse, collector: .lru, options: SyncEngine.Options(),
      as: ClientIdentity(name: "phone", user: nil, run: RunID(1), seed: 1, scheduler: peer.scheduler))
    let rooms = StructuredQuery(.collection(try CollectionPath(["rooms"])))
    _ = driver.listenToProgress { [progress] in
      if case .success(let state) = $0 { progress.withLock { $0.append(state) } }
    }
    _ = driver.listen(to: rooms, ListenRules(includesMetadataChanges: true)) { [heard] result in
      switch result {
      case .success(let snapshot):
        let text = snapshot.documents.map(\.path.id).joined(separator: " ")
        heard.withLock { $0.append(snapshot.isFromCache ? "\(text) cached" : text) }
      case .failure(let error): heard.withLock { $0.append("\(error)") }
      }
    }
    peer.play()
  }

  private var channel: ScriptedChannel? { peer.channels.all.last { $0.method == "Listen" } }

  private func deliver(_ texts: String...) throws {
    for text in texts { try #require(channel).deliver(text) }
    peer.scheduler.play(for: 1_000_000)
  }

  private func change(_ id: String, _ fields: String) -> String {
    """
    {"documentChange": {"document": {"name": "\(Self.documents)/rooms/\(id)", "fields": \(fields),
      "createTime": \(Self.time), "updateTime": \(Self.time)}, "targetIds": [2]}}
    """
  }

  private static let added = #"{"targetChange": {"targetChangeType": "ADD", "targetIds": [2]}}"#
  private static let current = [
    #"{"targetChange": {"targetChangeType": "CURRENT", "targetIds": [2], "resumeToken": "AQ=="}}"#,
    #"{"targetChange": {"readTime": \#(time), "resumeToken": "AQ=="}}"#,
  ]

  @Test func theListenerGetsTheErrorOfTheDocumentAndStays() throws {
    try deliver(
      Self.added, change("a", "{}"), change("bad", #"{"n": {"bytesValue": "?"}}"#), Self.current[0],
      Self.current[1])
    let events = heard.withLock { $0 }
    #expect(events.count == 2 && events.first == "a cached", "\(events)")
    let error = try #require(events.last)
    #expect(error.contains("the document rooms/bad") && error.contains("there is no Base64"), "\(error)")
    #expect(try #require(channel).isClosed == false && peer.channels.all.count == 1)
    let state = try #require(progress.withLock { $0.last })
    #expect(state.error == nil && state.connection == .connected)
    #expect(state.queries.first?.refusal?.subject == .document(DocumentPath("rooms/bad")))
    // Other changes arrive, and a good version of the document completes the query.
    try deliver(change("b", "{}"), change("bad", "{}"), #"{"targetChange": {"readTime": \#(Self.time)}}"#)
    #expect(heard.withLock { $0.last } == "a b bad")
    #expect(progress.withLock { $0.last?.queries.first?.refusal } == nil)
    driver.stop()
  }

  @Test func anotherMessageEndsTheStreamAndIsNotAskedForInALoop() throws {
    let bad = #"{"targetChange": {"readTime": "30000-01-01T00:00:00Z"}}"#
    try deliver(Self.added, change("a", "{}"), bad)
    #expect(peer.channels.all.map(\.isClosed) == [true])
    let state = try #require(progress.withLock { $0.last })
    #expect(state.error?.code == .dataLoss && state.connection != .connected)
    #expect(state.error?.message.contains("read_time") == true, "\(String(describing: state.error))")
    peer.scheduler.play(for: 25_000_000)
    #expect(peer.channels.all.count == 1, "the delay is about a minute")
    peer.scheduler.play(for: 70_000_000)
    #expect(peer.channels.all.count == 2)
    // If the message comes again, the next delay is long, too.
    try deliver(Self.added, bad)
    peer.scheduler.play(for: 25_000_000)
    #expect(peer.channels.all.count == 2)
    // Writes go on.
    driver.write([.set(DocumentPath("rooms/own"), StoredMap())], .local) { _ in }
    peer.play()
    #expect(peer.channels.all.last?.method == "Write")
    driver.stop()
  }
}
