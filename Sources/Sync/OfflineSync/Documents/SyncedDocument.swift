// A document as a client knows it: as the remote had it last, or with the writes that are pending.

package import DocumentStore

/// What is known of the document at a path.
package struct SyncedDocument: Sendable, Equatable {
  package enum Content: Sendable, Equatable {
    /// Nothing is known.
    case invalid
    /// It is there, and what it has is not known.
    case unknown
    case absent
    case found(StoredMap)
  }

  package enum Pending: UInt8, Sendable {
    case none
    /// A write of it has not been answered.
    case local
    /// All writes of it were accepted, and the watch stream has not shown the outcome yet.
    case committed
  }

  package let path: DocumentPath
  package var content: Content
  /// None while writes are pending.
  package var version: SnapshotVersion
  package var createTime: SnapshotVersion
  package var pending: Pending
  /// A patch was accepted, and the remote has said that it was made on something else than was known here: it may have
  /// other fields, too.
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

  /// What a document has to be for this, as far as it is visible, to be what the remote has. One that is there and not
  /// known counts as absent.
  package var requirement: Precondition {
    guard isFound else { return .exists(false) }
    return isAssumed ? .impossible : .updateTime(version.timestamp)
  }

  /// As queries see it; nil if there is nothing to see.
  package var stored: StoredDocument? {
    fields.map {
      StoredDocument(
        path: path, createTime: createTime.timestamp, updateTime: version.timestamp, fields: $0)
    }
  }

  /// Of a store that keeps local documents: none of their writes has a version yet.
  package init(local document: StoredDocument, isCommitted: Bool) {
    let version = SnapshotVersion(document.updateTime)
    self.init(
      document.path, .found(document.fields), version: version,
      createTime: SnapshotVersion(document.createTime),
      pending: version == .none ? .local : isCommitted ? .committed : .none)
  }
}

extension StoredDocument {
  /// Of a store that keeps local documents: a write of it has not been answered.
  package var isPending: Bool { updateTime.microseconds == 0 }
}
