// Times to live: a field of a collection's documents is their expiry time.

import DocumentStore
import FirebaseCore
import Foundation
import OfflineSync

/// The rule that documents of a collection expire.
public struct FirestoreTimeToLive: Hashable, Sendable {
  /// The last segment of the collections' paths.
  public let collection: String
  /// The field that holds the expiry time.
  public let field: FieldPath
  /// The number of documents that the last sweep has deleted; 0 before the first sweep.
  public let deletedCount: Int
  /// The number of expired documents that the last sweep could not read. They stay, and `dugout check` lists
  /// them.
  public let unreadableCount: Int
  /// The reason why the last sweep could not delete other documents; nil if there was none.
  public let failure: String?
}

extension Firestore {
  /// Deletes the documents of all collections with an ID when the time in a field has passed. `field` is a
  /// path with dots between the names. Replaces the rule that the collections had.
  ///
  /// The rule is stored, and takes effect without a restart. The database looks for expired documents one
  /// second after this call or after it is opened, and then every ten seconds. It spends at most two seconds
  /// on it, in commits of up to a hundred deletions that listeners and the change feed report like any other.
  /// Until then, queries still return expired documents. A field that does not exist or holds no timestamp
  /// never expires, and a document that is changed in the meantime stays.
  ///
  /// The clock starts at the system's time when the database is opened, and advances evenly. A jump of the
  /// system's clock has no effect until the database is opened again.
  ///
  /// Throws `failedPrecondition` with a remote, because the remote deletes expired documents. Throws
  /// `invalidArgument` for a reserved collection ID, and for more than 1000 rules.
  nonisolated(nonsending) public func setTimeToLive(field: String, collection: String) async throws {
    try await setTimeToLive(FieldPath.dotted(field), collection)
  }

  /// Deletes the documents of all collections with an ID when the time in a field has passed, like the form
  /// that takes the field as a string.
  nonisolated(nonsending) public func setTimeToLive(field: FieldPath, collection: String) async throws {
    try await setTimeToLive(field.stored, collection)
  }

  /// Removes the rule of the collections with an ID. Their documents no longer expire. Has no effect if there
  /// is no rule.
  nonisolated(nonsending) public func removeTimeToLive(collection: String) async throws {
    try await setTimeToLive(nil, collection)
  }

  nonisolated(nonsending) private func setTimeToLive(
    _ field: StoredFieldPath?, _ collection: String
  ) async throws {
    let client = client()
    try client.store.checkWritable()
    try await client.performedAfterWrites { view throws(DocumentStoreError) in
      try view.store.setTimeToLive(field, ofCollectionGroup: collection)
    }
  }

  /// Returns the rules by which documents expire, ordered by collection, with the results of the last sweep.
  nonisolated(nonsending) public func timesToLive() async throws -> [FirestoreTimeToLive] {
    let (policies, reports) = try await client().performedAfterWrites { view in
      (view.store.timeToLivePolicies, view.store.timeToLiveReports)
    }
    return policies.sorted { $0.key < $1.key }.map { collection, field in
      let report = reports[collection]
      return FirestoreTimeToLive(
        collection: collection, field: FieldPath(field.names), deletedCount: report?.removed ?? 0,
        unreadableCount: report?.unreadable ?? 0,
        failure: report?.failure.map { FirestoreErrors.translate($0).localizedDescription })
    }
  }
}
