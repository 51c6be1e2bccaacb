// Creates references to documents.

private import Foundation

extension Firestore {
  /// The document at a path such as `rooms/eros`.
  public func document(_ documentPath: String) -> DocumentReference {
    checkAlive()
    return DocumentReference(self, PathText.document(documentPath))
  }
}
