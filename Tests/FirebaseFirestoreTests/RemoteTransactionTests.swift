// The commits of transactions, as they are sent to a remote.

import Authority
import ByteStore
import DocumentStore
import Foundation
import OfflineSync
import Testing

@testable import FirebaseFirestore

@Suite struct RemoteTransactionTests {
  private let remote: CommitRecorder
  private let firestore: Firestore

  init() throws {
    let authority = try DocumentStore.openInMemory()
    try authority.commit(
      ["read", "changed", "twice"].map {
        .set(try DocumentPath(["rooms", $0]), StoredMap([("n", .integer(1))]))
      })
    remote = CommitRecorder(try LoopbackRemote(authority: authority))
    firestore = Firestore.memory()
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = remote
    firestore.settings = settings
  }

  /// Firestore refuses a commit that verifies a document and writes it.
  @Test func aDocumentIsEitherVerifiedOrWritten() async throws {
    let rooms = firestore.collection("rooms")
    _ = try await firestore.runTransaction { transaction, failure in
      do {
        for name in ["read", "changed", "twice", "new"] {
          _ = try transaction.getDocument(rooms.document(name))
        }
      } catch {
        failure?.pointee = error as NSError
      }
      transaction.updateData(["n": 2], forDocument: rooms.document("changed"))
      transaction.setData(["n": 2], forDocument: rooms.document("twice"))
      transaction.updateData(["n": 3], forDocument: rooms.document("twice"))
      transaction.setData(["n": 2], forDocument: rooms.document("new"))
      return nil
    }
    let commit = try #require(remote.commits.last)
    let checks = commit.map { mutation in
      let isVerification = if case .verify = mutation.change { true } else { false }
      return "\(mutation.path) \(isVerification ? "verify" : "write") \(Self.text(of: mutation.precondition))"
    }
    #expect(
      checks == [
        "rooms/read verify at a time", "rooms/changed write at a time", "rooms/twice write at a time",
        "rooms/twice write exists(true)", "rooms/new write exists(false)",
      ])
    #expect(try await rooms.document("twice").getDocument(source: .server)["n"] as? Int == 3)
    try await firestore.terminate()
  }

  private static func text(of precondition: Precondition) -> String {
    if case .updateTime = precondition { "at a time" } else { "\(precondition)" }
  }
}

/// Notes the commits of a remote.
private final class CommitRecorder: Remote {
  private let remote: LoopbackRemote
  private let recorded = Locked<[[Mutation]]>([])

  init(_ remote: LoopbackRemote) { self.remote = remote }

  var commits: [[Mutation]] { recorded.withLock { $0 } }

  var documentsName: String { remote.documentsName }

  func openWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream { remote.openWatchStream(as: user, handler) }

  func openWriteStream(
    as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream { remote.openWriteStream(as: user, handler) }

  func documents(
    at paths: [DocumentPath], as user: String?,
    _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void
  ) { remote.documents(at: paths, as: user, answer) }

  func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
  ) {
    recorded.withLock { $0.append(mutations) }
    remote.commit(mutations, as: user, answer)
  }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
  ) { remote.aggregate(aggregates, over: query, as: user, answer) }
}
