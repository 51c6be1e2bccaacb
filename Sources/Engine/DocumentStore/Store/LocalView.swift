// An app's view of its database:
//
//   local document = remote document + pending local writes
//
// Without a remote, the store is server and cache in one. No document is pending or unknown, so the view
// equals the store.

package import Dispatch

/// The places where a read may look.
public enum ReadSource: Sendable {
  /// The remote if it can be reached, otherwise the cache.
  case `default`
  /// The remote only; the read fails if it cannot be reached.
  case server
  /// The cache only.
  case cache
}

/// A document as the app sees it: present, or known to be absent.
public struct ViewedDocument: Sendable {
  /// The path of the document.
  public let path: DocumentPath
  package let record: DocumentRecord?
  /// Whether the document has a write that has not reached the remote.
  public let hasPendingWrites: Bool
  /// Whether the remote has not confirmed that this document is current.
  public let isFromCache: Bool

  package init(
    path: DocumentPath, record: DocumentRecord?, hasPendingWrites: Bool, isFromCache: Bool
  ) {
    self.path = path
    self.record = record
    self.hasPendingWrites = hasPendingWrites
    self.isFromCache = isFromCache
  }

  /// The decoded document; nil if it does not exist.
  public var document: StoredDocument? { record?.document }
}

/// The result of a query as the app sees it.
public struct ViewedDocuments: Sendable {
  /// The documents in the order of the query.
  public let documents: [ViewedDocument]
  /// Whether the remote has not confirmed that this result is current.
  public let isFromCache: Bool

  package init(_ documents: [ViewedDocument], isFromCache: Bool) {
    self.documents = documents
    self.isFromCache = isFromCache
  }
}

/// The local view of one database. Usable from any thread.
public final class LocalView: Sendable {
  /// The store below the view.
  public let store: DocumentStore
  /// The serial queue on which indexes are created and dropped, and on which the queries run that need a new
  /// index first.
  package let indexes = DispatchQueue(label: "dugout.indexes")

  /// Creates a view of a store.
  public init(over store: DocumentStore) { self.store = store }

  /// Reads one document, including pending writes.
  public func document(
    at path: DocumentPath, source: ReadSource = .default
  ) throws(DocumentStoreError) -> ViewedDocument {
    let document = try store.document(at: path)
    return ViewedDocument(
      path: path, record: document.map { DocumentRecord($0) }, hasPendingWrites: document?.isPending ?? false,
      isFromCache: source == .cache)
  }

  /// Reads one document in its encoded form, for callers that decode single fields.
  package func record(
    at path: DocumentPath, source: ReadSource = .default
  ) throws(DocumentStoreError) -> ViewedDocument {
    let record = try store.storedRecord(at: path)
    return ViewedDocument(
      path: path, record: record, hasPendingWrites: record.map(Self.isPending) ?? false,
      isFromCache: source == .cache)
  }

  /// Runs a query, including pending writes.
  public func documents(
    _ query: StructuredQuery, source: ReadSource = .default
  ) throws(DocumentStoreError) -> ViewedDocuments {
    Self.viewed(try store.records(query), source)
  }

  /// Runs a query, or returns nil if an index would have to be built first. Intended for threads that must
  /// not wait for a build.
  package func documentsIfIndexed(
    _ query: StructuredQuery, source: ReadSource = .default
  ) throws(DocumentStoreError) -> ViewedDocuments? {
    try store.recordsIfIndexed(query).map { Self.viewed($0, source) }
  }

  /// Runs a query on a snapshot of the store.
  package func documents(
    _ query: StructuredQuery, in snapshot: StoreSnapshot, source: ReadSource = .default
  ) throws(DocumentStoreError) -> ViewedDocuments {
    Self.viewed(try snapshot.records(query), source)
  }

  private static func viewed(_ records: [DocumentRecord], _ source: ReadSource) -> ViewedDocuments {
    let isFromCache = source == .cache
    return ViewedDocuments(
      records.map {
        ViewedDocument(
          path: $0.path, record: $0, hasPendingWrites: isPending($0), isFromCache: isFromCache)
      }, isFromCache: isFromCache)
  }

  /// Whether the document has writes that the remote has not acknowledged. Always false without a remote.
  private static func isPending(_ record: DocumentRecord) -> Bool { record.updateTime.microseconds == 0 }

  /// Aggregates the store's documents.
  public func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(DocumentStoreError) -> [StoredValue] {
    try store.aggregate(aggregates, over: query)
  }

  /// Computes an aggregation, or returns nil if an index would have to be built first.
  package func aggregateIfIndexed(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(DocumentStoreError) -> [StoredValue]? {
    try store.aggregateIfIndexed(aggregates, over: query)
  }

  /// Commits writes. When this returns, they are durable and visible.
  @discardableResult
  public func write(_ mutations: [Mutation]) throws(DocumentStoreError) -> StoredTimestamp {
    try store.commit(mutations)
  }

  /// Starts a write and assigns its position in the commit order. The caller must call `finish`.
  package func begin(_ mutations: [Mutation]) throws(DocumentStoreError) -> CommitInProgress {
    try store.begin(mutations)
  }

  @discardableResult
  package func finish(_ write: CommitInProgress) throws(DocumentStoreError) -> StoredTimestamp {
    try store.finish(write)
  }

  /// Closes the store.
  public func close() throws(DocumentStoreError) { try store.close() }
}

extension StoredDocument {
  /// Whether the document has a pending write. Valid for documents that were read from the store of local
  /// views.
  package var isPending: Bool { updateTime.microseconds == 0 }
}
