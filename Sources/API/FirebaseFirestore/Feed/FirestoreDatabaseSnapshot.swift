// All documents at one position of the change feed.

import DocumentStore
import FirebaseCore
import Foundation
import OfflineSync

/// All documents of a database at one position of the change feed.
///
/// A copy of the documents, to which the changes after `position` are applied, equals the database: no change
/// is missing, and none is in both. Later commits do not affect the snapshot. Until `close()` or the release
/// of the last reference, the snapshot keeps the space of replaced documents, and the feed keeps the changes
/// after `position`, within its limits.
///
/// ```swift
/// let firestore = Firestore.firestore()
/// let snapshot = try await firestore.databaseSnapshot()
/// for city in try await snapshot.documents(of: firestore.collection("cities")) { print(city.documentID) }
/// for try await change in firestore.changes(after: snapshot.position) { print(change.document.path) }
/// ```
public final class FirestoreDatabaseSnapshot: Sendable {
  /// The position of the last commit in the snapshot.
  public let position: ChangePosition
  private let firestore: Firestore
  private let snapshot: StoreSnapshot
  private let follower: FeedFollower
  private let hasRemote: Bool

  fileprivate init(_ firestore: Firestore, _ store: DocumentStore, hasRemote: Bool) throws {
    self.firestore = firestore
    self.hasRemote = hasRemote
    // The follower comes first: it activates the feed, and from then on nothing is removed.
    follower = try store.followFeed()
    snapshot = try store.snapshot()
    let newest = try snapshot.feedPosition()
    position = try store.changePosition(after: newest)
    follower.advance(to: newest)
  }

  /// Returns the results of a query on the snapshot. Read a large collection in parts: order it, and use
  /// `limit(to:)` with `start(afterDocument:)`. Throws `invalidArgument` for a query of another database.
  nonisolated(nonsending) public func documents(of query: Query) async throws -> [QueryDocumentSnapshot] {
    guard query.firestore === firestore else {
      throw FirestoreErrors.make(.invalidArgument, "The query belongs to another database.")
    }
    let stored = try query.runnable
    let documents = try await firestore.livingClient().store.performed {
      [snapshot] _ throws(DocumentStoreError) in try snapshot.documents(stored)
    }
    return documents.map { document in
      QueryDocumentSnapshot(
        DocumentReference(firestore, document.path.segments), document,
        hasPendingWrites: hasRemote && document.isPending, isFromCache: hasRemote)
    }
  }

  /// Releases the snapshot. Later reads fail.
  public func close() {
    snapshot.close()
    follower.end()
  }
}

extension Firestore {
  /// Takes a snapshot of all documents, together with its position in the change feed. Includes all writes
  /// that were issued before this call.
  nonisolated(nonsending) public func databaseSnapshot() async throws -> FirestoreDatabaseSnapshot {
    let client = client()
    let hasRemote = client.hasRemote
    return try await client.performedAfterWrites { [self] view in
      Result { try FirestoreDatabaseSnapshot(self, view.store, hasRemote: hasRemote) }
        .mapError(FirestoreErrors.translate(any:))
    }.get()
  }
}
