// What a client asks a remote to tell it.

public import DocumentStore

/// A query to be followed, and what the client knows of its answer already.
public struct WatchTarget: Sendable, Equatable {
  /// Why it is asked: for a remote's own bookkeeping.
  public enum Purpose: Sendable, Hashable {
    /// Somebody listens.
    case listen
    /// What the client has and what the remote counts are not the same.
    case existenceFilterMismatch
    /// The same, and a Bloom filter did not help.
    case existenceFilterMismatchBloom
    /// The client has a document that the remote does not list.
    case limboResolution
  }

  /// Its number.
  public var id: TargetID
  /// With a limit on the first documents, or none: one on the last ones comes mirrored.
  public var query: StructuredQuery
  /// Why it is watched.
  public var purpose: Purpose
  /// Where to go on; empty for the start.
  public var resumeToken: [UInt8]
  /// Without a token: everything up to this moment is known.
  public var readTime: SnapshotVersion
  /// With a token: how many documents the client has. A remote that counts others sends a filter.
  public var expectedCount: Int?

  /// A query to watch, from where it was known.
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
