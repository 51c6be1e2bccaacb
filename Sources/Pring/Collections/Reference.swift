// A document that a property refers to.

public import FirebaseFirestore
import FirebaseStorage
import Foundation

/// Stored as a document reference. The object behind it is there once it was set or loaded.
///
/// ```swift
/// class Message: Object { let author: Reference<Member> = .init() }
/// ```
public class Reference<T: Document>: AnyReference, HasDocument, Batchable {
  public typealias ContentType = T

  public weak var parent: Object?
  public var key: String?
  public var batchID: String?
  private(set) var isForgotten = false
  private var known: ContentType?
  private var place: DocumentReference?

  /// A reference to nothing yet.
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

  public var documentReference: DocumentReference? {
    get { known?.reference ?? place }
    set {
      if known?.reference != newValue { known = nil }
      place = newValue
      isForgotten = false
    }
  }

  public var id: String? { value?.documentID }

  public var value: DocumentReference? { known?.reference ?? place }

  /// Refers to this object from now on; the parent's next write says so, and writes the object as well.
  public func set(_ object: ContentType) { self.object = object }

  /// Refers to nothing; the parent's next update deletes the field.
  public func delete() {
    known = nil
    place = nil
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

  /// Loads what is referred to, wherever it is, and keeps it in `object`; `(nil, nil)` if that is nothing.
  public func get(_ block: @escaping (ContentType?, (any Error)?) -> Void) {
    guard let value else { return block(nil, nil) }
    value.getDocument { [self] snapshot, error in
      let object = snapshot.flatMap { T(snapshot: $0) }
      if let object, self.value == value { known = object }
      block(object, error)
    }
  }
}

extension Reference: StoredContainer, Forgetting, WrittenObjects {
  var storedForm: Any? { value }

  func decode(_ stored: Any) {
    if stored is NSNull { documentReference = nil }
    if let reference = DocumentReference.local(from: stored, current: place) { documentReference = reference }
  }

  var writtenObjects: [Object] { (known as? Object).map { [$0] } ?? [] }
}
