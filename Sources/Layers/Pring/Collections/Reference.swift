// A document that a property refers to.

public import FirebaseFirestore
import Foundation

/// Stored as a document reference. The object behind it is there once it was set or loaded.
///
/// ```swift
/// class Message: Object { let author: Reference<Member> = .init() }
/// ```
public class Reference<T: Document>: DocumentLink<T, DocumentReference>, AnyReference {
  /// A reference to nothing yet.
  public override init() {}

  override func form(of object: T) -> DocumentReference { object.reference }

  public var documentReference: DocumentReference? {
    get { field }
    set { field = newValue }
  }

  public var id: String? { value?.documentID }

  public var value: DocumentReference? { field }

  /// Loads what is referred to, wherever it is, and keeps it in `object`; `(nil, nil)` if that is nothing.
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
