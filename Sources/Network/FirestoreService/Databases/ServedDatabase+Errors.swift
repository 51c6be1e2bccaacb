// Errors of commits as Firestore words them: with the full names of documents.

internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension ServedDatabase {
  private static let sentences = [
    "No document to update", "No document to delete", "No document to verify", "Document already exists",
  ]

  /// The error of a transaction in this process for an update of a document that it read as absent.
  private static let absentInTransaction = "Can't update a document that doesn't exist."

  /// The beginning of the error of a stale update time, which does not name the document in Firestore.
  private static let staleVersion = "the stored version ("

  /// The error of a commit, with the full name of the document instead of its path.
  func named(_ error: RemoteError, of mutations: [Mutation]) -> RemoteError {
    if error.message == Self.absentInTransaction, let path = mutations.first(where: \.isUpdate)?.path {
      return RemoteError(.notFound, "No document to update: \(name.name(of: path))")
    }
    if error.code == .failedPrecondition, error.message.hasPrefix(Self.staleVersion),
      let path = mutations.first(where: { error.message.hasSuffix("): \($0.path)") })?.path
    {
      return RemoteError(error.code, String(error.message.dropLast("\(path)".count + 2)))
    }
    guard error.code == .notFound || error.code == .alreadyExists else { return error }
    for mutation in mutations {
      for sentence in Self.sentences where error.message == "\(sentence): \(mutation.path)" {
        return RemoteError(error.code, "\(sentence): \(name.name(of: mutation.path))")
      }
    }
    return error
  }
}

extension Mutation {
  /// Whether the mutation changes a document that must exist.
  fileprivate var isUpdate: Bool {
    if case .patch = change { precondition == .exists(true) } else { false }
  }
}
