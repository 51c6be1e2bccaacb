// Preconditions of clients, which name versions as the clients received them.
//
// All documents that were last changed before the floor are sent with the version of the floor. A
// precondition with that version holds for the document as it was then, whatever its own update time is.

package import DocumentStore
package import OfflineSync

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

  /// The error of a commit one of whose guards does not hold.
  package static let guardFailed = RemoteError(
    .failedPrecondition, "A guard of the batch does not hold.")

  /// The commit of a client's mutations. It is refused with `guardFailed` unless all guards hold, which are
  /// preconditions of documents.
  package func commit(
    of mutations: [Mutation], guards: [DocumentPath: Precondition] = [:], recording: CommitRecord? = nil
  ) -> BackendCommit {
    guard !guards.isEmpty || isNamed(in: mutations) else {
      return BackendCommit(mutations, recording: recording)
    }
    let paths = mutations.filter { isNamed(in: [$0]) }.map(\.path) + guards.keys
    return BackendCommit(
      mutations, recording: recording,
      check: BackendCheck(paths) { [self] read throws(RemoteError) in
        for (path, precondition) in guards {
          guard holds(precondition, of: try read(path)) else { throw Self.guardFailed }
        }
        return try asStored(mutations, read)
      })
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
    _ document: BackendCheck.Read
  ) throws(RemoteError) -> [Mutation] {
    guard let floor else { return mutations }
    return try mutations.map { mutation throws(RemoteError) in
      guard mutation.precondition == .updateTime(floor.stored), let document = try document(mutation.path),
        SnapshotVersion(document.updateTime) < floor
      else { return mutation }
      return Mutation(mutation.path, mutation.change, precondition: .updateTime(document.updateTime))
    }
  }
}
