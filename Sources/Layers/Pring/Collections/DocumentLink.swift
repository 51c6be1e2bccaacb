// One document that a property leads to, however it is stored.

public import FirebaseFirestore
public import FirebaseStorage

/// What `Reference` and `Relation` have in common: the object, once it was set or loaded, or else what is stored of it.
public class DocumentLink<T: Document, Stored: Equatable>: HasDocument, HasParent, StorageLinkable,
  Batchable
{
  public typealias ContentType = T

  public weak var parent: Object?
  public var key: String?
  public var batchID: String?
  private(set) var isForgotten = false
  private var known: ContentType?
  private var stored: Stored?

  init() {}

  public func setParent(_ object: Object, forKey key: String) {
    parent = object
    self.key = key
  }

  public var object: ContentType? {
    get { known }
    set {
      known = newValue
      if newValue != nil { isForgotten = false }
    }
  }

  /// Leads to this object from now on; the parent's next write says so, and writes the object as well.
  public func set(_ object: ContentType) { self.object = object }

  /// Leads to nothing; the parent's next update deletes the field.
  public func delete() {
    known = nil
    stored = nil
    isForgotten = true
  }

  // MARK: For each kind

  /// What is stored of an object.
  func form(of object: ContentType) -> Stored { preconditionFailure("each kind has its own") }

  /// What the field has. An object that something else stands for is forgotten.
  var field: Stored? {
    get { known.map(form) ?? stored }
    set {
      if !UntypedForm.areSame(known.map(form), newValue) { known = nil }
      stored = newValue
      isForgotten = false
    }
  }

  /// Keeps what was loaded, if the field still has what it was loaded for.
  func keep(_ object: ContentType?, _ asked: Stored) {
    if let object, UntypedForm.areSame(field, asked) { known = object }
  }

  // MARK: Writing

  @discardableResult
  public func pack(_ type: BatchType, batch: WriteBatch) -> WriteBatch {
    guard type != .delete, let known else { return batch }
    return known.pack(known.isSaved ? .update : .save, batch: batch)
  }

  public func batch(_ type: BatchType, completion id: String) {
    guard batchID != id else { return }
    batchID = id
    if type != .delete { known?.batch(type, completion: id) }
  }
}

extension DocumentLink: Forgetting, WrittenObjects {
  var pringWrittenObjects: [Object] { (known as? Object).map { [$0] } ?? [] }
}

// MARK: Files

extension StorageLinkable where Self: HasDocument {
  public func shouldUploadFiles(_ id: String) -> Bool { object?.shouldUploadFiles(id) ?? false }

  @discardableResult
  public func saveFiles(
    _ id: String, container: UploadContainer? = nil, block: (((any Error)?) -> Void)?
  ) -> [String: StorageUploadTask] {
    guard let object else {
      block?(nil)
      return [:]
    }
    return object.saveFiles(id, container: container, block: block)
  }

  public func deleteFiles(
    _ id: String, container: DeleteContainer? = nil, block: (((any Error)?) -> Void)? = nil
  ) {
    guard let object else {
      block?(nil)
      return
    }
    object.deleteFiles(id, container: container, block: block)
  }
}
