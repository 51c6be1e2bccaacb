// Objects that follow the changes of their document.

public import FirebaseFirestore

/// An object that stores its own listener.
public protocol DataListenable: AnyObject {
  /// The listener that keeps the object up to date; nil while there is none.
  var listener: (any ListenerRegistration)? { get set }
}

extension DataListenable where Self: DataRepresentable, Self: Object {
  /// Updates this object after each change of its document, until the object is freed or its `listener` is
  /// removed. Does nothing if the object already has a `listener`.
  ///
  /// `completion` gets this object after each change. It gets `(nil, nil)` while the document does not exist,
  /// and `(nil, error)` if the document does not decode or the listener fails.
  @discardableResult
  public func listen(
    includeMetadataChanges: Bool = true, completion: ((Self?, (any Error)?) -> Void)? = nil
  ) -> Self {
    guard listener == nil else { return self }
    listener = documentReference.addSnapshotListener(includeMetadataChanges: includeMetadataChanges) {
      [weak self] snapshot, error in
      guard let (object, failure) = self?.updatedObject(from: snapshot, error) else { return }
      completion?(object, failure)
    }
    return self
  }
}
