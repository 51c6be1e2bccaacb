// Listening to the documents of objects, until a disposer ends it.

public import FirebaseFirestore

extension DataRepresentable where Self: Object {
  /// Calls `completion` on the callback queue with a new object as the document is, and then each time it
  /// changes; with `(nil, nil)` while it does not exist. Ends when the disposer is freed.
  public static func listen(
    documentReference: DocumentReference, includeMetadataChanges: Bool = true,
    completion: @escaping ((Self?, (any Error)?) -> Void)
  ) -> Disposer {
    Disposer(
      .value(
        documentReference.addSnapshotListener(includeMetadataChanges: includeMetadataChanges) {
          snapshot, error in
          let (object, failure) = made(from: snapshot, error)
          completion(object, failure)
        }))
  }

  /// Tells the document at once and after every change, until what it returns is disposed of or given up.
  public static func listen(
    id: String, includeMetadataChanges: Bool = true, completion: @escaping ((Self?, (any Error)?) -> Void)
  ) -> Disposer {
    listen(
      documentReference: home.document(id), includeMetadataChanges: includeMetadataChanges,
      completion: completion)
  }

  /// Keeps this object as the document is: sets its data, then calls `completion` with it. With `(nil, nil)`
  /// while the document does not exist; the data stays. The object lives as long as the disposer.
  public func listen(
    includeMetadataChanges: Bool = true, completion: @escaping ((Self?, (any Error)?) -> Void)
  ) -> Disposer {
    Disposer(
      .value(
        documentReference.addSnapshotListener(includeMetadataChanges: includeMetadataChanges) {
          [self] snapshot, error in
          let (object, failure) = taken(from: snapshot, error)
          completion(object, failure)
        }))
  }

  func taken(from snapshot: DocumentSnapshot?, _ error: (any Error)?) -> (Self?, (any Error)?) {
    guard let snapshot, Self.finds(snapshot) else { return (nil, error) }
    do {
      try _set(snapshot: snapshot)
      return (self, nil)
    } catch {
      return (nil, error)
    }
  }
}
