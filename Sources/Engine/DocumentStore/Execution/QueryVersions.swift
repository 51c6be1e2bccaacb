// The versions of the documents in a result.

/// The result of a query without its content.
struct QueryVersions: Sendable {
  /// The update times of the documents, by key.
  var times: [[UInt8]: StoredTimestamp] = [:]
  /// The last document in the order of the executable query, if the limit cuts off the result.
  var last: StoredDocument?
}
