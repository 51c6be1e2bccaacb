// Queries whose documents are objects of one type, or links to such objects.

public import FirebaseFirestore
public import Foundation

extension DataSource {
  /// A query that creates data sources. It is immutable: each step returns a new query.
  public class Query: QuerySteps {
    public typealias QueryElement = T

    let query: FirebaseFirestore.Query
    let reference: CollectionReference
    /// Whether the documents are the objects themselves. False for links to them.
    let hasRealities: Bool
    private let predicates: [NSPredicate]
    /// The error that every read reports, because a step could not be encoded.
    private let failure: DocumentError?

    /// Creates a query of all documents of a collection.
    public convenience init(_ reference: CollectionReference, hasRealities: Bool = true) {
      self.init(reference, reference: reference, hasRealities: hasRealities)
    }

    /// Creates a query with the filters and orders of another, in a collection.
    public convenience init(
      _ query: FirebaseFirestore.Query, reference: CollectionReference, hasRealities: Bool = true
    ) {
      self.init(query, reference, hasRealities, [], nil)
    }

    private init(
      _ query: FirebaseFirestore.Query, _ reference: CollectionReference, _ hasRealities: Bool,
      _ predicates: [NSPredicate], _ failure: DocumentError?
    ) {
      self.query = query
      self.reference = reference
      self.hasRealities = hasRealities
      self.predicates = predicates
      self.failure = failure
    }

    public func refined(_ step: (FirebaseFirestore.Query) -> FirebaseFirestore.Query) -> DataSource<T>.Query {
      Query(step(query), reference, hasRealities, predicates, failure)
    }

    /// Returns this query in a form that fails when it runs.
    func failing(_ error: DocumentError) -> DataSource<T>.Query {
      Query(query, reference, hasRealities, predicates, failure ?? error)
    }

    /// Returns a list of the query. It is empty until it listens.
    public func dataSource(options: Options = Options()) -> DataSource<Element> {
      DataSource(reference: self, options: options)
    }

    /// Keeps only documents whose dictionaries satisfy the predicate. The predicate is evaluated here and
    /// not in the database, so limits and cursors count documents that it rejects.
    public func filter(using predicate: NSPredicate) -> DataSource<T>.Query {
      Query(query, reference, hasRealities, predicates + [predicate], failure)
    }

    func accepts(_ document: QueryDocumentSnapshot) -> Bool {
      guard !predicates.isEmpty else { return true }
      let fields = document.data(with: .estimate)
      return predicates.allSatisfy { $0.evaluate(with: fields) }
    }

    // MARK: Asking the database

    /// Calls the listener with the current result and after each change, until it is removed.
    public func listen(
      includeMetadataChanges: Bool = true, listener: @escaping FIRQuerySnapshotBlock
    ) -> any ListenerRegistration {
      if let failure { return FailedListening(failure, query.firestore.callbackQueue, listener) }
      return query.addSnapshotListener(includeMetadataChanges: includeMetadataChanges, listener: listener)
    }

    /// Reads the result once.
    public func get(completion: @escaping FIRQuerySnapshotBlock) {
      if let failure {
        _ = FailedListening(failure, query.firestore.callbackQueue, completion)
        return
      }
      query.getDocuments(completion: completion)
    }

    // MARK: Objects

    /// Reads the objects of the result, in its order. Links whose target does not exist are left out.
    func objects(_ block: @escaping (QuerySnapshot?, [T], (any Error)?) -> Void) {
      get { [self] snapshot, error in
        guard let snapshot else { return block(nil, [], error) }
        let documents = snapshot.documents.filter(accepts)
        let found = Found(count: documents.count) { block(snapshot, $0, nil) }
        for (index, document) in documents.enumerated() {
          object(of: document) { object, _ in found.put(object, index) }
        }
      }
    }

    /// Creates the object of a document at once, or loads the target of a link.
    func object(
      of document: QueryDocumentSnapshot, _ block: @escaping (T?, (any Error)?) -> Void
    ) {
      guard !hasRealities else { return block(T(snapshot: document), nil) }
      T.get(document.documentID) { object, error in
        guard let object else { return block(nil, error ?? DataSourceError(kind: .invalidReference)) }
        // The times of the link, if it has them.
        if let time = document.data(with: .estimate)["createdAt"] as? Timestamp { object.createdAt = time }
        if let time = document.data(with: .estimate)["updatedAt"] as? Timestamp { object.updatedAt = time }
        block(object, nil)
      }
    }

    /// Collects objects that arrive in any order.
    private final class Found {
      private var objects: [T?]
      private var missing: Int
      private let block: ([T]) -> Void

      init(count: Int, _ block: @escaping ([T]) -> Void) {
        objects = Array(repeating: nil, count: count)
        missing = count
        self.block = block
        if count == 0 { block([]) }
      }

      func put(_ object: T?, _ index: Int) {
        objects[index] = object
        missing -= 1
        if missing == 0 { block(objects.compactMap { $0 }) }
      }
    }
  }
}
