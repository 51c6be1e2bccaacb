// Preconditions of clients, which name versions as the clients received them.
//
// All documents that were last changed before the floor are sent with the version of the floor. A
// precondition with that version holds for the document as it was then, whatever its own update time is.

package import DocumentStore
internal import OfflineSync

extension AuthorityLife {
  /// Whether a precondition holds for a document, which is nil if it does not exist.
  package func holds(_ precondition: Precondition, of document: StoredDocument?) -> Bool {
    switch precondition {
    case .none: true
    case .exists(let exists): (document != nil) == exists
    case .updateTime(let time):
      document.map {
        $0.updateTime == time || raised(SnapshotVersion($0.updateTime)) == SnapshotVersion(time)
      }
        ?? false
    }
  }

  private static let attemptsMax = 5

  /// Commits mutations of a client if all guards hold, which are preconditions of documents at the commit.
  /// Returns nil if a guard does not hold.
  package func commit(
    _ mutations: [Mutation], guards: [DocumentPath: Precondition] = [:], recording: CommitRecord? = nil
  ) throws(DocumentStoreError) -> CommitOutcome? {
    guard !guards.isEmpty || isNamed(in: mutations) else {
      return try store.commit(mutations, recording: recording)
    }
    let attempts = StoreTransactionAttempts(of: store)
    defer { attempts.end() }
    var attempt = 1
    while true {
      let transaction = try attempts.begin()
      defer { transaction.end() }
      do throws(DocumentStoreError) {
        for (path, precondition) in guards {
          guard holds(precondition, of: try transaction.document(at: path)) else { return nil }
        }
        let mutations = try asStored(mutations) { path throws(DocumentStoreError) in
          try transaction.document(at: path)
        }
        for mutation in mutations { try transaction.write(mutation) }
        return try transaction.commit(recording: recording)
      } catch {
        guard case .aborted = error, attempt < Self.attemptsMax else { throw error }
      }
      transaction.end()
      attempt += 1
      try attempts.wait(beforeAttempt: attempt)
    }
  }

  /// Whether a mutation requires the version of the floor. `asStored` may then change it.
  package func isNamed(in mutations: [Mutation]) -> Bool {
    guard let floor else { return false }
    return mutations.contains { $0.precondition == .updateTime(floor.stored) }
  }

  /// Returns the mutations with the update times that the store has for their documents. `document` has to
  /// read in the transaction that commits the mutations.
  package func asStored(
    _ mutations: [Mutation],
    _ document: (DocumentPath) throws(DocumentStoreError) -> StoredDocument?
  ) throws(DocumentStoreError) -> [Mutation] {
    guard let floor else { return mutations }
    return try mutations.map { mutation throws(DocumentStoreError) in
      guard mutation.precondition == .updateTime(floor.stored), let document = try document(mutation.path),
        SnapshotVersion(document.updateTime) < floor
      else { return mutation }
      return Mutation(mutation.path, mutation.change, precondition: .updateTime(document.updateTime))
    }
  }
}
