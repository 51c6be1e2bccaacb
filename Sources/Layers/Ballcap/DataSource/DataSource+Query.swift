// Queries whose documents are objects of one type.

public import FirebaseFirestore
public import Foundation
import LayerKit

extension DataSource {
  /// A query, and the way to its data source. It never changes: each step makes a new one.
  public final class Query {
    /// Where the steps began.
    public let _originalQuery: FirebaseFirestore.Query
    /// What is asked of the database.
    public let query: FirebaseFirestore.Query
    private let dictionaryFilter: DictionaryFilter

    /// Makes documents of what this query finds.
    public convenience init(_ query: FirebaseFirestore.Query) {
      self.init(query, from: query, DictionaryFilter())
    }

    private init(
      _ query: FirebaseFirestore.Query, from original: FirebaseFirestore.Query,
      _ dictionaryFilter: DictionaryFilter
    ) {
      self.query = query
      _originalQuery = original
      self.dictionaryFilter = dictionaryFilter
    }

    func refined(_ query: FirebaseFirestore.Query) -> Query {
      Query(query, from: _originalQuery, dictionaryFilter)
    }

    /// A list that follows the query, once it listens.
    public func dataSource(option: Option = Option()) -> DataSource<T> {
      DataSource(reference: self, option: option)
    }

    /// The order that data sources keep, if nobody says otherwise.
    var order: DocumentOrder<T> { query.hasExplicitOrder ? .query(query) : .latestUpdate }

    // MARK: Predicates

    /// Only documents whose dictionaries satisfy the predicate. It is asked here and not by the database:
    /// limits and cursors count before it, and `query` does not know it. `filter(_:)` has no such limits.
    public func filter(using predicate: NSPredicate) -> Query {
      Query(query, from: _originalQuery, dictionaryFilter.adding(predicate))
    }

    var hasPredicates: Bool { !dictionaryFilter.isEmpty }

    func accepts(_ document: QueryDocumentSnapshot) -> Bool { dictionaryFilter.accepts(document) }

    // MARK: Asking the database

    /// Tells `listener` the results on the callback queue, until the registration is removed.
    @discardableResult
    public func listen(
      includeMetadataChanges: Bool = true, listener: @escaping FIRQuerySnapshotBlock
    ) -> any ListenerRegistration {
      guard hasPredicates else {
        return query.addSnapshotListener(includeMetadataChanges: includeMetadataChanges, listener: listener)
      }
      var told: QuerySnapshot?
      return query.addSnapshotListener(includeMetadataChanges: includeMetadataChanges) {
        [self] snapshot, error in
        guard let snapshot else { return listener(nil, error) }
        if let news = news(of: snapshot, after: &told) { listener(news, nil) }
      }
    }

    /// What the predicates let through; nil if what changed is among documents that nobody sees.
    fileprivate func news(of snapshot: QuerySnapshot, after told: inout QuerySnapshot?) -> QuerySnapshot? {
      guard hasPredicates else { return snapshot }
      let filtered = snapshot.filtered(after: told, accepts)
      let isNews = told.map { !filtered.hasSameContent(as: $0) } ?? true
      told = filtered
      return isNews ? filtered : nil
    }

    /// Reads once what the query finds.
    public func get(completion: @escaping FIRQuerySnapshotBlock) {
      guard hasPredicates else { return query.getDocuments(completion: completion) }
      query.getDocuments { [self] snapshot, error in completion(snapshot?.filtered(accepts), error) }
    }

    /// Reads once what the query finds.
    nonisolated(nonsending) public func get() async throws -> QuerySnapshot {
      let found = try await query.getDocuments()
      return hasPredicates ? found.filtered(accepts) : found
    }

    /// The results as they are, and then each time they change, as `listen` tells them:
    ///
    /// ```swift
    /// for try await snapshot in Document<Item>.order(by: "name").snapshots() {
    ///   print(snapshot.count)
    /// }
    /// ```
    ///
    /// An error of the database ends the loop.
    public func snapshots(includeMetadataChanges: Bool = true) -> SnapshotsSequence {
      SnapshotsSequence(query: self, includeMetadataChanges: includeMetadataChanges)
    }
  }
}

extension DataSource.Query {
  /// Each iterator listens by itself, until it is gone or its task is cancelled.
  public struct SnapshotsSequence: AsyncSequence {
    public typealias Element = QuerySnapshot
    public typealias Failure = any Error

    fileprivate let query: DataSource<T>.Query
    fileprivate let includeMetadataChanges: Bool

    public func makeAsyncIterator() -> Iterator {
      let found = query.query.snapshots(includeMetadataChanges: includeMetadataChanges)
      return Iterator(query: query, found: found.makeAsyncIterator())
    }

    /// Takes one state of the results after the other.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let query: DataSource<T>.Query
      fileprivate var found: FirebaseFirestore.Query.QuerySnapshotsSequence.Iterator
      private var told: QuerySnapshot?

      fileprivate init(
        query: DataSource<T>.Query, found: FirebaseFirestore.Query.QuerySnapshotsSequence.Iterator
      ) {
        self.query = query
        self.found = found
      }

      /// The next state; nil once the task is cancelled or the database terminated.
      public mutating func next() async throws -> QuerySnapshot? { try await next(isolation: nil) }

      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws(any Error) -> QuerySnapshot? {
        while let snapshot = try await found.next(isolation: actor) {
          if let news = query.news(of: snapshot, after: &told) { return news }
        }
        return nil
      }
    }
  }
}
