// What a model or an object is called, and where it therefore lives.

public import FirebaseFirestore
import Foundation

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

/// The unqualified name of a type in lower case; types inside functions included.
func defaultName(of type: Any.Type) -> String {
  String(describing: Mirror(reflecting: type).subjectType).components(separatedBy: ".")[0].lowercased()
}
