// The `Document` protocol, and protocols for batches, files, parents and links.

public import FirebaseFirestore
public import FirebaseStorage
public import Foundation

/// A type whose properties are the fields of a document. Model classes inherit from `Object`.
public protocol Document: NSObjectProtocol, Hashable, StorageLinkable, Batchable, SendableMetatype {
  /// The version component of the collection path. The default is 1.
  static var modelVersion: Int { get }
  /// The name component of the collection path. The default is the lowercase name of the class.
  static var modelName: String { get }
  /// The path of the collection from the root of the database.
  static var path: String { get }
  /// The collection of the class.
  static var reference: CollectionReference { get }
  /// The storage folder for the files of the class.
  static var storageRef: StorageReference { get }
  /// Whether a link to a document of this class also stores a copy of that document's fields.
  static var shouldBeReplicated: Bool { get }

  /// The reference of the document.
  var reference: DocumentReference { get }
  /// The path of the document from the root of the database.
  var path: String { get }
  /// The document id, which is the last component of the path.
  var id: String { get }
  /// Whether the document is stored: the object was saved, or was created from a stored document.
  var isSaved: Bool { get }
  /// The properties, converted to document fields.
  var rawValue: [String: Any] { get }
  /// The properties, converted to document fields, with server timestamps as the times.
  var value: [String: Any] { get }
  /// The time when the document was created.
  var createdAt: Timestamp { get set }
  /// The time of the last update.
  var updatedAt: Timestamp { get set }
  /// The names of properties that are not stored.
  var ignore: [String] { get }
  /// The changes that the next update writes.
  var updateValue: [String: Any] { get }

  /// Creates an object with a random id.
  init()
  /// Creates an object with this id. Does not read the document.
  init(id: String)
  /// Creates the object of a snapshot; nil if the document does not exist.
  init?(snapshot: DocumentSnapshot)
  /// Creates an object with this id and these fields, as if it had been read from the database.
  init(id: String, value: [String: Any])

  /// Makes this object represent another document.
  func setReference(_ reference: DocumentReference)
  /// Saves the object and its files. Calls the block when the document and the files are on stable storage.
  @discardableResult
  func save(_ block: ((DocumentReference?, (any Error)?) -> Void)?) -> [String: StorageUploadTask]
  /// Writes the changes. Calls the block when they are on stable storage.
  @discardableResult
  func update(_ block: (((any Error)?) -> Void)?) -> [String: StorageUploadTask]
  /// Deletes the object. Calls the block when the deletion is on stable storage.
  func delete(_ block: (((any Error)?) -> Void)?)
}

// MARK: Batches

/// The kind of write that adds an object to a batch.
public enum BatchType: Sendable {
  /// Writes the whole object.
  case save
  /// Writes the changes.
  case update
  /// Deletes only the document of the object.
  case delete
}

/// A type that can add its writes to a batch.
public protocol Batchable {
  /// The id of the last batch that wrote the object; nil before the first write.
  var batchID: String? { get set }

  /// Adds the writes of the object and its children to a batch.
  @discardableResult
  func pack(_ type: BatchType, batch: WriteBatch) -> WriteBatch

  /// Marks the object and its children as written. A second call with the same batch id does nothing.
  func batch(_ type: BatchType, completion batchID: String)
}

extension WriteBatch {
  /// Adds the writes of an object and of all documents that are saved with it. Files are not uploaded. A
  /// deletion deletes only the document of the object; see `deleteWithLoadedMembers(_:)`. When the batch is
  /// committed, the state of the objects is updated.
  @discardableResult
  public func add<T: Document>(_ type: BatchType, object: T) -> WriteBatch {
    object.pack(type, batch: self)
  }

  /// Deletes the document of an object, and the documents of the loaded and inserted members of its
  /// collections. In a reference collection, only the links are deleted. The documents that they refer to are
  /// kept.
  ///
  /// Reads nothing, so members that are not loaded are not deleted. Files are not deleted.
  @discardableResult
  public func deleteWithLoadedMembers<T: Document>(_ object: T) -> WriteBatch {
    guard let object = object as? Object else { return add(.delete, object: object) }
    object.pringPackDeletionWithMembers(self)
    return self
  }
}

// MARK: Files

/// A type with files in the storage.
public protocol StorageLinkable {
  /// Whether there are files to upload.
  func shouldUploadFiles(_ id: String) -> Bool

  /// Uploads the files. Calls the block when all files are stored.
  @discardableResult
  func saveFiles(
    _ id: String, container: UploadContainer?, block: (((any Error)?) -> Void)?
  ) -> [String: StorageUploadTask]

  /// Deletes the files. Calls the block when all files are deleted.
  func deleteFiles(_ id: String, container: DeleteContainer?, block: (((any Error)?) -> Void)?)
}

extension StorageLinkable {
  /// The time limit in seconds for all uploads together.
  public var timeout: Int { 30 }
}

// MARK: Parents and links

/// A property value that has a reference to the object that contains it.
public protocol HasParent {
  /// The object that has the property.
  var parent: Object? { get }
  /// The name of the property.
  var key: String? { get }
  /// Sets the object and the property that contain this value.
  func setParent(_ object: Object, forKey key: String)
}

/// A link to another object.
public protocol HasDocument {
  /// The type of the other object.
  associatedtype ContentType: Document
  /// The other object; nil until it is read.
  var object: ContentType? { get set }
}

// MARK: Errors

/// An error of an object that is neither a database error nor a storage error.
public struct DocumentError: Error, CustomStringConvertible, Sendable {
  enum Kind {
    case invalidId
    case invalidFile
    case timeout
    case offlineTransaction
    case lostCompletion
    case alreadySaved
    case invalidKeyPath
  }

  let kind: Kind
  public let description: String
}
