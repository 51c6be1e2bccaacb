// Collections, lists, references and relations of any type, as their object sees them.

public import FirebaseFirestore

/// A collection below the document of an object.
public protocol AnySubCollection: AnyObject, StorageLinkable, Batchable {
  /// From the root of the database.
  var path: String { get }
  /// Where it is.
  var reference: CollectionReference { get }
  /// The name of the property.
  var key: String? { get set }
  /// The object that has it.
  var parent: Object? { get set }
  /// The loaded members: their fields by their ids.
  var references: [String: Any] { get }
  /// Takes what is stored under the name.
  func setValue(_ value: Any?, forKey key: String)
  /// Takes its place in an object.
  func setParent(_ object: Object, forKey key: String)
}

/// Objects inside the document of another.
public protocol AnyList: AnyObject {
  /// The name of the property.
  var key: String? { get set }
  /// The object that has it.
  var parent: Object? { get set }
  /// What is stored.
  var value: [String: Any] { get }
  /// What an update stores.
  var updateValue: [String: Any] { get }
  /// Takes what is stored.
  func setValue(_ value: [String: Any])
  /// Takes its place in an object.
  func setParent(_ object: Object, forKey key: String)
}

/// A document that a property refers to.
public protocol AnyReference: HasParent, StorageLinkable {
  /// The id of the object; nil if there is none.
  var id: String? { get }
  /// Where the object is.
  var documentReference: DocumentReference? { get set }
  /// What is stored.
  var value: DocumentReference? { get }
}

/// A document that a property names.
public protocol AnyRelation: HasParent, StorageLinkable {
  /// The id of the object; nil if there is none.
  var id: String? { get set }
  /// What is stored.
  var value: String? { get }
}

/// Something that can be told to be gone from its document.
protocol Forgetting {
  var isForgotten: Bool { get }
}

/// A collection that follows its parent to another place.
protocol PlacedCollection: AnyObject {
  var pringLastPlace: DocumentReference? { get set }
  func pringPackMemberDeletions(_ batch: WriteBatch)
}

/// Objects with documents of their own that are written with their owner.
protocol WrittenObjects {
  var pringWrittenObjects: [Object] { get }
}
