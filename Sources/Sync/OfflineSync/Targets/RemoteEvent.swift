// An event that combines all messages of the watch stream up to a version.

package import DocumentStore

/// The changes of one target.
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

  package var hasDocumentChanges: Bool { !added.isEmpty || !modified.isEmpty || !removed.isEmpty }
}

/// All changes up to a version.
package struct RemoteEvent: Sendable {
  package var version: SnapshotVersion
  package var targetChanges: [TargetID: TargetChange] = [:]
  /// The targets whose local documents differ from the documents of the remote. The value is the purpose of
  /// the new watch request.
  package var mismatches: [TargetID: WatchTarget.Purpose] = [:]
  package var documents: [DocumentPath: SyncedDocument] = [:]
  /// The refusals of this event, by target.
  package var refusals: [TargetID: [RemoteRefusal]] = [:]
  /// Documents that were sent only for limbo targets.
  package var resolvedLimbo: Set<DocumentPath> = []

  package init(version: SnapshotVersion) { self.version = version }
}
