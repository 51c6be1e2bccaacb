// What a client sends on its write stream, and what comes back.

public import DocumentStore

/// A batch on its way: all of it happens, or nothing.
public struct RemoteWrite: Sendable, Equatable {
  /// Which batch it is.
  public var id: WriteID
  /// What it writes, in order.
  public var mutations: [Mutation]
  /// Batches of this queue before this one will not be sent again: what a remote kept to answer them again can go.
  public var firstOpen: BatchID
  /// What the client takes documents to be. If one is not so any more, and the batch was not taken before, the answer is
  /// `overtaken`, and the client looks again. Empty unless the client merges what others have done.
  public var guards: [DocumentPath: Precondition]

  /// A batch on its way.
  public init(
    id: WriteID, mutations: [Mutation], firstOpen: BatchID, guards: [DocumentPath: Precondition] = [:]
  ) {
    self.id = id
    self.mutations = mutations
    self.firstOpen = firstOpen
    self.guards = guards
  }
}

/// What became of one mutation.
public struct WriteResult: Sendable, Equatable {
  /// None if the document is gone, or was not changed: then it is that of the commit.
  public var version: SnapshotVersion
  /// One for each transform, in their order: the new value, or null for an array.
  public var transformResults: [StoredValue]
  /// When the document had been changed last before the batch: none if it was not there, nil if the authority does not
  /// say. Then a patch is taken to have changed what was known here, also for writes of this client that depend on that.
  public var versionBefore: SnapshotVersion?

  /// What a write became.
  public init(
    version: SnapshotVersion, transformResults: [StoredValue] = [], versionBefore: SnapshotVersion? = nil
  ) {
    self.version = version
    self.transformResults = transformResults
    self.versionBefore = versionBefore
  }
}
