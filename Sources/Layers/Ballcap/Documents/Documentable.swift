// Objects that represent a document.

public import FirebaseFirestore
public import FirebaseStorage

/// An object that represents one document.
public protocol Documentable: AnyObject, Referencable {
  /// The last component of the path.
  var id: String { get }
  /// The path from the root of the database.
  var path: String { get }
  /// The reference of the document.
  var documentReference: DocumentReference! { get }
  /// The storage folder for files of this document.
  var storageReference: StorageReference { get }
  /// Whether saving stores `createdAt` and `updatedAt`, and updating stores `updatedAt`.
  var shouldIncludedInTimestamp: Bool { get }
  /// The creation time. Before the document is created, the time when the object was constructed.
  var createdAt: Timestamp { get }
  /// The time of the last update. Before the document is created, the time when the object was constructed.
  var updatedAt: Timestamp { get }
  /// Creates an object for the document at a reference, without data.
  init(_ documentReference: DocumentReference)
}

extension Documentable {
  public var id: String { documentReference.documentID }
  public var path: String { documentReference.path }
  public var shouldIncludedInTimestamp: Bool { true }
}

extension Array where Element: Documentable {
  /// The ids of the elements, in order.
  public var keys: [String] { map(\.id) }

  /// Returns the index of the element with this id; nil if there is none.
  public func firstIndex(of key: String) -> Int? { firstIndex { $0.id == key } }

  /// Returns the index of the element with the same id. The data is not compared.
  public func firstIndex(of document: Element) -> Int? { firstIndex(of: document.id) }
}
