// The messages of a write stream: batches, and the results of their mutations.

public import DocumentStore

/// A batch as sent to a remote, which applies it atomically.
public struct RemoteWrite: Sendable, Equatable {
  /// The id of the batch.
  public var id: WriteID
  /// The mutations in order.
  public var mutations: [Mutation]
  /// The client will not send earlier batches of this queue again, so the remote may drop the outcomes it
  /// keeps of them.
  public var firstOpen: BatchID
  /// The client's assumptions about documents. If one does not hold and the batch was not accepted
  /// before, the answer is `overtaken`, and the client looks the documents up. Empty unless the client
  /// has a conflict resolver.
  public var guards: [DocumentPath: Precondition]

  /// Creates a batch to send.
  public init(
    id: WriteID, mutations: [Mutation], firstOpen: BatchID, guards: [DocumentPath: Precondition] = [:]
  ) {
    self.id = id
    self.mutations = mutations
    self.firstOpen = firstOpen
    self.guards = guards
  }
}

/// The result of one mutation.
public struct WriteResult: Sendable, Equatable {
  /// The update time of the document; `none`, meaning the time of the commit, if the document was deleted
  /// or not changed.
  public var version: SnapshotVersion
  /// One value for each transform, in order: the new value, or null for an array.
  public var transformResults: [StoredValue]
  /// The document's update time before the batch: `none` if it did not exist, nil if the authority does
  /// not report it. With nil the client assumes that a patch changed the version that the client knew,
  /// also for its writes that depend on the result.
  public var versionBefore: SnapshotVersion?

  /// Creates the result of a mutation.
  public init(
    version: SnapshotVersion, transformResults: [StoredValue] = [], versionBefore: SnapshotVersion? = nil
  ) {
    self.version = version
    self.transformResults = transformResults
    self.versionBefore = versionBefore
  }
}
