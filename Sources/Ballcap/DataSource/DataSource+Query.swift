// Queries whose documents are objects of one type.

public import FirebaseFirestore
public import Foundation

extension DataSource {
  /// A query, and the way to its data source. It never changes: each step makes a new one.
  public final class Query {
    /// Where the steps began.
    public let _originalQuery: FirebaseFirestore.Query
    /// What is asked of the database.
    public let query: FirebaseFirestore.Query
    private let predicates: [NSPredicate]

    /// Makes documents of what this query finds.
    public convenience init(_ query: FirebaseFirestore.Query) { self.init(query, from: query, []) }

    private init(
      _ query: FirebaseFirestore.Query, from original: FirebaseFirestore.Query, _ predicates: [NSPredicate]
    ) {
      self.query = query
      _originalQuery = original
      self.predicates = predicates
    }

    func refined(_ query: FirebaseFirestore.Query) -> Query {
      Query(query, from: _originalQuery, predicates)
    }

    /// A list that follows the query, once it listens.
    public func dataSource(option: Option = Option()) -> DataSource<T> {
      DataSource(reference: self, option: option)
    }

    /// The order that data sources keep, if nobody says otherwise.
    var order: DocumentOrder<T> { query.hasExplicitOrder ? .query(query) : .latestUpdate }

    // MARK: Predicates

    /// Only documents whose dictionaries satisfy the predicate. It is asked here and not by the database: limits and
    /// cursors count before it, and `query` does not know it. `filter(_:)` has no such limits.
    public func filter(using predicate: NSPredicate) -> Query {
      Query(query, from: _originalQuery, predicates + [predicate])
    }

    var hasPredicates: Bool { !predicates.isEmpty }

    func accepts(_ document: QueryDocumentSnapshot) -> Bool {
      guard hasPredicates else { return true }
      let fields = document.data(with: .estimate)
      return predicates.allSatisfy { $0.evaluate(with: fields) }
    }

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
        let filtered = snapshot.filtered(after: told, accepts)
        // What changed among documents that nobody sees is no news.
        let isNews = told.map { !filtered.hasSameContent(as: $0) } ?? true
        told = filtered
        if isNews { listener(filtered, nil) }
      }
    }

    /// Reads once what the query finds.
    public func get(completion: @escaping FIRQuerySnapshotBlock) {
      guard hasPredicates else { return query.getDocuments(completion: completion) }
      query.getDocuments { [self] snapshot, error in completion(snapshot?.filtered(accepts), error) }
    }
  }
}
