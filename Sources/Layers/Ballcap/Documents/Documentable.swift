// Instances that stand for a document.

public import FirebaseFirestore
public import FirebaseStorage

/// An instance that stands for one document.
public protocol Documentable: AnyObject, Referencable {
  /// The last part of the path.
  var id: String { get }
  /// From the root of the database.
  var path: String { get }
  /// Where the document is.
  var documentReference: DocumentReference! { get }
  /// Where files of this document lie.
  var storageReference: StorageReference { get }
  /// Whether saving adds `createdAt` and `updatedAt`, and updating the latter.
  var shouldIncludedInTimestamp: Bool { get }
  /// When it was created; the present time before that.
  var createdAt: Timestamp { get }
  /// When it was updated last; the present time before that.
  var updatedAt: Timestamp { get }
  /// A document at a reference, without data.
  init(_ documentReference: DocumentReference)
}

extension Documentable {
  public var id: String { documentReference.documentID }
  public var path: String { documentReference.path }
  public var shouldIncludedInTimestamp: Bool { true }
}

extension Array where Element: Documentable {
  /// The ids, in order.
  public var keys: [String] { map(\.id) }

  /// Where the document with this id is; nil if it is not here.
  public func firstIndex(of key: String) -> Int? { firstIndex { $0.id == key } }

  /// By the id: the data does not count.
  public func firstIndex(of document: Element) -> Int? { firstIndex(of: document.id) }
}
