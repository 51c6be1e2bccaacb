// Collections, lists, references and relations of any type.

public import FirebaseFirestore

/// A collection below the document of an object.
public protocol AnySubCollection: AnyObject, StorageLinkable, Batchable {
  var path: String { get }
  var reference: CollectionReference { get }
  var key: String? { get set }
  var parent: Object? { get set }
  /// The loaded members: their fields by their ids.
  var references: [String: Any] { get }
  func setValue(_ value: Any?, forKey key: String)
  func setParent(_ object: Object, forKey key: String)
}

/// Objects inside the document of another.
public protocol AnyList: AnyObject {
  var key: String? { get set }
  var parent: Object? { get set }
  var value: [String: Any] { get }
  var updateValue: [String: Any] { get }
  func setValue(_ value: [String: Any])
  func setParent(_ object: Object, forKey key: String)
}

/// A document that a property refers to.
public protocol AnyReference: HasParent, StorageLinkable {
  var id: String? { get }
  var documentReference: DocumentReference? { get set }
  var value: DocumentReference? { get }
}

/// A document that a property names.
public protocol AnyRelation: HasParent, StorageLinkable {
  var id: String? { get set }
  var value: String? { get }
}

/// Something that can be told to be gone from its document.
protocol Forgetting {
  var isForgotten: Bool { get }
}
