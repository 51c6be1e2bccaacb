// Creates references to collections, and queries of collection groups.

private import DocumentStore
private import Foundation

extension Firestore {
  /// The collection at a path such as `rooms` or `rooms/eros/messages`.
  public func collection(_ collectionPath: String) -> CollectionReference {
    checkAlive()
    return CollectionReference(self, PathText.collection(collectionPath))
  }

  /// All documents of all collections with this ID, at any depth.
  public func collectionGroup(_ collectionID: String) -> Query {
    checkAlive()
    return Query(self, StructuredQuery(.collectionGroup(PathText.collectionID(collectionID))))
  }
}
