// Type-erased collections, lists, references and relations.

public import FirebaseFirestore

/// A collection below the document of an object.
public protocol AnySubCollection: AnyObject, StorageLinkable, Batchable {
  /// The path from the root of the database.
  var path: String { get }
  /// The reference of the collection.
  var reference: CollectionReference { get }
  /// The name of the property.
  var key: String? { get set }
  /// The object that has the property.
  var parent: Object? { get set }
  /// The fields of the loaded members, by member id.
  var references: [String: Any] { get }
  /// Assigns the value to the property `key` of each loaded member.
  func setValue(_ value: Any?, forKey key: String)
  /// Attaches the collection to a property of an object.
  func setParent(_ object: Object, forKey key: String)
}

/// A list of objects inside the document of another object.
public protocol AnyList: AnyObject {
  /// The name of the property.
  var key: String? { get set }
  /// The object that has the property.
  var parent: Object? { get set }
  /// The stored form.
  var value: [String: Any] { get }
  /// The changes that an update stores.
  var updateValue: [String: Any] { get }
  /// Replaces the members with the members in the stored form.
  func setValue(_ value: [String: Any])
  /// Attaches the list to a property of an object.
  func setParent(_ object: Object, forKey key: String)
}

/// A document that a property refers to.
public protocol AnyReference: HasParent, StorageLinkable {
  /// The id of the object; nil if there is none.
  var id: String? { get }
  /// The reference of the object.
  var documentReference: DocumentReference? { get set }
  /// The stored form.
  var value: DocumentReference? { get }
}

/// A document that a property names by its id.
public protocol AnyRelation: HasParent, StorageLinkable {
  /// The id of the object; nil if there is none.
  var id: String? { get set }
  /// The stored form.
  var value: String? { get }
}

/// A property value that can be marked as deleted from its document.
protocol MarkableAsDeleted {
  var isMarkedDeleted: Bool { get }
}

/// A collection whose path changes with the reference of its parent.
protocol PlacedCollection: AnyObject {
  var pringLastParent: DocumentReference? { get set }
  func pringPackMemberDeletions(_ batch: WriteBatch)
}

/// A property value whose objects have their own documents, which are written together with the owner's
/// document.
protocol WrittenObjects {
  var pringWrittenObjects: [Object] { get }
}
