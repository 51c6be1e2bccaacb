// Explains how a query is executed and why it may be slow.

private import DocumentStore
private import OfflineSync

/// The plan of a query and its cost.
public struct FirestoreQueryExplanation: Sendable, CustomStringConvertible {
  /// The indexes that the query uses, and how it uses them.
  public let plan: String
  /// The indexes that were created because the query needs them.
  public let indexesMade: [String]
  /// The number of index keys that were read.
  public let indexEntriesRead: Int
  /// The number of documents that were read.
  public let documentsRead: Int
  /// The number of results.
  public let results: Int
  /// The time that the query took.
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
  /// Runs the query and returns its plan and cost.
  ///
  /// ```swift
  /// let cities = Firestore.firestore().collection("cities")
  /// print(try await cities.whereField("capital", isEqualTo: true).order(by: "population").explain())
  /// ```
  nonisolated(nonsending) public func explain() async throws -> FirestoreQueryExplanation {
    let query = try runnable
    let client = firestore.client()
    await client.store.wait(for: client.lastIssuedWrite)
    let explanation = try await client.store.performed { view throws(DocumentStoreError) in
      try view.store.explain(query)
    }
    return FirestoreQueryExplanation(explanation)
  }
}
