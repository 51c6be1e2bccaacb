// Numbers of a database, copies of it, and what is too old for it.

private import DocumentStore
private import FirebaseCore
public import Foundation
private import OfflineSync

/// How much a database holds.
public struct FirestoreStatistics: Hashable, Sendable {
  /// All documents of all collections; with a remote, those that are in the cache.
  public let documentCount: Int
  /// The space that the database takes, spare files and the contents of Storage's files included.
  public let byteCount: UInt64
  /// Of these, the space of documents: compressed, but for those that were written last.
  public let documentByteCount: UInt64
  /// Of these, the space of the contents of Storage's files.
  public let contentByteCount: UInt64
  /// How many indexes there are, without that of the names.
  public let indexCount: Int
}

extension Firestore {
  /// Reads pages of indexes and no document. Throws `dataLoss` if the documents cannot be counted since the database is
  /// damaged.
  nonisolated(nonsending) public func statistics() async throws -> FirestoreStatistics {
    let client = client()
    await client.wait(for: client.lastIssuedWrite)
    return try await client.performed { view throws(DocumentStoreError) in
      let contentBytes = try view.store.contentByteCount()
      return FirestoreStatistics(
        documentCount: try view.store.documentCount(), byteCount: view.store.byteCount + contentBytes,
        documentByteCount: view.store.documentByteCount, contentByteCount: contentBytes,
        indexCount: view.store.indexList.count)
    }
  }

  /// Writes the database as of one moment to `directory`, a new or an empty one, while reads and writes go on. When it
  /// returns, the backup is on stable storage, and every document and every content of a file in it was read back:
  /// `Firestore.open(at:)` opens it.
  ///
  /// Throws `failedPrecondition` if the directory holds anything or lies in the database's own, or if the database is in
  /// memory, `dataLoss` if a document or a content of this database is damaged, `resourceExhausted` on a full disk, and
  /// `invalidArgument` for a URL that names no directory of this machine; then the directory holds no database.
  nonisolated(nonsending) public func backup(to directory: URL) async throws {
    guard !isInMemory else {
      throw FirestoreErrors.make(.failedPrecondition, "A database in memory has no backup.")
    }
    let path = try Self.localPath(of: directory)
    let client = client()
    await client.wait(for: client.lastIssuedWrite)
    try await client.performed { view throws(DocumentStoreError) in try view.store.backup(to: path) }
  }

  /// Deletes the documents of a collection that were last changed before `date`, and says how many. Those that
  /// someone changes meanwhile stay, and so do those whose time is ahead of the clock, because whoever made their bundle
  /// had one that is: they count as changed then. With a remote they are gone from the cache alone, and those that a listener sees
  /// or that have pending writes stay. Throws `invalidArgument` for a date after the year 9999, and for one that is none.
  @discardableResult
  nonisolated(nonsending)
    public func evict(collection: String, olderThan date: Date) async throws -> Int
  {
    let query = try self.collection(collection).runnable
    if let problem = Timestamp.problem(date: date) {
      // No document was changed before the year 1.
      if date < Date() { return 0 }
      throw FirestoreErrors.make(.invalidArgument, problem)
    }
    let limit = Timestamp(date: date).stored
    let client = client()
    await client.wait(for: client.lastIssuedWrite)
    if let driver = try await client.openedDriver() {
      return try await client.inspected(driver) { engine throws(DocumentStoreError) in
        try engine.evict(query, before: limit)
      }
    }
    return try await client.performed { view in Result { try view.store.evict(query, before: limit) } }.get()
  }
}

extension DocumentStore {
  private static let evictedAtOnce = 500

  fileprivate func evict(_ query: StructuredQuery, before limit: StoredTimestamp) throws -> Int {
    do {
      var count = 0
      var rest = try records(query).filter { $0.updateTime < limit }.map(\.path)[...]
      while !rest.isEmpty {
        let chunk = rest.prefix(Self.evictedAtOnce)
        rest = rest.dropFirst(chunk.count)
        count += try transaction { transaction in
          var old: [DocumentPath] = []
          for path in chunk {
            if let document = try transaction.document(at: path), document.updateTime < limit {
              old.append(path)
            }
          }
          for path in old { try transaction.write(.delete(path)) }
          return old.count
        }
      }
      return count
    } catch let error as DocumentStoreError {
      throw FirestoreErrors.translate(error)
    }
  }
}
