// A link to a document in any collection.

public import FirebaseFirestore
import Foundation

/// A link that is stored as a document reference. `object` is nil until it is set or loaded.
///
/// ```swift
/// class Message: Object { let author: Reference<Member> = .init() }
/// ```
public class Reference<T: Document>: DocumentLink<T, DocumentReference>, AnyReference {
  /// Creates an empty reference.
  public override init() {}

  override func form(of object: T) -> DocumentReference { object.reference }

  public var documentReference: DocumentReference? {
    get { field }
    set { field = newValue }
  }

  public var id: String? { value?.documentID }

  public var value: DocumentReference? { field }

  /// Loads the referenced document from any collection, and keeps its object in `object`. Passes `(nil, nil)`
  /// if there is no reference or no document.
  public func get(_ block: @escaping (T?, (any Error)?) -> Void) {
    guard let value else { return block(nil, nil) }
    value.getDocument { [self] snapshot, error in
      let object = snapshot.flatMap { T(snapshot: $0) }
      keep(object, value)
      block(object, error)
    }
  }
}

extension Reference: StoredContainer {
  var storedForm: Any? { value }

  func decode(_ stored: Any) {
    if stored is NSNull { documentReference = nil }
    if let reference = DocumentReference.local(from: stored, current: field) { documentReference = reference }
  }
}
