// The name and the collection of a model or an object.

public import FirebaseFirestore

/// A type with its own collection. All other properties are computed from `name` on each access.
public protocol Referencable {
  /// The name of the collection.
  static var name: String { get }
  /// The path of the collection, from the root of the database.
  static var path: String { get }
  /// The collection of documents of this type.
  static var collectionReference: CollectionReference { get }
  /// The document that has the collection; nil at the root.
  static var parent: DocumentReference? { get }
}

extension Referencable {
  public static var path: String { collectionReference.path }
  public static var collectionReference: CollectionReference { BallcapApp.collection(name) }
  public static var parent: DocumentReference? { collectionReference.parent }
}
