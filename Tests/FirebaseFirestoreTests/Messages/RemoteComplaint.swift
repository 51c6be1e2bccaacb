// Calls that fail because a remote is unreachable, or because another client committed first.

import Authority
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync

/// A database with a remote, and the remote's authority.
struct RemoteDatabase: Sendable {
  let authority: DocumentStore
  let firestore: Firestore

  init(acknowledgement: FirestoreAcknowledgement = .server) throws {
    authority = try DocumentStore.openInMemory()
    firestore = Firestore.memory()
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = try LoopbackRemote(authority: authority)
    settings.acknowledgement = acknowledgement
    firestore.settings = settings
  }
}

extension Complaint {
  static let remote = awayOrOvertaken + queriesAtRemote

  private static let queriesAtRemote = queriesBeyondLimits.flatMap { message, query in
    [FirestoreSource.default, .server, .cache].map { source in
      Complaint(message) { _ in
        try await with {
          _ = try await query($0.firestore.collection("a")).getDocuments(source: source)
        }
      }
    }
  }

  private static let awayOrOvertaken = [
    Complaint(
      "Failed to get document from cache. (However, this document may exist on the server. Run again without "
        + "setting source to FirestoreSourceCache to attempt to retrieve the document "
    ) { _ in
      try await with { _ = try await $0.firestore.document("a/b").getDocument(source: .cache) }
    },
    Complaint(
      "Failed to get document from server. (However, this document does exist in the local cache. Run again "
        + "without setting source to FirestoreSourceServer to retrieve the cached document.)"
    ) { _ in
      try await with { database in
        let document = database.firestore.document("a/b")
        try await document.setData(["n": 1])
        try await database.firestore.disableNetwork()
        _ = try await document.getDocument(source: .server)
      }
    },
    Complaint("Failed to get document because the client is offline.") { _ in
      try await with { database in
        try await database.firestore.disableNetwork()
        _ = try await database.firestore.document("a/b").getDocument()
      }
    },
    Complaint(
      "Failed to get documents from server. (However, these documents may exist in the local cache. Run again "
        + "without setting source to FirestoreSourceServer to retrieve the cached documents.)"
    ) { _ in
      try await with { database in
        try await database.firestore.disableNetwork()
        _ = try await database.firestore.collection("a").getDocuments(source: .server)
      }
    },
    Complaint("Failed to get result from server.") { _ in
      try await with { database in
        try await database.firestore.disableNetwork()
        _ = try await database.firestore.collection("a").count.getAggregation(source: .server)
      }
    },
    Complaint("Document version changed between two reads.") { _ in
      try await with { database in
        let document = database.firestore.document("a/b")
        let path = try DocumentPath(["a", "b"])
        try await runOnce(database.firestore) { transaction in
          _ = try transaction.getDocument(document)
          // Another client's commit, made directly at the authority.
          try database.authority.commit([.set(path, StoredMap([("n", .integer(1))]))])
          _ = try transaction.getDocument(document)
        }
      }
    },
  ]

  private static func with(_ body: (RemoteDatabase) async throws -> Void) async throws {
    let database = try RemoteDatabase()
    do {
      try await body(database)
    } catch {
      try await database.firestore.terminate()
      throw error
    }
    try await database.firestore.terminate()
  }

  /// Runs a transaction with a single attempt.
  private static func runOnce(
    _ firestore: Firestore, _ block: @escaping @Sendable (Transaction) throws -> Void
  ) async throws {
    let options = TransactionOptions()
    options.maxAttempts = 1
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      firestore.runTransaction(with: options) { transaction, errorPointer in
        do { try block(transaction) } catch { errorPointer?.pointee = error as NSError }
        return nil
      } completion: { _, error in
        if let error { done.resume(throwing: error) } else { done.resume() }
      }
    }
  }
}
