// How a query is answered, for people who wonder why it takes so long.

private import DocumentStore
private import OfflineSync

/// The way of a query to its answer, and what it took.
public struct FirestoreQueryExplanation: Sendable, CustomStringConvertible {
  /// Which indexes are used, and how.
  public let plan: String
  /// Indexes that were made because the query needs them.
  public let indexesMade: [String]
  /// How many keys of indexes were looked at.
  public let indexEntriesRead: Int
  /// How many documents were read.
  public let documentsRead: Int
  /// How many results there were.
  public let results: Int
  /// How long the answer took.
  public let duration: Duration
  public let description: String

  fileprivate init(_ explanation: QueryExplanation) {
    plan = explanation.plan
    indexesMade = explanation.built.map(\.description)
    indexEntriesRead = explanation.entriesRead
    documentsRead = explanation.documentsRead
    results = explanation.results
    duration = .nanoseconds(explanation.nanoseconds)
    description = explanation.description
  }
}

extension Query {
  /// Answers the query and tells how.
  ///
  /// ```swift
  /// let cities = Firestore.firestore().collection("cities")
  /// print(try await cities.whereField("capital", isEqualTo: true).order(by: "population").explain())
  /// ```
  nonisolated(nonsending) public func explain() async throws -> FirestoreQueryExplanation {
    let query = try runnable
    let client = firestore.client()
    await client.wait(for: client.lastIssuedWrite)
    let explanation = try await client.performed { view throws(DocumentStoreError) in
      try view.store.explain(query)
    }
    return FirestoreQueryExplanation(explanation)
  }
}
