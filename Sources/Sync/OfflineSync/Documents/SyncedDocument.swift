// A document as a client knows it: the remote's last version, or that version with pending writes applied.

package import DocumentStore

package struct SyncedDocument: Sendable, Equatable {
  package enum Content: Sendable, Equatable {
    /// The client has no information about the document.
    case invalid
    /// The document exists, but its content is unknown.
    case unknown
    case absent
    case found(StoredMap)
  }

  package enum Pending: UInt8, Sendable {
    case none
    /// A write of the document has no answer yet.
    case local
    /// All writes were accepted, and the watch stream has not delivered the result yet.
    case committed
  }

  package let path: DocumentPath
  package var content: Content
  /// The version of the document; `none` while writes are pending.
  package var version: SnapshotVersion
  package var createTime: SnapshotVersion
  package var pending: Pending
  /// Whether fields may be missing here, because the remote applied an accepted patch to a version other than
  /// the client's.
  package var isAssumed = false

  package init(
    _ path: DocumentPath, _ content: Content = .invalid, version: SnapshotVersion = .none,
    createTime: SnapshotVersion = .none, pending: Pending = .none
  ) {
    self.path = path
    self.content = content
    self.version = version
    self.createTime = createTime
    self.pending = pending
  }

  package var fields: StoredMap? { if case .found(let fields) = content { fields } else { nil } }

  package var isFound: Bool { fields != nil }

  package var isValid: Bool { content != .invalid }

  /// The document as queries read it; nil if it is absent or unknown.
  package var stored: StoredDocument? {
    fields.map {
      StoredDocument(
        path: path, createTime: createTime.timestamp, updateTime: version.timestamp, fields: $0)
    }
  }

  /// Creates the view from a document that was read at its own path, where the local view is stored. Such a
  /// document has no version while a write is pending.
  package init(local document: StoredDocument, isCommitted: Bool) {
    let version = SnapshotVersion(document.updateTime)
    self.init(
      document.path, .found(document.fields), version: version,
      createTime: SnapshotVersion(document.createTime),
      pending: version == .none ? .local : isCommitted ? .committed : .none)
  }
}
