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
    case (.updateTime(let required), nil):
      throw .failedPrecondition(
        "The document \(path) does not exist, and the required version is \(required.microseconds).")
    case (.updateTime(let required), let document?):
      guard document.updateTime != required else { return }
      guard document.updateTime != .unreadable else {
        throw .failedPrecondition(
          "The stored version of \(path) cannot be read, and the required one is \(required.microseconds).")
      }
      throw .failedPrecondition(
        "The stored version of \(path) is \(document.updateTime.microseconds), and the required one is "
          + "\(required.microseconds).")
    }
  }
}
