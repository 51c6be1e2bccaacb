// What a view waits for, and where.

/// What a view waits for, as long as it is listened to. Its window is not in it: that may begin to reach further at a
/// moment that no commit knows of.
struct LiveInterest: Sendable {
  var scope: StructuredQuery.Scope
  var collectionID: String
  /// Nil if every change of the scope may concern it.
  var anchors: [LiveAnchor]?
}

/// Where a view looks for documents.
enum LiveScopeKey: Hashable {
  case collection(RecordKey)
  case group(RecordKey)
  case document(RecordKey)

  init(_ scope: StructuredQuery.Scope) {
    switch scope {
    case .collection(let collection): self = .collection(RecordKey(DocumentKey.beginning(of: collection)))
    case .collectionGroup(let id): self = .group(RecordKey(Array(id.utf8)))
    case .document(let path): self = .document(RecordKey(DocumentKey.encode(path)))
    }
  }
}
