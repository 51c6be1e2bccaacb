// The access rules of an authority.

public import DocumentStore
public import OfflineSync

/// Decides which reads and writes of clients an authority refuses.
///
/// ```swift
/// import OfflineSync
///
/// var rules = AuthorityRules()
/// rules.mayWrite = { user, _ in
///   user == nil ? RemoteError(.permissionDenied, "Sign in to write.") : nil
/// }
/// ```
public struct AuthorityRules: Sendable {
  /// Returns an error to refuse the writes.
  public var mayWrite: (@Sendable (_ user: String?, _ mutations: [Mutation]) -> RemoteError?)?
  /// Returns an error to refuse a query. Called for the queries of listeners and aggregations, and for each
  /// document of a lookup. If it refuses the query for a document that has left the query of a listener, the
  /// listener is not told the new content of the document.
  public var mayRead: (@Sendable (_ user: String?, _ query: StructuredQuery) -> RemoteError?)?

  /// Creates rules that refuse nothing.
  public init() {}
}

extension AuthorityRules {
  /// Whether a user may read a document by its path.
  func mayRead(_ path: DocumentPath, as user: String?) -> Bool {
    mayRead?(user, StructuredQuery(.document(path))) == nil
  }
}
