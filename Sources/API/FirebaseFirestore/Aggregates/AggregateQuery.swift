// Aggregates over the results of a query, without returning the results.

private import DocumentStore
public import Foundation

/// The place where aggregates are computed. Without a remote, the database is both server and cache.
public enum AggregateSource: UInt, Sendable {
  /// The remote computes the aggregates and ignores pending writes. Fails with `unavailable` while the remote
  /// cannot be reached.
  case server = 0
  /// The client computes the aggregates from its local documents, including pending writes. This needs no
  /// network.
  case cache = 1
}

/// A query with the aggregates to compute over its results.
///
/// ```swift
/// let cities = Firestore.firestore().collection("cities")
/// let numbers = try await cities.aggregate([.count(), .sum("population")]).getAggregation(source: .server)
/// print(numbers.count, numbers.get(.sum("population")))
/// ```
public final class AggregateQuery: NSObject, Sendable {
  /// The query whose results are aggregated.
  public let query: Query
  let fields: [AggregateField]

  init(_ query: Query, _ fields: [AggregateField]) {
    self.query = query
    self.fields = fields
  }

  /// Computes the aggregates. `completion` runs on the callback queue.
  public func getAggregation(
    source: AggregateSource, completion: @escaping (AggregateQuerySnapshot?, (any Error)?) -> Void
  ) {
    query.reportLateMisuse()
    let client = query.firestore.client()
    let runnable = Result { try query.runnable }
    client.read(query.firestore.delivering(to: completion)) { [self] write in
      let values = try await client.aggregate(
        fields.map(\.aggregate), over: try runnable.get(), source: source.readSource, after: write)
      return AggregateQuerySnapshot(self, values)
    }
  }

  /// Computes the aggregates. Throws `unavailable` if `source` is `.server` and the remote cannot be
  /// reached.
  @discardableResult
  nonisolated(nonsending)
    public func getAggregation(source: AggregateSource) async throws -> AggregateQuerySnapshot
  {
    try await startReading(source).snapshot()
  }

  /// Two aggregate queries are equal if their queries are equal and they have equal aggregates in the same
  /// order.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? AggregateQuery else { return false }
    return query == other.query && fields == other.fields
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(query)
    hasher.combine(fields)
    return hasher.finalize()
  }

  /// A read that sees all writes issued before it and does not wait for later writes.
  private struct Read: Sendable {
    var query: AggregateQuery
    var client: any FirestoreClient
    var structured: StructuredQuery
    var source: AggregateSource
    var lastWrite: UInt64

    nonisolated(nonsending) func snapshot() async throws -> AggregateQuerySnapshot {
      AggregateQuerySnapshot(
        query,
        try await client.aggregate(
          query.fields.map(\.aggregate), over: structured, source: source.readSource, after: lastWrite))
    }
  }

  private func startReading(_ source: AggregateSource) throws -> Read {
    let client = query.firestore.client()
    return Read(
      query: self, client: client, structured: try query.runnable, source: source,
      lastWrite: client.lastIssuedWrite)
  }
}

extension AggregateQuery: Validatable {
  func validate() throws { try query.validate() }
}

extension AggregateSource {
  fileprivate var readSource: ReadSource {
    switch self {
    case .server: .server
    case .cache: .cache
    }
  }
}

extension Query {
  /// A query for the number of results.
  public var count: AggregateQuery { aggregate([.count()]) }

  /// Returns a query that computes aggregates over the results. At most five different aggregates are
  /// allowed.
  public func aggregate(_ aggregateFields: [AggregateField]) -> AggregateQuery {
    let isInvalid = aggregateFields.contains { $0.field == FieldPath.placeholder }
    return AggregateQuery(isInvalid ? placeholder : self, aggregateFields)
  }
}
