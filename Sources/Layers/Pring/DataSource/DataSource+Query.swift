// Queries whose documents are objects of one type, or links to some.

public import FirebaseFirestore
public import Foundation

extension DataSource {
  /// A query, and the way to its data source. It never changes: each step makes a new one.
  public class Query: QuerySteps {
    public typealias QueryElement = T

    let query: FirebaseFirestore.Query
    let reference: CollectionReference
    /// Whether what it finds are the objects, and not links to them.
    let hasRealities: Bool
    private let predicates: [NSPredicate]
    /// Told in place of an answer, if a step could not be made.
    private let failure: DocumentError?

    /// All of a collection.
    public convenience init(_ reference: CollectionReference, hasRealities: Bool = true) {
      self.init(reference, reference: reference, hasRealities: hasRealities)
    }

    /// What a query finds, in a collection.
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

    /// A list that follows the query, once it listens.
    public func dataSource(options: Options = Options()) -> DataSource<Element> {
      DataSource(reference: self, options: options)
    }

    /// Only documents whose dictionaries satisfy the predicate are in data sources. It is asked here and not by the
    /// database: limits and cursors count before it.
    public func filter(using predicate: NSPredicate) -> DataSource<T>.Query {
      Query(query, reference, hasRealities, predicates + [predicate], failure)
    }

    func accepts(_ document: QueryDocumentSnapshot) -> Bool {
      guard !predicates.isEmpty else { return true }
      let fields = document.data(with: .estimate)
      return predicates.allSatisfy { $0.evaluate(with: fields) }
    }

    // MARK: Asking the database

    /// Calls the listener at once and after each change, until it is removed.
    public func listen(
      includeMetadataChanges: Bool = true, listener: @escaping FIRQuerySnapshotBlock
    ) -> any ListenerRegistration {
      if let failure { return FailedListening(failure, query.firestore.callbackQueue, listener) }
      return query.addSnapshotListener(includeMetadataChanges: includeMetadataChanges, listener: listener)
    }

    /// Reads once what the query finds.
    public func get(completion: @escaping FIRQuerySnapshotBlock) {
      if let failure {
        _ = FailedListening(failure, query.firestore.callbackQueue, completion)
        return
      }
      query.getDocuments(completion: completion)
    }

    // MARK: Objects

    /// The objects behind what the query finds, in its order; links to nothing are left out.
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

    /// The object of a document, or behind a link. Answers at once if it is the former.
    func object(
      of document: QueryDocumentSnapshot, _ block: @escaping (T?, (any Error)?) -> Void
    ) {
      guard !hasRealities else { return block(T(snapshot: document), nil) }
      T.get(document.documentID) { object, error in
        guard let object else { return block(nil, error ?? DataSourceError(kind: .invalidReference)) }
        // Those of the link, as far as it has them.
        if let time = document.data(with: .estimate)["createdAt"] as? Timestamp { object.createdAt = time }
        if let time = document.data(with: .estimate)["updatedAt"] as? Timestamp { object.updatedAt = time }
        block(object, nil)
      }
    }

    /// Objects that arrive in any order.
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
