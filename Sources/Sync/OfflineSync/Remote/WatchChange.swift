// The messages of a watch stream.

public import DocumentStore

/// A document as the remote has it, or as much as could be read of it.
public struct RemoteDocument: Sendable, Equatable {
  /// The path of the document.
  public var path: DocumentPath
  /// The fields; nil if the document does not exist.
  public var fields: StoredMap?
  /// The time of the last change, or the time at which the document did not exist.
  public var version: SnapshotVersion
  /// The time of creation.
  public var createTime: SnapshotVersion
  /// The reason why the content could not be read; nil if it was read. A client refuses a document without
  /// readable content, and keeps the version that it has.
  public var unreadableReason: String?

  /// Creates a document. If `fields` is nil, the document does not exist.
  public init(
    _ path: DocumentPath, _ fields: StoredMap?, version: SnapshotVersion, createTime: SnapshotVersion = .none
  ) {
    self.path = path
    self.fields = fields
    self.version = version
    self.createTime = createTime
  }

  /// Creates a document that the remote has sent in a form that cannot be read.
  public init(unreadable path: DocumentPath, because reason: String) {
    self.init(path, nil, version: .none)
    unreadableReason = reason
  }

  /// The document as queries read it; nil if it does not exist.
  package var stored: StoredDocument? { synced.stored }

  package var synced: SyncedDocument {
    guard unreadableReason == nil else { return SyncedDocument(path) }
    return SyncedDocument(
      path, fields.map { .found($0) } ?? .absent, version: version, createTime: createTime)
  }
}

/// A message of a watch stream.
public enum WatchChange: Sendable, Equatable {
  /// The kinds of messages about targets.
  public enum TargetState: Sendable, Hashable {
    /// Only the resume token is new.
    case noChange
    /// The remote watches the target from here on.
    case added
    /// The remote does not watch the target any more.
    case removed
    /// All documents that matched when the target was added have been sent.
    case current
    /// Everything that was sent for the target so far is void.
    case reset
  }

  /// A message about targets; an empty list means all active ones. `cause` is the error of a removal that
  /// the remote initiated.
  case target(TargetState, [TargetID], resumeToken: [UInt8] = [], cause: RemoteError? = nil)
  /// A document entered targets, changed in targets, or left targets. If the document is nil, it left the
  /// targets, and its content is unknown.
  case document(DocumentPath, RemoteDocument?, updated: [TargetID], removed: [TargetID])
  /// The number of documents in the target, optionally with a Bloom filter of their names.
  case existenceFilter(TargetID, count: Int, BloomFilter.Parts?)
}
