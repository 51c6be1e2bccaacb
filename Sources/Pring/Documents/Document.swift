// What stands for a document, and what takes part in saving it.

public import FirebaseFirestore
public import FirebaseStorage
public import Foundation

/// Something with a place in the database and properties that are its fields. `Object` is the class to inherit from.
public protocol Document: NSObjectProtocol, Hashable, StorageLinkable, Batchable, SendableMetatype {
  static var modelVersion: Int { get }
  static var modelName: String { get }
  static var path: String { get }
  static var reference: CollectionReference { get }
  static var storageRef: StorageReference { get }
  /// Whether links to documents of this class carry their fields.
  static var shouldBeReplicated: Bool { get }

  var reference: DocumentReference { get }
  var path: String { get }
  var id: String { get }
  var isSaved: Bool { get }
  /// The properties as fields.
  var rawValue: [String: Any] { get }
  /// The same with the times of the commit.
  var value: [String: Any] { get }
  var createdAt: Timestamp { get set }
  var updatedAt: Timestamp { get set }
  /// Names of properties that are no fields.
  var ignore: [String] { get }
  /// What the next update is going to write.
  var updateValue: [String: Any] { get }

  init()
  init(id: String)
  init?(snapshot: DocumentSnapshot)
  init(id: String, value: [String: Any])

  /// Points this instance at another document.
  func setReference(_ reference: DocumentReference)
  @discardableResult
  func save(_ block: ((DocumentReference?, (any Error)?) -> Void)?) -> [String: StorageUploadTask]
  @discardableResult
  func update(_ block: (((any Error)?) -> Void)?) -> [String: StorageUploadTask]
  func delete(_ block: (((any Error)?) -> Void)?)
}

// MARK: Batches

public enum BatchType: Sendable {
  case save
  case update
  case delete
}

/// Something that writes when it is packed into a batch.
public protocol Batchable {
  var batchID: String? { get set }

  @discardableResult
  func pack(_ type: BatchType, batch: WriteBatch) -> WriteBatch

  /// Marks everything that was packed as written; each thing once for an id.
  func batch(_ type: BatchType, completion batchID: String)
}

extension WriteBatch {
  /// Packs an object with everything that is saved with it, apart from files. The objects know how they fared once
  /// the batch is committed.
  @discardableResult
  public func add<T: Document>(_ type: BatchType, object: T) -> WriteBatch {
    object.pack(type, batch: self)
  }
}

// MARK: Files

/// Something with files in the storage.
public protocol StorageLinkable {
  func shouldUploadFiles(_ id: String) -> Bool

  @discardableResult
  func saveFiles(
    _ id: String, container: UploadContainer?, block: (((any Error)?) -> Void)?
  ) -> [String: StorageUploadTask]

  func deleteFiles(_ id: String, container: DeleteContainer?, block: (((any Error)?) -> Void)?)
}

extension StorageLinkable {
  /// How long uploads may take together, in seconds.
  public var timeout: Int { 30 }
}

// MARK: Belonging

/// Something that is a property of an object.
public protocol HasParent {
  var parent: Object? { get }
  var key: String? { get }
  func setParent(_ object: Object, forKey key: String)
}

/// Something that leads to an object.
public protocol HasDocument {
  associatedtype ContentType: Document
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
  }

  let kind: Kind
  public let description: String
}
