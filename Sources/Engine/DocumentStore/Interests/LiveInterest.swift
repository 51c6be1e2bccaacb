// A view's interest: its scope and its anchors.

/// The part of a view's conditions that stays fixed while the view has listeners. The window is not included,
/// because the window can grow at a time that a running commit does not notice.
struct LiveInterest: Sendable {
  var scope: StructuredQuery.Scope
  var collectionID: String
  /// Nil if every change in the scope may concern the view.
  var anchors: [LiveAnchor]?
}

/// The scope of a view as a hash key.
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
