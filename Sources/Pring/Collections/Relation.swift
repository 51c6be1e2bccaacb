// A document that a property names.

public import FirebaseFirestore
import FirebaseStorage
import Foundation

/// Stored as the id of a document in the collection of its class.
///
/// ```swift
/// class Message: Object { let author: Relation<Member> = .init() }
/// ```
public class Relation<T: Document>: AnyRelation, HasDocument, Batchable {
  public typealias ContentType = T

  public weak var parent: Object?
  public var key: String?
  public var batchID: String?
  private(set) var isForgotten = false
  private var known: ContentType?
  private var name: String?

  /// A relation to nothing yet.
  public init() {}

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

  public var id: String? {
    get { known?.id ?? name }
    set {
      if known?.id != newValue { known = nil }
      name = newValue
      isForgotten = false
    }
  }

  public var value: String? { id }

  /// Names this object from now on; the parent's next write says so, and writes the object as well.
  public func set(_ object: ContentType) { self.object = object }

  /// Names nothing; the parent's next update deletes the field.
  public func delete() {
    known = nil
    name = nil
    isForgotten = true
  }

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

  /// Loads what is named, and keeps it in `object`; `(nil, nil)` if that is nothing.
  public func get(_ block: @escaping (ContentType?, (any Error)?) -> Void) {
    guard let id else { return block(nil, nil) }
    T.get(id) { [self] object, error in
      if let object, self.id == id { known = object }
      block(object, error)
    }
  }
}

extension Relation: StoredContainer, Forgetting, WrittenObjects {
  var storedForm: Any? { id }

  func decode(_ stored: Any) {
    if stored is NSNull { id = nil }
    if let stored = stored as? String, StoredID.isSound(stored) { id = stored }
  }

  var writtenObjects: [Object] { (known as? Object).map { [$0] } ?? [] }
}
