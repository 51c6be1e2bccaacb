// The changes of one snapshot, with the targets that each document is in or has left.

internal import DocumentStore
internal import OfflineSync

struct SnapshotChanges {
  private struct Change {
    /// The state of the document; nil if no target knows another one than before.
    var document: RemoteDocument?
    var updated: [TargetID] = []
    var removed: [TargetID] = []
  }

  private var changes: [DocumentPath: Change] = [:]
  private let version: SnapshotVersion
  /// Whether the user may be sent the content of a document that has left a target.
  private let mayRead: (DocumentPath) -> Bool

  /// `version` is the time of the snapshot, up to which a deleted document is known to be absent.
  init(at version: SnapshotVersion, mayRead: @escaping (DocumentPath) -> Bool) {
    self.version = version
    self.mayRead = mayRead
  }

  mutating func add(_ change: LiveStreamChange, in target: TargetID) {
    var known = changes[change.path] ?? Change()
    if let document = change.new {
      known.updated.append(target)
      known.document = RemoteDocument(document)
    } else {
      known.removed.append(target)
      switch change.departure {
      case .deleted(let time):
        // The document may exist again at the time of the snapshot, outside all targets.
        known.document = RemoteDocument(
          change.path, nil, version: time.map { SnapshotVersion($0) } ?? version)
      case .changed(let document) where known.document == nil && mayRead(change.path):
        known.document = RemoteDocument(document)
      case .changed, .displaced, nil: break
      }
    }
    changes[change.path] = known
  }

  /// Calls `send` with a message for each document, in the order of the paths.
  func forEachMessage(_ send: (WatchChange) -> Void) {
    for (path, change) in changes.sorted(by: { ValueOrder.compare($0.key, $1.key) == .before }) {
      send(
        .document(
          path, change.document, updated: change.updated.sorted(), removed: change.removed.sorted()))
    }
  }
}
