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
