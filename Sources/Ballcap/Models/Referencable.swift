// What a model or an object is called, and where it therefore lives.

private import FirebaseCore
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

/// The unqualified name of a type in lower case; types inside functions included. To find it out takes a while, and
/// references are made all the time, so that it is remembered.
func defaultName(of type: Any.Type) -> String {
  let key = ObjectIdentifier(type)
  if let known = knownNames.withLock({ $0[key] }) { return known }
  let name = String(describing: Mirror(reflecting: type).subjectType).components(separatedBy: ".")[0]
    .lowercased()
  knownNames.withLock { $0[key] = name }
  return name
}

private let knownNames = Guarded<[ObjectIdentifier: String]>([:])
