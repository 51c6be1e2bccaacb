// Queries whose documents are objects of one type, or links to such objects.

public import FirebaseFirestore
public import Foundation
import LayerKit

extension DataSource {
  /// A query that creates data sources. It is immutable: each step returns a new query.
  public class Query: QuerySteps {
    public typealias QueryElement = T

    let query: FirebaseFirestore.Query
    let reference: CollectionReference
    /// Whether the documents are the objects themselves. False if they are links to the objects.
    let hasRealities: Bool
    private let dictionaryFilter: DictionaryFilter
    /// The error of a step that could not be encoded. Every read fails with this error.
    private let failure: DocumentError?

    /// Creates a query of all documents of a collection.
    public convenience init(_ reference: CollectionReference, hasRealities: Bool = true) {
      self.init(reference, reference: reference, hasRealities: hasRealities)
    }

    /// Creates a query with the filters and orders of another query. `reference` is the collection of that
    /// query.
    public convenience init(
      _ query: FirebaseFirestore.Query, reference: CollectionReference, hasRealities: Bool = true
    ) {
      self.init(query, reference, hasRealities: hasRealities, filter: DictionaryFilter(), failure: nil)
    }

    private init(
      _ query: FirebaseFirestore.Query, _ reference: CollectionReference, hasRealities: Bool,
      filter dictionaryFilter: DictionaryFilter, failure: DocumentError?
    ) {
      self.query = query
      self.reference = reference
      self.hasRealities = hasRealities
      self.dictionaryFilter = dictionaryFilter
      self.failure = failure
    }

    public func refined(_ step: (FirebaseFirestore.Query) -> FirebaseFirestore.Query) -> DataSource<T>.Query {
      Query(
        step(query), reference, hasRealities: hasRealities, filter: dictionaryFilter, failure: failure)
    }

    /// Returns a copy of this query that fails when it runs.
    func failing(_ error: DocumentError) -> DataSource<T>.Query {
      Query(
        query, reference, hasRealities: hasRealities, filter: dictionaryFilter, failure: failure ?? error)
    }

    /// Returns a list of the query's objects. The list is empty until `listen` or `get` is called.
    public func dataSource(options: Options = Options()) -> DataSource<Element> {
      DataSource(reference: self, options: options)
    }

    /// Keeps only documents whose dictionaries satisfy the predicate. The predicate is evaluated after the
    /// database has returned the result, so limits and cursors also count rejected documents.
    public func filter(using predicate: NSPredicate) -> DataSource<T>.Query {
      Query(
        query, reference, hasRealities: hasRealities, filter: dictionaryFilter.adding(predicate),
        failure: failure)
    }

    func accepts(_ document: QueryDocumentSnapshot) -> Bool { dictionaryFilter.accepts(document) }

    // MARK: Reads and listeners

    /// Calls the listener with the current result and after each change, until the registration is removed.
    public func listen(
      includeMetadataChanges: Bool = true, listener: @escaping FIRQuerySnapshotBlock
    ) -> any ListenerRegistration {
      if let failure { return FailedListening(failure, query.firestore.callbackQueue, listener: listener) }
      return query.addSnapshotListener(includeMetadataChanges: includeMetadataChanges, listener: listener)
    }

    /// Reads the result once.
    public func get(completion: @escaping FIRQuerySnapshotBlock) {
      if let failure {
        _ = FailedListening(failure, query.firestore.callbackQueue, listener: completion)
        return
      }
      query.getDocuments(completion: completion)
    }

    // MARK: Objects

    /// Reads the objects of the result, in the order of the result. Links whose target does not exist are
    /// left out.
    func objects(_ block: @escaping (QuerySnapshot?, [T], (any Error)?) -> Void) {
      get { [self] snapshot, error in
        guard let snapshot else { return block(nil, [], error) }
        let documents = snapshot.documents.filter(accepts)
        guard !documents.isEmpty else { return block(snapshot, [], nil) }
        let found = PendingChanges<T>(snapshot, documents.map { PendingChange(kind: .added, document: $0) })
        for (index, document) in documents.enumerated() {
          object(of: document) { object, _ in
            if found.answer(index, object) { block(snapshot, found.take().compactMap(\.element), nil) }
          }
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
        // The object takes the times of the link, if the link has times.
        if let time = document.data(with: .estimate)["createdAt"] as? Timestamp { object.createdAt = time }
        if let time = document.data(with: .estimate)["updatedAt"] as? Timestamp { object.updatedAt = time }
        block(object, nil)
      }
    }
  }
}
