// Queries whose documents are objects of one type.

public import FirebaseFirestore
public import Foundation

extension DataSource {
  /// A query, and the way to its data source. It never changes: each step makes a new one.
  public final class Query {
    /// Where the steps began.
    public let _originalQuery: FirebaseFirestore.Query
    public let query: FirebaseFirestore.Query
    private let predicates: [NSPredicate]

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

    public func dataSource(option: Option = Option()) -> DataSource<T> {
      DataSource(reference: self, option: option)
    }

    /// The order that data sources keep, if nobody says otherwise.
    var order: DocumentOrder<T> { query.hasExplicitOrder ? .query(query) : .latestUpdate }

    // MARK: Predicates

    /// Only documents whose dictionaries satisfy the predicate are in data sources of this query. It is asked here and
    /// not by the database: limits and cursors count before it, and `get` and `listen` of the query itself do not ask
    /// it. `filter(_:)` has no such limits.
    public func filter(using predicate: NSPredicate) -> Query {
      Query(query, from: _originalQuery, predicates + [predicate])
    }

    var hasPredicates: Bool { !predicates.isEmpty }

    func accepts(_ document: QueryDocumentSnapshot) -> Bool {
      let fields = document.data(with: .estimate)
      return predicates.allSatisfy { $0.evaluate(with: fields) }
    }

    // MARK: Asking the database

    /// Tells `listener` the results on the callback queue, until the registration is removed.
    @discardableResult
    public func listen(
      includeMetadataChanges: Bool = true, listener: @escaping FIRQuerySnapshotBlock
    ) -> any ListenerRegistration {
      query.addSnapshotListener(includeMetadataChanges: includeMetadataChanges, listener: listener)
    }

    public func get(completion: @escaping FIRQuerySnapshotBlock) {
      query.getDocuments(completion: completion)
    }
  }
}
