// One target of a model client: what it asks for, and what the client has of it after the last snapshot.

package import DocumentStore
package import OfflineSync

package struct ModelTarget: Sendable {
  package enum Subject: Sendable {
    case query(StructuredQuery)
    case documents([DocumentPath])
  }

  package let id: TargetID
  package let subject: Subject
  /// Whether the authority removes the target when it was sent once.
  package var isOnce = false
  /// The documents in the target as of the last snapshot.
  package var keys: Set<DocumentPath> = []
  package var token: [UInt8] = []
  /// The read time of the last snapshot.
  package var version = SnapshotVersion.none
  /// Whether the client has lost some of the keys. It must then send the number of its documents.
  package var hasLostKeys = false

  package init(id: TargetID, subject: Subject) {
    self.id = id
    self.subject = subject
  }

  package var hasLimit: Bool { if case .query(let query) = subject { query.limit != nil } else { false } }

  /// The documents that belong to the target.
  package func answer(from documents: [StoredDocument]) -> [StoredDocument] {
    switch subject {
    case .query(let query): NaiveEvaluator(query).answer(from: documents)
    case .documents(let paths): documents.filter { paths.contains($0.path) }
    }
  }

  package var description: String {
    switch subject {
    case .query(let query): "\(id) \(query.canonicalID)"
    case .documents(let paths): "\(id) documents \(paths.map(\.description).joined(separator: ", "))"
    }
  }
}

/// Everything that a client keeps when its process ends.
package struct ClientMemory: Sendable {
  package var targets: [TargetID: ModelTarget] = [:]
  package var documents: [DocumentPath: RemoteDocument] = [:]
  /// The read time of the last snapshot.
  package var version = SnapshotVersion.none
  package var lastID: Int32 = 0
  /// Set if the client has seen commits that the store has lost: the beginning of the life in which the
  /// authority does not know that they are lost.
  var lostUnnoticedIn: SnapshotVersion?

  package init() {}
}

extension ModelTarget {
  /// A request for the target from the start.
  package var request: WatchTarget {
    var request: WatchTarget
    switch subject {
    case .query(let query): request = WatchTarget(id, query)
    case .documents(let paths):
      request = WatchTarget(id, StructuredQuery(.document(paths[0])))
      request.documents = paths
    }
    request.once = isOnce
    return request
  }
}
