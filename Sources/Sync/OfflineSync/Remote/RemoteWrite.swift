// The messages of a write stream: batches, and the results of their mutations.

public import DocumentStore

/// A batch as sent to a remote, which applies it atomically.
public struct RemoteWrite: Sendable, Equatable {
  /// The id of the batch.
  public var id: WriteID
  /// The mutations in order. A verification without a precondition is in the place of a write that a conflict
  /// resolver has dropped. It is not sent, because servers refuse it, and any result may stand in its place.
  public var mutations: [Mutation]
  /// The first batch of this queue whose answer the client has not received. The client will not send earlier
  /// batches of the queue again, so the remote may drop the stored outcomes of those batches.
  public var firstOpen: BatchID
  /// The client's assumptions about documents. If an assumption does not hold and the batch was not accepted
  /// before, the remote answers `overtaken`, and the client looks the documents up. The dictionary is empty
  /// unless the client has a conflict resolver.
  public var guards: [DocumentPath: Precondition]
  /// The token of the run's registration under which the batch was sent first; empty if the remote gave none.
  public var registration: [UInt8] = []

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
  /// The update time of the document. If the document was deleted or not changed, it is `none`, which stands
  /// for the time of the commit.
  public var version: SnapshotVersion
  /// One value for each transform, in order: the new value of the field, or null for an array transform.
  public var transformResults: [StoredValue]
  /// The document's update time before the batch: `none` if the document did not exist, nil if the authority
  /// does not report the time. If it is nil, the client assumes that a patch was applied to the version that
  /// the client knew. The client also assumes this for its later writes that depend on the result of the
  /// patch.
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
