// A remote that is connected, and says nothing any more: no call waits for ever.

import ByteStore
import DocumentStore
import Foundation
import OfflineSync
import Testing

@testable import FirebaseFirestore

@Suite struct SilentRemoteTests {
  private let authority: DocumentStore
  private let remote: SilentRemote
  private let firestore: Firestore

  init() throws {
    authority = try DocumentStore.openInMemory()
    remote = SilentRemote(try LoopbackRemote(authority: authority))
    firestore = Firestore.memory()
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = remote
    settings.remotePatience = 1.2
    firestore.settings = settings
    try authority.commit([.set(DocumentPath(["rooms", "eros"]), StoredMap([("n", .integer(1))]))])
  }

  private func failure(_ body: () async throws -> Void) async -> NSError? {
    do {
      try await body()
      return nil
    } catch {
      return error as NSError
    }
  }

  @Test func readsAreAnsweredFromTheCacheOrFail() async throws {
    let rooms = firestore.collection("rooms")
    _ = try await rooms.getDocuments(source: .server)
    remote.isSilent = true
    let cached = try await rooms.getDocuments()
    #expect(cached.metadata.isFromCache && cached.documents.map(\.documentID) == ["eros"])
    #expect(try await rooms.document("eros").getDocument()["n"] as? Int == 1)
    let query = await failure { _ = try await rooms.getDocuments(source: .server) }
    #expect(
      query?.code == 14 && query?.localizedDescription.hasPrefix("Failed to get documents from") == true)
    let document = await failure { _ = try await rooms.document("none").getDocument() }
    #expect(document?.localizedDescription == "Failed to get document because the client is offline.")
    remote.isSilent = false
    #expect(try await !firestore.document("other/one").getDocument(source: .server).exists)
    try await firestore.terminate()
  }

  @Test func aggregatesAreUnavailable() async throws {
    remote.isSilent = true
    let error = await failure {
      _ = try await firestore.collection("rooms").count.getAggregation(source: .server)
    }
    #expect(error?.code == 14 && error?.localizedDescription == "Failed to get result from server.")
    try await firestore.terminate()
  }

  /// It may have happened: another attempt could do it twice.
  @Test func aTransactionWhoseCommitIsNotAnsweredIsNotTriedAgain() async throws {
    remote.losesCommits = true
    let reference = firestore.document("rooms/eros")
    let attempts = Locked(0)
    let error = await failure {
      _ = try await firestore.runTransaction { transaction, _ in
        attempts.withLock { $0 += 1 }
        let n = (try? transaction.getDocument(reference))?.get("n") as? Int ?? 0
        transaction.setData(["n": n + 1], forDocument: reference)
        return nil
      }
    }
    #expect(error?.code == 4 && attempts.withLock { $0 } == 1)
    #expect(try authority.document(at: DocumentPath(["rooms", "eros"]))?.fields["n"] == .integer(2))
    try await firestore.terminate()
  }

  @Test func allAttemptsOfATransactionHaveSoMuchTimeTogether() throws {
    remote.isSilent = true
    let patience = Patience(seconds: 0.02, each: 0.01)
    let path = try DocumentPath(["rooms", "eros"])
    for _ in 0..<10 where !patience.isOver {
      #expect(throws: OfflineSyncError.remote(FirstAnswer<Void>.unanswered)) {
        _ = try RemoteTransaction(remote, as: nil, patience).document(at: path)
      }
    }
    #expect(patience.isOver && patience.secondsForOne == 0)
  }
}

/// Takes everything, and loses what comes back.
private final class SilentRemote: Remote {
  private struct State {
    var isSilent = false
    var losesCommits = false
  }

  private let remote: LoopbackRemote
  private let state = Locked(State())

  init(_ remote: LoopbackRemote) { self.remote = remote }

  var isSilent: Bool {
    get { state.withLock { $0.isSilent } }
    set { state.withLock { $0.isSilent = newValue } }
  }

  var losesCommits: Bool {
    get { state.withLock { $0.losesCommits } }
    set { state.withLock { $0.losesCommits = newValue } }
  }

  var documentsName: String { remote.documentsName }

  func openWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream {
    remote.openWatchStream(as: user) { [self] event in if !isSilent { handler(event) } }
  }

  func openWriteStream(
    as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream {
    remote.openWriteStream(as: user) { [self] event in if !isSilent { handler(event) } }
  }

  func documents(
    at paths: [DocumentPath], as user: String?,
    _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void
  ) {
    remote.documents(at: paths, as: user) { [self] in if !isSilent { answer($0) } }
  }

  func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
  ) {
    remote.commit(mutations, as: user) { [self] in if !isSilent, !losesCommits { answer($0) } }
  }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
  ) {
    remote.aggregate(aggregates, over: query, as: user) { [self] in if !isSilent { answer($0) } }
  }
}
