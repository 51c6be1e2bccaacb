// What stands for a document, and what takes part in saving it.

public import FirebaseFirestore
public import FirebaseStorage
public import Foundation

/// Something with a place in the database and properties that are its fields. `Object` is the class to inherit from.
public protocol Document: NSObjectProtocol, Hashable, StorageLinkable, Batchable, SendableMetatype {
  /// The version in the path; 1 unless the class says otherwise.
  static var modelVersion: Int { get }
  /// The name in the path; the class's own in lower case unless it says otherwise.
  static var modelName: String { get }
  /// The collection's path, from the root of the database.
  static var path: String { get }
  /// Where objects of the class are.
  static var reference: CollectionReference { get }
  /// Where files of the class are.
  static var storageRef: StorageReference { get }
  /// Whether links to documents of this class carry their fields.
  static var shouldBeReplicated: Bool { get }

  /// Where the object is.
  var reference: DocumentReference { get }
  /// From the root of the database.
  var path: String { get }
  /// The last part of the path.
  var id: String { get }
  /// Whether the object was saved or read.
  var isSaved: Bool { get }
  /// The properties as fields.
  var rawValue: [String: Any] { get }
  /// The same with the times of the commit.
  var value: [String: Any] { get }
  /// When it was created.
  var createdAt: Timestamp { get set }
  /// When it was updated last.
  var updatedAt: Timestamp { get set }
  /// Names of properties that are no fields.
  var ignore: [String] { get }
  /// What the next update is going to write.
  var updateValue: [String: Any] { get }

  /// An object with a random id.
  init()
  /// An object with this id, not read yet.
  init(id: String)
  /// The object of a snapshot; nil if there is no document.
  init?(snapshot: DocumentSnapshot)
  /// An object with this id and these fields, as if it had been read.
  init(id: String, value: [String: Any])

  /// Points this instance at another document.
  func setReference(_ reference: DocumentReference)
  /// Saves the object with its files; the block is told when both are on stable storage.
  @discardableResult
  func save(_ block: ((DocumentReference?, (any Error)?) -> Void)?) -> [String: StorageUploadTask]
  /// Writes what has changed; the block is told when it is on stable storage.
  @discardableResult
  func update(_ block: (((any Error)?) -> Void)?) -> [String: StorageUploadTask]
  /// Deletes the object; the block is told when that is on stable storage.
  func delete(_ block: (((any Error)?) -> Void)?)
}

// MARK: Batches

/// What a batch does with objects.
public enum BatchType: Sendable {
  /// Writes all of it.
  case save
  /// Writes what has changed.
  case update
  /// Deletes its document alone.
  case delete
}

/// Something that writes when it is packed into a batch.
public protocol Batchable {
  /// The batch that it is in; nil if in none.
  var batchID: String? { get set }

  /// Puts what belongs to it into a batch.
  @discardableResult
  func pack(_ type: BatchType, batch: WriteBatch) -> WriteBatch

  /// Marks everything that was packed as written; each thing once for an id.
  func batch(_ type: BatchType, completion batchID: String)
}

extension WriteBatch {
  /// Packs an object with everything that is saved with it, apart from files. A deletion is of the object's document
  /// alone; see `deleteWithLoadedMembers(_:)`. The objects know how they fared once the batch is committed.
  @discardableResult
  public func add<T: Document>(_ type: BatchType, object: T) -> WriteBatch {
    object.pack(type, batch: self)
  }

  /// Deletes the document of an object, and with it what its collections have in memory: the documents of loaded and
  /// inserted members and, in reference collections, the links to them. Members that are reached by a link stay.
  ///
  /// Nothing is read: members that are not in memory stay, and so do files.
  @discardableResult
  public func deleteWithLoadedMembers<T: Document>(_ object: T) -> WriteBatch {
    guard let object = object as? Object else { return add(.delete, object: object) }
    object.pringPackDeletionWithMembers(self)
    return self
  }
}

// MARK: Files

/// Something with files in the storage.
public protocol StorageLinkable {
  /// Whether there are files to upload.
  func shouldUploadFiles(_ id: String) -> Bool

  /// Uploads the files; the block is told when all are stored.
  @discardableResult
  func saveFiles(
    _ id: String, container: UploadContainer?, block: (((any Error)?) -> Void)?
  ) -> [String: StorageUploadTask]

  /// Deletes the files; the block is told when all are gone.
  func deleteFiles(_ id: String, container: DeleteContainer?, block: (((any Error)?) -> Void)?)
}

extension StorageLinkable {
  /// How long uploads may take together, in seconds.
  public var timeout: Int { 30 }
}

// MARK: Belonging

/// Something that is a property of an object.
public protocol HasParent {
  /// The object that has it.
  var parent: Object? { get }
  /// The name of the property.
  var key: String? { get }
  /// Takes its place in an object.
  func setParent(_ object: Object, forKey key: String)
}

/// Something that leads to an object.
public protocol HasDocument {
  /// The type of the other object.
  associatedtype ContentType: Document
  /// The other object; nil before it is read.
  var object: ContentType? { get set }
}

// MARK: Errors

/// What goes wrong with objects besides the errors of the database and the storage.
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
