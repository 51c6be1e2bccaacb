// The collection that contains a document, and the collections inside the document.

extension DocumentReference {
  /// The collection that contains the document.
  public var parent: CollectionReference { CollectionReference(firestore, Array(segments.dropLast())) }

  /// Returns the collection at a path relative to this document.
  public func collection(_ collectionPath: String) -> CollectionReference {
    CollectionReference(firestore, PathText.collection(collectionPath, below: segments))
  }
}
