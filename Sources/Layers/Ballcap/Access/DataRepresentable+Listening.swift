// Listeners on the documents of objects. Each listener ends when its disposer is freed.

public import FirebaseFirestore

extension DataRepresentable where Self: Object {
  /// Calls `completion` on the callback queue with a new object for the present document, and again after
  /// each change. `completion` gets `(nil, nil)` while the document does not exist. The listener ends when
  /// the disposer is freed.
  public static func listen(
    documentReference: DocumentReference, includeMetadataChanges: Bool = true,
    completion: @escaping ((Self?, (any Error)?) -> Void)
  ) -> Disposer {
    Disposer(
      .value(
        documentReference.addSnapshotListener(includeMetadataChanges: includeMetadataChanges) {
          snapshot, error in
          let (object, failure) = decodedObject(from: snapshot, error)
          completion(object, failure)
        }))
  }

  /// Listens to the document with this id in the collection of the type, until the disposer is freed.
  public static func listen(
    id: String, includeMetadataChanges: Bool = true, completion: @escaping ((Self?, (any Error)?) -> Void)
  ) -> Disposer {
    listen(
      documentReference: home.document(id), includeMetadataChanges: includeMetadataChanges,
      completion: completion)
  }

  /// Sets the data of this object after each change of its document, and then calls `completion` with the
  /// object. While the document does not exist, `completion` gets `(nil, nil)` and the object keeps its data.
  /// The disposer keeps the object alive.
  public func listen(
    includeMetadataChanges: Bool = true, completion: @escaping ((Self?, (any Error)?) -> Void)
  ) -> Disposer {
    Disposer(
      .value(
        documentReference.addSnapshotListener(includeMetadataChanges: includeMetadataChanges) {
          [self] snapshot, error in
          let (object, failure) = updatedObject(from: snapshot, error)
          completion(object, failure)
        }))
  }

  func updatedObject(from snapshot: DocumentSnapshot?, _ error: (any Error)?) -> (Self?, (any Error)?) {
    guard let snapshot, Self.hasDocument(snapshot) else { return (nil, error) }
    do {
      try _set(snapshot: snapshot)
      return (self, nil)
    } catch {
      return (nil, error)
    }
  }
}
