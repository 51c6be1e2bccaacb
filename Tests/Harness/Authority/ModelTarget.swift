// One target of a model client: what it asks for, and what the client has of it after the last snapshot.

import DocumentStore
import OfflineSync

struct ModelTarget {
  enum Subject {
    case query(StructuredQuery)
    case documents([DocumentPath])
  }

  let id: TargetID
  let subject: Subject
  /// Whether the authority removes the target when it was sent once.
  var isOnce = false
  /// The documents in the target as of the last snapshot.
  var keys: Set<DocumentPath> = []
  var token: [UInt8] = []
  /// The read time of the last snapshot.
  var version = SnapshotVersion.none
  /// Whether the client has lost some of the keys. It must then send the number of its documents.
  var hasLostKeys = false

  var hasLimit: Bool { if case .query(let query) = subject { query.limit != nil } else { false } }

  /// The documents that belong to the target.
  func answer(from documents: [StoredDocument]) -> [StoredDocument] {
    switch subject {
    case .query(let query): NaiveEvaluator(query).answer(from: documents)
    case .documents(let paths): documents.filter { paths.contains($0.path) }
    }
  }

  var description: String {
    switch subject {
    case .query(let query): "\(id) \(query.canonicalID)"
    case .documents(let paths): "\(id) documents \(paths.map(\.description).joined(separator: ", "))"
    }
  }
}

/// Everything that a client keeps when its process ends.
struct ClientMemory {
  var targets: [TargetID: ModelTarget] = [:]
  var documents: [DocumentPath: RemoteDocument] = [:]
  /// The read time of the last snapshot.
  var version = SnapshotVersion.none
  var lastID: Int32 = 0
  /// Set if the client has seen commits that the store has lost: the beginning of the life in which the
  /// authority does not know that they are lost.
  var lostUnnoticedIn: SnapshotVersion?
}

extension ModelTarget {
  /// A request for the target from the start.
  var request: WatchTarget {
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
