// Instances that stand for a document.

public import FirebaseFirestore
public import FirebaseStorage

/// An instance that stands for one document.
public protocol Documentable: AnyObject, Referencable {
  var id: String { get }
  var path: String { get }
  var documentReference: DocumentReference! { get }
  /// Where files of this document lie.
  var storageReference: StorageReference { get }
  /// Whether saving adds `createdAt` and `updatedAt`, and updating the latter.
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

extension Array where Element: Documentable {
  /// The ids, in order.
  public var keys: [String] { map(\.id) }

  public func firstIndex(of key: String) -> Int? { firstIndex { $0.id == key } }

  /// By the id: the data does not count.
  public func firstIndex(of document: Element) -> Int? { firstIndex(of: document.id) }
}
