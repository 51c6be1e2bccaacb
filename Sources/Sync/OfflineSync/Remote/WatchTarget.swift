// A client's request to watch a query.

public import DocumentStore

/// A query to watch, and how much of its result the client already has.
public struct WatchTarget: Sendable, Equatable {
  /// The reason for the request, for a remote's statistics.
  public enum Purpose: Sendable, Hashable {
    /// A listener was added.
    case listen
    /// The client's documents and the remote's count differed.
    case existenceFilterMismatch
    /// The counts differed, and the Bloom filter did not resolve the difference.
    case existenceFilterMismatchBloom
    /// A document matches locally, but the remote does not list it.
    case limboResolution
  }

  /// The id of the target.
  public var id: TargetID
  /// The query. A limit always applies to the first documents: a query for the last ones is sent with
  /// reversed order.
  public var query: StructuredQuery
  /// The reason for the request.
  public var purpose: Purpose
  /// The token with which to resume; empty to start from the beginning.
  public var resumeToken: [UInt8]
  /// The time up to which the client has all changes; used if there is no token.
  public var readTime: SnapshotVersion
  /// The number of documents that the client has; used together with a token. If the remote's own count
  /// differs, the remote sends an existence filter.
  public var expectedCount: Int?
  /// The documents to watch. If there are any, the target is these documents, and `query` has no effect.
  public var documents: [DocumentPath] = []
  /// Whether the remote removes the target as soon as the client has received all of it.
  public var once = false

  /// Creates a request to watch a query.
  public init(
    _ id: TargetID, _ query: StructuredQuery, purpose: Purpose = .listen, resumeToken: [UInt8] = [],
    readTime: SnapshotVersion = .none, expectedCount: Int? = nil
  ) {
    self.id = id
    self.query = query
    self.purpose = purpose
    self.resumeToken = resumeToken
    self.readTime = readTime
    self.expectedCount = expectedCount
  }
}
