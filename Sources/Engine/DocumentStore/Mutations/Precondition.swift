// Preconditions of a write on the stored document.

/// A condition that the stored document must satisfy before a write is applied.
public enum Precondition: Hashable, Sendable {
  /// No condition.
  case none
  /// The document exists, or does not exist.
  case exists(Bool)
  /// The document exists and has this update time.
  case updateTime(StoredTimestamp)
}

extension Precondition {
  /// `action` names the kind of write in error messages: update, delete or verify.
  func check(
    _ document: StoredDocument?, at path: DocumentPath, for action: String
  ) throws(DocumentStoreError) {
    switch (self, document) {
    case (.none, _), (.exists(true), _?), (.exists(false), nil): return
    case (.exists(true), nil): throw .notFound("No document to \(action): \(path)")
    case (.exists(false), _?): throw .alreadyExists("Document already exists: \(path)")
    case (.updateTime(let required), nil): throw Self.mismatch(0, required, at: path)
    case (.updateTime(let required), let document?):
      guard document.updateTime != required else { return }
      guard document.updateTime != .unreadable else {
        throw .failedPrecondition(
          "The stored version of \(path) cannot be read, and the required one is \(required.microseconds).")
      }
      throw Self.mismatch(document.updateTime.microseconds, required, at: path)
    }
  }

  /// The error in Firestore's words, and the document. The version of an absent document is 0.
  private static func mismatch(
    _ stored: Int64, _ required: StoredTimestamp, at path: DocumentPath
  ) -> DocumentStoreError {
    let (stored, required) = ("the stored version (\(stored))", "(\(required.microseconds))")
    return .failedPrecondition("\(stored) does not match the required base version \(required): \(path)")
  }
}
