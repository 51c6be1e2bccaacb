// Statistics, backups, and the eviction of old documents.

private import DocumentStore
private import FirebaseCore
public import Foundation
private import OfflineSync

extension Firestore {
  /// Returns the size and the state of the database. Reads index pages, and documents only to find expired
  /// ones that cannot be read. Throws `dataLoss` if damage prevents counting the documents.
  nonisolated(nonsending) public func statistics() async throws -> FirestoreStatistics {
    try await client().performedAfterWrites { view throws(DocumentStoreError) in
      try FirestoreStatistics(of: view.store)
    }
  }

  /// Writes a snapshot of the database to `directory`, which must be new or empty. Reads and writes continue
  /// while the backup runs. When this returns, the backup is on stable storage, and every document and every
  /// file content in it has been read back. `Firestore.open(at:)` opens the backup.
  ///
  /// Throws `failedPrecondition` if `directory` is not empty or lies inside the database's own directory, or
  /// if the database is in memory. Throws `dataLoss` if a document or a file content of this database is
  /// damaged, and `resourceExhausted` on a full disk. Throws `invalidArgument` for a URL that is not a local
  /// directory. After an error, `directory` holds no database.
  nonisolated(nonsending) public func backup(to directory: URL) async throws {
    guard !isInMemory else {
      throw FirestoreErrors.make(.failedPrecondition, "A database in memory has no backup.")
    }
    let path = try Self.localPath(of: directory)
    try await client().performedAfterWrites { view throws(DocumentStoreError) in
      try view.store.backup(to: path)
    }
  }

  /// Deletes the documents of a collection that were last changed before `date`, and returns the number of
  /// deleted documents. Documents that change while this runs stay. Documents whose update time lies in the
  /// future stay too; a bundle can contain such times if it was created with a fast clock. With a remote,
  /// only the cache is affected, and documents that a listener sees or that have pending writes stay. Throws
  /// `invalidArgument` for an invalid path, for a date after the year 9999, and for a date that is not a
  /// number.
  @discardableResult
  nonisolated(nonsending)
    public func evict(collection: String, olderThan date: Date) async throws -> Int
  {
    let query = try Validation.run { try self.collection(collection).runnable }
    if let problem = Timestamp.problem(date: date) {
      // No document was changed before the year 1.
      if date < Date() { return 0 }
      throw FirestoreErrors.make(.invalidArgument, problem)
    }
    return try await client().evict(query, before: Timestamp(date: date).stored)
  }
}
