// The view that an app has of its database:
//
//   local document = remote document + pending local writes
//
// Without a remote, the store is server and cache at once: nothing is pending and nothing unknown, so
// that the view is the store.

internal import ByteStore
package import Dispatch
public import DocumentStore

/// Where a read may look.
public enum ReadSource: Sendable {
  /// The remote if it can be reached, or else what is here.
  case `default`
  /// The remote, or an error.
  case server
  /// What is here.
  case cache
}

/// A document as the app sees it, present or known to be absent.
public struct ViewedDocument: Sendable {
  /// Which document.
  public let path: DocumentPath
  package let record: DocumentRecord?
  /// Some write of this document has not reached the remote.
  public let hasPendingWrites: Bool
  /// The remote did not confirm that this is the newest state.
  public let isFromCache: Bool

  package init(
    path: DocumentPath, record: DocumentRecord?, hasPendingWrites: Bool, isFromCache: Bool
  ) {
    self.path = path
    self.record = record
    self.hasPendingWrites = hasPendingWrites
    self.isFromCache = isFromCache
  }

  /// As it is seen; nil if it is not there.
  public var document: StoredDocument? { record?.document }
}

/// The answer of a query as the app sees it.
public struct ViewedDocuments: Sendable {
  /// In the order of the query.
  public let documents: [ViewedDocument]
  /// The remote did not confirm that this is the newest state.
  public let isFromCache: Bool

  package init(_ documents: [ViewedDocument], isFromCache: Bool) {
    self.documents = documents
    self.isFromCache = isFromCache
  }
}

/// One database as its app sees it. Usable from any thread.
public final class LocalView: Sendable {
  /// What is below the view.
  public let store: DocumentStore
  let attached = Locked<SyncDriver?>(nil)
  /// Where the indexes are made that a user declares as a whole, one declaration after the other.
  package let indexConfiguration = DispatchQueue(label: "dugout.indexes.configuration")

  /// Begins a view of a store.
  public init(over store: DocumentStore) { self.store = store }

  /// Reads one document, with the writes that wait.
  public func document(
    at path: DocumentPath, source: ReadSource = .default
  ) throws(DocumentStoreError) -> ViewedDocument {
    let document = try store.document(at: path)
    return ViewedDocument(
      path: path, record: document.map { DocumentRecord($0) }, hasPendingWrites: document?.isPending ?? false,
      isFromCache: source == .cache)
  }

  /// The same as it is stored, for those who decode what they are asked for and no more.
  package func record(
    at path: DocumentPath, source: ReadSource = .default
  ) throws(DocumentStoreError) -> ViewedDocument {
    let record = try store.storedRecord(at: path)
    return ViewedDocument(
      path: path, record: record, hasPendingWrites: record.map(Self.isPending) ?? false,
      isFromCache: source == .cache)
  }

  /// Answers a query, with the writes that wait.
  public func documents(
    _ query: StructuredQuery, source: ReadSource = .default
  ) throws(DocumentStoreError) -> ViewedDocuments {
    Self.viewed(try store.records(query), source)
  }

  /// The same, or nil if an index would have to be made first: for those whose thread must not wait for that.
  package func readyDocuments(
    _ query: StructuredQuery, source: ReadSource = .default
  ) throws(DocumentStoreError) -> ViewedDocuments? {
    try store.readyRecords(query).map { Self.viewed($0, source) }
  }

  private static func viewed(_ records: [DocumentRecord], _ source: ReadSource) -> ViewedDocuments {
    let isFromCache = source == .cache
    return ViewedDocuments(
      records.map {
        ViewedDocument(
          path: $0.path, record: $0, hasPendingWrites: isPending($0), isFromCache: isFromCache)
      }, isFromCache: isFromCache)
  }

  /// With writes that a remote has not answered: without a remote, none is.
  private static func isPending(_ record: DocumentRecord) -> Bool { record.updateTime.microseconds == 0 }

  /// Over what the remote has, which without one is all there is.
  public func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(DocumentStoreError) -> [StoredValue] {
    try store.aggregate(aggregates, over: query)
  }

  /// The same, or nil if an index would have to be made first.
  package func readyAggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(DocumentStoreError) -> [StoredValue]? {
    try store.readyAggregate(aggregates, over: query)
  }

  /// Returns when the writes are durable and visible.
  @discardableResult
  public func write(_ mutations: [Mutation]) throws(DocumentStoreError) -> StoredTimestamp {
    try store.commit(mutations)
  }

  /// The first half of a write: its place in the order of all. Has to be followed by `finish`.
  package func begin(_ mutations: [Mutation]) throws(DocumentStoreError) -> CommitInProgress {
    try store.begin(mutations)
  }

  @discardableResult
  package func finish(_ write: CommitInProgress) throws(DocumentStoreError) -> StoredTimestamp {
    try store.finish(write)
  }

  /// Ends the view, and closes the store.
  public func close() throws(DocumentStoreError) {
    driver?.stop()
    try store.close()
  }
}
