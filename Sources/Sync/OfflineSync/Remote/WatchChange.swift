// What a remote tells on its watch stream.

public import DocumentStore

/// A document as a remote has it.
public struct RemoteDocument: Sendable, Equatable {
  /// Which document.
  public var path: DocumentPath
  /// Nil if there is none.
  public var fields: StoredMap?
  /// When it was last changed, or known to be absent.
  public var version: SnapshotVersion
  /// When it was created.
  public var createTime: SnapshotVersion

  /// A document as the authority has it; no fields say that there is none.
  public init(
    _ path: DocumentPath, _ fields: StoredMap?, version: SnapshotVersion, createTime: SnapshotVersion = .none
  ) {
    self.path = path
    self.fields = fields
    self.version = version
    self.createTime = createTime
  }

  /// As queries see it; nil if there is none.
  package var stored: StoredDocument? { synced.stored }

  package var synced: SyncedDocument {
    SyncedDocument(path, fields.map { .found($0) } ?? .absent, version: version, createTime: createTime)
  }
}

/// One message of a watch stream.
public enum WatchChange: Sendable, Equatable {
  /// What has become of targets.
  public enum TargetState: Sendable, Hashable {
    /// Nothing but the token is new.
    case noChange
    /// The target is being followed from here on.
    case added
    /// It is followed no more.
    case removed
    /// All that the remote had when it was added was told.
    case current
    /// What was told of it does not count any more.
    case reset
  }

  /// Of no targets: of all that are active. `cause` goes with a removal that the remote decided on.
  case target(TargetState, [TargetID], resumeToken: [UInt8] = [], cause: RemoteError? = nil)
  /// A document came into targets, or left them. Without a document it left, and nothing is said of it.
  case document(DocumentPath, RemoteDocument?, updated: [TargetID], removed: [TargetID])
  /// How many documents the target has, and perhaps which.
  case existenceFilter(TargetID, count: Int, BloomFilter.Parts?)
}
