// Errors of commits as Firestore words them: with the full names of documents.

internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension ServedDatabase {
  private static let sentences = [
    "No document to update", "No document to delete", "No document to verify", "Document already exists",
  ]

  /// The beginning of the error of a stale update time, which does not name the document in Firestore.
  private static let staleVersion = "the stored version ("

  /// The error of a commit, with the full name of the document instead of its path.
  func named(_ error: RemoteError, of mutations: [Mutation]) -> RemoteError {
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
