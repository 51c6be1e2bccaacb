// What must hold of a document for a write to happen.

/// What has to hold for a write.
public enum Precondition: Hashable, Sendable {
  /// Nothing.
  case none
  /// Whether the document is there.
  case exists(Bool)
  /// The document exists and was last changed then.
  case updateTime(StoredTimestamp)
}

extension Precondition {
  /// `action` is what the write would do: update, delete or verify.
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
