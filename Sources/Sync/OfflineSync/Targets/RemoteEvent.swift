// What a remote has told up to one moment, put together.

package import DocumentStore

/// What became of one target.
package struct TargetChange: Sendable, Equatable {
  package var resumeToken: [UInt8] = []
  package var isCurrent = false
  package var added: Set<DocumentPath> = []
  package var modified: Set<DocumentPath> = []
  package var removed: Set<DocumentPath> = []

  package init(resumeToken: [UInt8] = [], isCurrent: Bool = false) {
    self.resumeToken = resumeToken
    self.isCurrent = isCurrent
  }

  package var isAboutDocuments: Bool { !added.isEmpty || !modified.isEmpty || !removed.isEmpty }
}

/// All that is new at a version.
package struct RemoteEvent: Sendable {
  package var version: SnapshotVersion
  package var targetChanges: [TargetID: TargetChange] = [:]
  /// Targets whose documents here are not those of the remote, and with which purpose they are asked for again.
  package var mismatches: [TargetID: WatchTarget.Purpose] = [:]
  package var documents: [DocumentPath: SyncedDocument] = [:]
  /// Refusals of this event, by the targets that they were sent for.
  package var refusals: [TargetID: [RemoteRefusal]] = [:]
  /// Of these, nobody but the engine wanted to know.
  package var resolvedLimbo: Set<DocumentPath> = []

  package init(version: SnapshotVersion) { self.version = version }
}
