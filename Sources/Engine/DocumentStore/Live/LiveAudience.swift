// The interface through which a view offers its states.

/// A listener or a query of a stream. All methods except `remove` are called under the lock of `LiveQueries`.
protocol LiveAudience: AnyObject, Sendable {
  /// Takes the state of the query. `changes` leads from the previously offered state to this one. Returns a
  /// stream that has to be told of the end of the round and does not wait for it yet.
  func offer(
    _ results: LiveResults, _ changes: [LiveDifference.Change], time: StoredTimestamp?
  ) -> LiveStream?

  /// Takes the error that ended the query.
  func fail(_ error: DocumentStoreError) -> LiveStream?

  /// Ends the deliveries.
  func remove()

  /// The stream that the query belongs to; nil for a listener of its own.
  var stream: LiveStream? { get }

  /// The stream, if a state of the query is part of what it delivers.
  var showingStream: LiveStream? { get }
}
