// Objects at documents of a collection.

public import FirebaseFirestore

extension CollectionReference {
  /// An object at a new document with a random id. It has no data yet.
  public func child<T: Object>(type: T.Type) -> T { T(document()) }

  /// An object at the document with this id. It has no data yet.
  public func child<T: Object>(id: String, type: T.Type) -> T { T(document(id)) }
}
