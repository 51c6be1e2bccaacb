// A remote with one document that no database can store: calls fail, and the client stays usable.

import Authority
import ByteStore
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import Testing

@Suite struct RefusedDocumentTests {
  private let authority: DocumentStore
  private let remote: NestingRemote
  private let firestore: Firestore

  init() throws {
    authority = try DocumentStore.openInMemory()
    remote = NestingRemote(try LoopbackRemote(authority: authority))
    firestore = Firestore.memory()
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = remote
    firestore.settings = settings
    for id in ["a", "bad", "c"] {
      try authority.commit([.set(DocumentPath(["rooms", id]), StoredMap([("n", .integer(1))]))])
    }
  }

  private func failure(_ body: () async throws -> Void) async -> NSError? {
    do {
      try await body()
      return nil
    } catch {
      return error as NSError
    }
  }

  @Test(.timeLimit(.minutes(15))) func aListenerReceivesTheGoodDocumentsAndAnErrorForTheBadOne() async throws
  {
    let (events, heard) = AsyncStream.makeStream(of: String.self)
    let registration = firestore.collection("rooms").addSnapshotListener { snapshot, error in
      if let error = error as NSError? {
        heard.yield("\(error.code) \(error.localizedDescription)")
      } else if let snapshot {
        heard.yield(snapshot.documents.map(\.documentID).joined(separator: " "))
      }
    }
    var iterator = events.makeAsyncIterator()
    var state = await iterator.next()
    #expect(state == "a c")
    state = await iterator.next()
    let error = try #require(state)
    #expect(error.hasPrefix("11 The remote sent the document rooms/bad that this database cannot accept: "))
    for try await progress in firestore.syncProgress {
      guard let query = progress.queries.first, let error = query.error else { continue }
      #expect(error.code == 11 && error.localizedDescription.contains("rooms/bad"))
      #expect(progress.error == nil && progress.connection == .connected && !progress.isSynced)
      break
    }
    // The listener still receives later changes.
    try authority.commit([.set(DocumentPath(["rooms", "d"]), StoredMap())])
    remote.refresh()
    state = await iterator.next()
    #expect(state == "a c d")
    // After a reconnect the remote sends a valid document.
    remote.isHonest = true
    try await firestore.disableNetwork()
    try await firestore.enableNetwork()
    state = await iterator.next()
    #expect(state == "a bad c d")
    registration.remove()
    try await firestore.terminate()
  }

  @Test(.timeLimit(.minutes(15))) func readsOfTheBadDocumentFailAndOtherReadsSucceed() async throws {
    let rooms = firestore.collection("rooms")
    let read = await failure { _ = try await rooms.document("bad").getDocument() }
    #expect(read?.code == 11 && read?.localizedDescription.contains("rooms/bad") == true)
    let query = await failure { _ = try await rooms.getDocuments() }
    #expect(query?.code == 11 && query?.localizedDescription.contains("rooms/bad") == true)
    #expect(try await rooms.document("a").getDocument()["n"] as? Int == 1)
    #expect(try await rooms.getDocuments(source: .cache).documents.map(\.documentID) == ["a", "c"])
    try await rooms.document("a").setData(["n": 2])
    #expect(try await rooms.document("a").getDocument()["n"] as? Int == 2)
    let ended = await failure { for try await _ in rooms.snapshots {} }
    #expect(ended?.code == 11, "a loop can hear of it only at its end")
    try await firestore.terminate()
  }

  @Test(.timeLimit(.minutes(15))) func aTransactionThatReadsTheBadDocumentFailsImmediately() async throws {
    let reference = firestore.document("rooms/bad")
    let attempts = Locked(0)
    let error = await failure {
      _ = try await firestore.runTransaction { transaction, errorPointer in
        attempts.withLock { $0 += 1 }
        do {
          return try transaction.getDocument(reference).data()
        } catch {
          errorPointer?.pointee = error as NSError
          return nil
        }
      }
    }
    #expect(error?.code == 11 && attempts.withLock { $0 } == 1)
    try await firestore.terminate()
  }

  private static let wrongAggregates: [[StoredValue]] = [
    [], [.string("many")], [.integer(-1)], [.integer(1), .integer(1)],
  ]

  @Test(.timeLimit(.minutes(15)), arguments: wrongAggregates)
  func anInvalidAggregateIsAnError(values: [StoredValue]) async throws {
    remote.aggregates.withLock { $0 = values }
    let error = await failure {
      _ = try await firestore.collection("rooms").count.getAggregation(source: .server)
    }
    #expect(error?.code == 11)
    try await firestore.terminate()
  }
}

/// Sends the document "bad" with maps nested beyond the limit, and replaces aggregate results with
/// `aggregates`.
private final class NestingRemote: Remote {
  private let inner: LoopbackRemote
  private let honest = Locked(false)
  let aggregates = Locked<[StoredValue]?>(nil)

  init(_ inner: LoopbackRemote) { self.inner = inner }

  var isHonest: Bool {
    get { honest.withLock { $0 } }
    set { honest.withLock { $0 = newValue } }
  }

  func refresh() { inner.refresh() }

  private func sentDocument(_ document: RemoteDocument) -> RemoteDocument {
    guard !isHonest, document.path.id == "bad", document.fields != nil else { return document }
    var sent = document
    var value = StoredValue.null
    for _ in 0..<30 { value = .map(StoredMap([("d", value)])) }
    sent.fields = StoredMap([("d", value)])
    return sent
  }

  var documentsName: String { inner.documentsName }

  func openWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream {
    inner.openWatchStream(as: user) { [self] event in
      guard case .changed(.document(let path, let document?, let updated, let removed), let version) = event
      else { return handler(event) }
      handler(.changed(.document(path, sentDocument(document), updated: updated, removed: removed), version))
    }
  }

  func openWriteStream(
    as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream {
    inner.openWriteStream(as: user, handler)
  }

  func documents(
    at paths: [DocumentPath], as user: String?,
    _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void
  ) {
    inner.documents(at: paths, as: user) { [self] result in answer(result.map { $0.map(sentDocument) }) }
  }

  func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
  ) {
    inner.commit(mutations, as: user, answer)
  }

  func aggregate(
    _ asked: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
  ) {
    inner.aggregate(asked, over: query, as: user) { [self] result in
      answer(aggregates.withLock { $0 }.map { .success($0) } ?? result)
    }
  }
}
