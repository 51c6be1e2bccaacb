// What a model or an object is called, and where it therefore lives.

public import FirebaseFirestore
import Foundation

/// Something with a collection of its own.
public protocol Referencable {
  static var name: String { get }
  static var path: String { get }
  static var collectionReference: CollectionReference { get }
  static var parent: DocumentReference? { get }
}

extension Referencable {
  public static var path: String { collectionReference.path }
  public static var collectionReference: CollectionReference { Firestore.firestore().collection(name) }
  public static var parent: DocumentReference? { collectionReference.parent }
}

/// The fields of a document as a Swift value: declare a struct `Codable, Modelable`, every property with
/// a default.
public protocol Modelable: Referencable, Equatable, CustomDebugStringConvertible {
  init()
}

extension Modelable {
  /// The type's own name in lower case.
  public static var name: String { defaultName(of: Self.self) }
  public static var path: String { collectionReference.path }
  public static var collectionReference: CollectionReference { Firestore.firestore().collection(name) }

  public var debugDescription: String {
    let lines = Mirror(reflecting: self).children.map { "  \($0.label ?? "_"): \($0.value)" }
    return (["\(Self.name) {"] + lines + ["}"]).joined(separator: "\n")
  }
}

/// The unqualified name of a type in lower case; types inside functions included.
func defaultName(of type: Any.Type) -> String {
  String(describing: Mirror(reflecting: type).subjectType).components(separatedBy: ".")[0].lowercased()
}

/// An instance that stands for one document.
public protocol Documentable: AnyObject, Referencable {
  var id: String { get }
  var path: String { get }
  var documentReference: DocumentReference! { get }
  /// Whether saving adds `createdAt` and `updatedAt`.
  var shouldIncludedInTimestamp: Bool { get }
  var createdAt: Timestamp { get }
  var updatedAt: Timestamp { get }
  init(_ documentReference: DocumentReference)
}

extension Documentable {
  public var id: String { documentReference.documentID }
  public var path: String { documentReference.path }
  public var shouldIncludedInTimestamp: Bool { true }
}
