// What a model or an object is called, and where it therefore lives.

public import FirebaseFirestore

/// Something with a collection of its own. Everything follows from `name`, each time anew.
public protocol Referencable {
  static var name: String { get }
  static var path: String { get }
  static var collectionReference: CollectionReference { get }
  static var parent: DocumentReference? { get }
}

extension Referencable {
  public static var path: String { collectionReference.path }
  public static var collectionReference: CollectionReference { BallcapApp.collection(name) }
  public static var parent: DocumentReference? { collectionReference.parent }
}
