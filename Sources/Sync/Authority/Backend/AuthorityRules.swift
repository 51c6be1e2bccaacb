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
  /// Returns an error to refuse the writes. Documents that are only verified are reads as well: `mayRead` is
  /// called for each of them, and for each guard of a batch.
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

  /// Returns the error with which the rules refuse a user's mutations under guards, or nil. A precondition of
  /// a document that is not written tells whether the document exists, so it counts as a read.
  func refusal(
    of mutations: [Mutation], guards: [DocumentPath: Precondition] = [:], as user: String?
  ) -> RemoteError? {
    if let refusal = mayWrite?(user, mutations) { return refusal }
    guard let mayRead else { return nil }
    var read = Set(guards.keys)
    for mutation in mutations where mutation.isVerification { read.insert(mutation.path) }
    guard !read.isEmpty else { return nil }
    for mutation in mutations where !mutation.isVerification { read.remove(mutation.path) }
    for path in read.sorted(by: { ValueOrder.compare($0, $1) == .before }) {
      if let refusal = mayRead(user, StructuredQuery(.document(path))) { return refusal }
    }
    return nil
  }
}

extension Mutation {
  fileprivate var isVerification: Bool { if case .verify = change { true } else { false } }
}
