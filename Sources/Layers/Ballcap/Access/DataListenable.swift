// Objects that keep themselves as their document is.

public import FirebaseFirestore

/// An object with a place for its listener.
public protocol DataListenable: AnyObject {
  /// The listener that keeps the object up to date; nil while there is none.
  var listener: (any ListenerRegistration)? { get set }
}

extension DataListenable where Self: DataRepresentable, Self: Object {
  /// Keeps this object as its document is, until it is freed or its `listener` is removed. It listens once:
  /// with a `listener` already there, nothing changes.
  ///
  /// `completion` gets this object after each change, `(nil, nil)` while the document does not exist, and
  /// `(nil, error)` if it does not decode, or cannot be listened to any more.
  @discardableResult
  public func listen(
    includeMetadataChanges: Bool = true, completion: ((Self?, (any Error)?) -> Void)? = nil
  ) -> Self {
    guard listener == nil else { return self }
    listener = documentReference.addSnapshotListener(includeMetadataChanges: includeMetadataChanges) {
      [weak self] snapshot, error in
      guard let (object, failure) = self?.taken(from: snapshot, error) else { return }
      completion?(object, failure)
    }
    return self
  }
}
