// A link to a document in the collection of its class.

import FirebaseFirestore
import Foundation

/// A link that is stored as a document id. The document is in the collection of its class.
///
/// ```swift
/// class Message: Object { let author: Relation<Member> = .init() }
/// ```
public class Relation<T: Document>: DocumentLink<T, String>, AnyRelation {
  /// Creates an empty relation.
  public override init() {}

  override func form(of object: T) -> String { object.id }

  public var id: String? {
    get { field }
    set { field = newValue }
  }

  public var value: String? { field }

  /// Loads the document with the id, and keeps its object in `object`. Passes `(nil, nil)` if there is no id
  /// or no document.
  public func get(_ block: @escaping (T?, (any Error)?) -> Void) {
    guard let id else { return block(nil, nil) }
    T.get(id) { [self] object, error in
      keep(object, id)
      block(object, error)
    }
  }
}

extension Relation: StoredContainer {
  var storedForm: Any? { value }

  func decode(_ stored: Any) {
    if stored is NSNull { id = nil }
    if let stored = stored as? String, StoredID.isSound(stored) { id = stored }
  }
}
