// A link from a property to one document, independent of its stored form.

public import FirebaseFirestore
public import FirebaseStorage

/// The base class of `Reference` and `Relation`. It contains the object if the object was set or loaded.
/// Otherwise it contains the stored form of the link.
public class DocumentLink<T: Document, Stored: Equatable>: HasDocument, HasParent, StorageLinkable,
  Batchable
{
  public typealias ContentType = T

  public weak var parent: Object?
  public var key: String?
  public var batchID: String?
  private(set) var isMarkedDeleted = false
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
      if newValue != nil { isMarkedDeleted = false }
    }
  }

  /// Points the link at the object. The next write of the parent stores the link and writes the object.
  public func set(_ object: ContentType) { self.object = object }

  /// Removes the link. The next update of the parent deletes the field.
  public func delete() {
    known = nil
    stored = nil
    isMarkedDeleted = true
  }

  // MARK: Overridden by subclasses

  /// Returns the stored form of an object.
  func form(of object: ContentType) -> Stored { preconditionFailure("each kind has its own") }

  /// The stored form. Setting a value that differs from the stored form of the loaded object drops the
  /// object.
  var field: Stored? {
    get { known.map(form) ?? stored }
    set {
      if !UntypedForm.areSame(known.map(form), newValue) { known = nil }
      stored = newValue
      isMarkedDeleted = false
    }
  }

  /// Keeps a loaded object, unless the field has changed since the load started.
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

extension DocumentLink: MarkableAsDeleted, WrittenObjects {
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
