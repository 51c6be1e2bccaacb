// Preconditions of clients, which name versions as the clients were told them.
//
// All documents that were last changed before the floor are told with the version of the floor. A precondition
// with that version holds for the document as it was then, whatever its own update time is.

package import DocumentStore
internal import OfflineSync

extension AuthorityLife {
  /// Whether a precondition holds for a document, which is nil if it does not exist.
  package func holds(_ precondition: Precondition, of document: StoredDocument?) -> Bool {
    switch precondition {
    case .none: true
    case .exists(let exists): (document != nil) == exists
    case .updateTime(let time):
      document.map { $0.updateTime == time || told(SnapshotVersion($0.updateTime)) == SnapshotVersion(time) }
        ?? false
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
