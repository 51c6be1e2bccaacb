// What a model or an object is called, and where it therefore lives.

public import FirebaseFirestore

/// Something with a collection of its own. Everything follows from `name`, each time anew.
public protocol Referencable {
  /// The name of the collection.
  static var name: String { get }
  /// The path of the collection, from the root of the database.
  static var path: String { get }
  /// Where documents of this type are.
  static var collectionReference: CollectionReference { get }
  /// The document that the collection is below; nil at the root.
  static var parent: DocumentReference? { get }
}

extension Referencable {
  public static var path: String { collectionReference.path }
  public static var collectionReference: CollectionReference { BallcapApp.collection(name) }
  public static var parent: DocumentReference? { collectionReference.parent }
}
