// The collections around a document.

extension DocumentReference {
  /// The collection that contains the document.
  public var parent: CollectionReference { CollectionReference(firestore, Array(segments.dropLast())) }

  /// Returns the collection at a path relative to this document.
  public func collection(_ collectionPath: String) -> CollectionReference {
    CollectionReference(firestore, PathText.collection(collectionPath, below: segments))
  }
}
