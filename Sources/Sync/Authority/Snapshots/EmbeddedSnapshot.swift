// Reads of a store at one point in time: a snapshot, or a transaction.

internal import ByteStore
internal import DocumentStore
internal import OfflineSync

/// A snapshot of the store.
final class EmbeddedSnapshot: BackendSnapshot {
  private let snapshot: StoreSnapshot

  init(_ snapshot: StoreSnapshot) { self.snapshot = snapshot }

  var version: SnapshotVersion { snapshot.time.map { SnapshotVersion($0) } ?? .first }

  func documents(at paths: [DocumentPath]) throws(RemoteError) -> [DocumentRecord?] {
    try translating { () throws(DocumentStoreError) in
      try paths.map { path throws(DocumentStoreError) in try snapshot.storedRecord(at: path) }
    }
  }

  func pages(_ query: StructuredQuery) throws(RemoteError) -> any BackendPages {
    EmbeddedPages(snapshot.pages(query))
  }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(RemoteError) -> [StoredValue] {
    try translating { () throws(DocumentStoreError) in try snapshot.aggregate(aggregates, over: query) }
  }

  func page(of scan: PathScan, documentsMax: Int) throws(RemoteError) -> PathPage {
    try translating { () throws(DocumentStoreError) in
      try snapshot.page(of: scan, documentsMax: documentsMax)
    }
  }

  func collections(
    below document: DocumentPath?, after: String?, max count: Int
  ) throws(RemoteError) -> [String] {
    try translating { () throws(DocumentStoreError) in
      try snapshot.collectionIDs(below: document, after: after, max: count)
    }
  }

  func documentIDs(
    in collection: CollectionPath, after: String?, max count: Int
  ) throws(RemoteError) -> [String] {
    try translating { () throws(DocumentStoreError) in
      try snapshot.documentIDs(in: collection, after: after, max: count)
    }
  }

  func splitPoints(ofGroup id: String, max count: Int) throws(RemoteError) -> [DocumentPath] {
    try translating { () throws(DocumentStoreError) in
      try snapshot.splitPoints(ofGroup: id, max: count)
    }
  }

  func indexesUsed(by query: StructuredQuery) throws(RemoteError) -> [IndexDefinition?] {
    try translating { () throws(DocumentStoreError) in try snapshot.indexesUsed(by: query) }
  }

  func close() { snapshot.close() }
}

/// One attempt of a transaction.
final class EmbeddedTransaction: BackendTransaction {
  let version: SnapshotVersion
  private let transaction: StoreTransaction

  init(_ store: DocumentStore) throws(DocumentStoreError) {
    transaction = try store.beginTransaction()
    version = transaction.time.map { SnapshotVersion($0) } ?? .first
  }

  func documents(at paths: [DocumentPath]) throws(RemoteError) -> [DocumentRecord?] {
    try translating { () throws(DocumentStoreError) in
      try paths.map { path throws(DocumentStoreError) in
        try transaction.document(at: path).map { DocumentRecord($0) }
      }
    }
  }

  func pages(_ query: StructuredQuery) throws(RemoteError) -> any BackendPages {
    EmbeddedPages(try translating { () throws(DocumentStoreError) in try transaction.pages(query) })
  }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(RemoteError) -> [StoredValue] {
    try translating { () throws(DocumentStoreError) in
      try transaction.aggregate(aggregates, over: query)
    }
  }

  func page(of scan: PathScan, documentsMax: Int) throws(RemoteError) -> PathPage {
    try translating { () throws(DocumentStoreError) in
      try transaction.page(of: scan, documentsMax: documentsMax)
    }
  }

  func collections(
    below document: DocumentPath?, after: String?, max count: Int
  ) throws(RemoteError) -> [String] {
    try translating { () throws(DocumentStoreError) in
      try transaction.collectionIDs(below: document, after: after, max: count)
    }
  }

  func documentIDs(
    in collection: CollectionPath, after: String?, max count: Int
  ) throws(RemoteError) -> [String] {
    try translating { () throws(DocumentStoreError) in
      try transaction.documentIDs(in: collection, after: after, max: count)
    }
  }

  func commit(_ mutations: [Mutation], recording: CommitRecord?) throws(RemoteError) -> CommitOutcome? {
    do throws(DocumentStoreError) {
      try transaction.add(mutations)
      return try transaction.commit(recording: recording)
    } catch {
      transaction.end()
      throw RemoteError(ofCommit: error)
    }
  }

  /// Starts a commit like `DocumentStore.beginCommit`, and ends the transaction.
  func begin(
    _ mutations: [Mutation], recording record: CommitRecord?, in store: DocumentStore
  ) throws(DocumentStoreError) -> OutcomeInProgress {
    do throws(DocumentStoreError) {
      try transaction.add(mutations)
      if let begun = try transaction.beginCommit(recording: record) { return begun }
      // Without mutations, all reads are from one snapshot and hold there.
      return try store.beginCommit([], recording: record)
    } catch {
      transaction.end()
      throw error
    }
  }

  func indexesUsed(by query: StructuredQuery) throws(RemoteError) -> [IndexDefinition?] {
    try translating { () throws(DocumentStoreError) in try transaction.indexesUsed(by: query) }
  }

  func close() { transaction.end() }
}

/// The pages of a query in a snapshot of the store.
final class EmbeddedPages: BackendPages {
  private let pages: Locked<QueryPages>

  init(_ pages: QueryPages) { self.pages = Locked(pages) }

  func next() throws(RemoteError) -> [DocumentRecord] {
    try translating { () throws(DocumentStoreError) in
      try pages.withLock { pages throws(DocumentStoreError) in try pages.next() }
    }
  }
}
