// A target of a watch session.

internal import DocumentStore
internal import OfflineSync

/// A target and the queries that it consists of. A target of several documents is one query for each.
struct WatchedTarget: Sendable {
  /// The maximum number of documents in one target.
  static let documentsMax = 100

  let request: WatchTarget
  /// Where the client's knowledge of the target ends; nil if the client has no token.
  let token: AuthorityLife.TokenCheck?
  let queries: [StructuredQuery]
  /// The ids of the queries in the session's stream.
  private(set) var queryIDs: [Int32]
  /// The first results, until there is one for each query.
  private var firstResults: [Int32: LiveResults] = [:]
  /// Whether the client was sent the whole target.
  private(set) var isSent = false

  init(_ request: WatchTarget, _ token: AuthorityLife.TokenCheck?, firstQueryID: Int32) {
    self.request = request
    self.token = token
    queries = Self.queries(of: request)
    queryIDs = queries.indices.map { firstQueryID + Int32($0) }
  }

  /// The queries of a request. A document that is listed twice is one query.
  static func queries(of request: WatchTarget) -> [StructuredQuery] {
    guard !request.documents.isEmpty else { return [request.query] }
    var known: Set<DocumentPath> = []
    return request.documents.filter { known.insert($0).inserted }.map { StructuredQuery(.document($0)) }
  }

  var id: TargetID { request.id }

  /// Whether the client may have documents of the target, which may be outdated.
  var hasPriorState: Bool { !request.resumeToken.isEmpty || request.readTime != .none }

  /// Whether a document can enter or leave the target without a change of its own.
  var hasLimit: Bool { queries.contains { $0.limit != nil || $0.offset > 0 } }

  /// The state of this database from which the client can be sent the changes; nil if it has to be sent
  /// everything.
  var mark: BackendMark? {
    guard case .here(let position, let time)? = token, !hasLimit else { return nil }
    return BackendMark(position, time)
  }

  /// Whether all existing documents of the scope are in the target. Each document has a name, so an order by
  /// name leaves none out. Requests from the network always have that order.
  var isWholeScope: Bool {
    queries.allSatisfy { query in
      query.filters.isEmpty && query.explicitOrders.allSatisfy { $0.field == .documentID }
        && query.start == nil && query.end == nil
    }
  }

  /// The documents of the target, if it is a list of documents. Empty if the target has conditions: a
  /// document that does not match may exist.
  var paths: [DocumentPath] {
    guard isWholeScope, !hasLimit else { return [] }
    return queries.compactMap { if case .document(let path) = $0.scope { path } else { nil } }
  }

  func contains(scopeOf path: DocumentPath) -> Bool { queries.contains { $0.scope.contains(path) } }

  /// Adds the state of a query, until the client is sent the whole target.
  mutating func add(_ state: LiveQueryState, of query: Int32) { firstResults[query] = state.documents }

  /// Returns the documents of the whole target if each query has a state; otherwise nil. The client is then
  /// sent the changes after these states.
  mutating func complete() -> [StoredDocument]? {
    guard !isSent, firstResults.count == queryIDs.count else { return nil }
    isSent = true
    defer { firstResults = [:] }
    return queryIDs.flatMap { firstResults[$0].map { Array($0) } ?? [] }
  }
}
