// The values that a stream of queries delivers.

/// The states of several queries after one commit.
package struct StreamSnapshot: Sendable {
  /// The time of the last commit that all states of the stream include; nil if there is none. Never decreases
  /// on a stream.
  package var time: StoredTimestamp?
  /// The last entry of the change feed that all states include; nil if the feed has never been active. Never
  /// decreases on a stream.
  package var position: FeedPosition?
  /// The queries that are new, have changed or have ended. All others have the states that they had.
  package var queries: [Int32: Result<LiveQueryState, DocumentStoreError>]
}

/// The state of one query.
package struct LiveQueryState: Sendable {
  /// The documents of the result, in the query's order.
  package var documents: LiveResults
  /// Whether this is the first state that the stream delivers of this query.
  package var isFirst: Bool
  /// The changes since the query's previous state: removals, then additions, then modifications, each in
  /// query order. Empty in the first state.
  package var changes: [LiveStreamChange]
}

/// The change of one document between two states of a query.
package struct LiveStreamChange: Sendable {
  package var path: DocumentPath
  /// The document in the previous state; nil if it was not in the result.
  package var old: StoredDocument?
  /// The document in this state; nil if it is not in the result.
  package var new: StoredDocument?
  /// Why the document left; nil unless `new` is nil.
  package var departure: Departure?
}

/// The reasons why a document is not in the result any more. The documents are the ones that the stream has
/// last seen: a document that is in no query of the stream may have changed again since.
package enum Departure: Sendable, Equatable {
  /// The document was deleted, and did not exist at this time. Nil if no such time is known.
  case deleted(at: StoredTimestamp?)
  /// The document exists with this content, which differs from the content in the previous state. It matches
  /// no longer, or the limit excludes it.
  case changed(StoredDocument)
  /// The document exists unchanged, and the limit excludes it.
  case displaced
}
