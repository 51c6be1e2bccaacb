// Queries whose documents are objects of one type.

public import FirebaseFirestore
public import Foundation
import LayerKit

extension DataSource {
  /// An immutable query for objects. Each step returns a new query.
  public final class Query {
    /// The query from which the first step started.
    public let _originalQuery: FirebaseFirestore.Query
    /// The query that the database runs.
    public let query: FirebaseFirestore.Query
    private let dictionaryFilter: DictionaryFilter

    /// Creates a query for the documents of `query` as objects.
    public convenience init(_ query: FirebaseFirestore.Query) {
      self.init(query, from: query, dictionaryFilter: DictionaryFilter())
    }

    private init(
      _ query: FirebaseFirestore.Query, from original: FirebaseFirestore.Query,
      dictionaryFilter: DictionaryFilter
    ) {
      self.query = query
      _originalQuery = original
      self.dictionaryFilter = dictionaryFilter
    }

    /// Returns an object query for `query`, which is this query after one more step. Predicates are kept.
    func refined(_ query: FirebaseFirestore.Query) -> Query {
      Query(query, from: _originalQuery, dictionaryFilter: dictionaryFilter)
    }

    ///  Returns a list for the query. The list follows the query after `listen` has been called.
    public func dataSource(option: Option = Option()) -> DataSource<T> {
      DataSource(reference: self, option: option)
    }

    /// The order of a data source, unless the user sets another order.
    var order: DocumentOrder<T> { query.hasExplicitOrder ? .query(query) : .latestUpdate }

    // MARK: Predicates

    /// Returns a query for documents whose dictionaries satisfy the predicate. The predicate is evaluated in
    /// this process and not by the database, so limits and cursors also count documents that the predicate
    /// rejects. The property `query` does not contain the predicate. `filter(_:)` has no such restrictions.
    public func filter(using predicate: NSPredicate) -> Query {
      Query(query, from: _originalQuery, dictionaryFilter: dictionaryFilter.adding(predicate))
    }

    var hasPredicates: Bool { !dictionaryFilter.isEmpty }

    func accepts(_ document: QueryDocumentSnapshot) -> Bool { dictionaryFilter.accepts(document) }

    // MARK: Running the query

    /// Calls `listener` with the results on the callback queue, until the registration is removed.
    @discardableResult
    public func listen(
      includeMetadataChanges: Bool = true, listener: @escaping FIRQuerySnapshotBlock
    ) -> any ListenerRegistration {
      guard hasPredicates else {
        return query.addSnapshotListener(includeMetadataChanges: includeMetadataChanges, listener: listener)
      }
      var last: QuerySnapshot?
      return query.addSnapshotListener(includeMetadataChanges: includeMetadataChanges) {
        [self] snapshot, error in
        guard let snapshot else { return listener(nil, error) }
        if let changedSnapshot = changedSnapshot(of: snapshot, after: &last) {
          listener(changedSnapshot, nil)
        }
      }
    }

    /// Returns the documents that the predicates accept; nil if only rejected documents changed.
    fileprivate func changedSnapshot(of snapshot: QuerySnapshot, after last: inout QuerySnapshot?)
      -> QuerySnapshot?
    {
      guard hasPredicates else { return snapshot }
      let filtered = snapshot.filtered(after: last, accepts)
      let isNews = last.map { !filtered.hasSameContent(as: $0) } ?? true
      last = filtered
      return isNews ? filtered : nil
    }

    /// Reads the results of the query once.
    public func get(completion: @escaping FIRQuerySnapshotBlock) {
      guard hasPredicates else { return query.getDocuments(completion: completion) }
      query.getDocuments { [self] snapshot, error in completion(snapshot?.filtered(accepts), error) }
    }

    /// Reads the results of the query once.
    nonisolated(nonsending) public func get() async throws -> QuerySnapshot {
      let found = try await query.getDocuments()
      return hasPredicates ? found.filtered(accepts) : found
    }

    /// The present results, and then the results after each change, as with `listen`:
    ///
    /// ```swift
    /// for try await snapshot in Document<Item>.order(by: "name").snapshots() {
    ///   print(snapshot.count)
    /// }
    /// ```
    ///
    /// A database error ends the loop.
    public func snapshots(includeMetadataChanges: Bool = true) -> SnapshotsSequence {
      SnapshotsSequence(query: self, includeMetadataChanges: includeMetadataChanges)
    }
  }
}

extension DataSource.Query {
  /// A sequence of results. Each iterator has its own listener, until the iterator is freed or its task is
  /// cancelled.
  public struct SnapshotsSequence: AsyncSequence {
    public typealias Element = QuerySnapshot
    public typealias Failure = any Error

    fileprivate let query: DataSource<T>.Query
    fileprivate let includeMetadataChanges: Bool

    public func makeAsyncIterator() -> Iterator {
      let found = query.query.snapshots(includeMetadataChanges: includeMetadataChanges)
      return Iterator(query: query, found: found.makeAsyncIterator())
    }

    /// Iterates over the states of the results.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let query: DataSource<T>.Query
      fileprivate var found: FirebaseFirestore.Query.QuerySnapshotsSequence.Iterator
      private var last: QuerySnapshot?

      fileprivate init(
        query: DataSource<T>.Query, found: FirebaseFirestore.Query.QuerySnapshotsSequence.Iterator
      ) {
        self.query = query
        self.found = found
      }

      /// Returns the next state; nil once the task is cancelled or the database is terminated.
      public mutating func next() async throws -> QuerySnapshot? { try await next(isolation: nil) }

      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws(any Error) -> QuerySnapshot? {
        while let snapshot = try await found.next(isolation: actor) {
          if let changedSnapshot = query.changedSnapshot(of: snapshot, after: &last) {
            return changedSnapshot
          }
        }
        return nil
      }
    }
  }
}
