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

  func forEach(_ query: StructuredQuery, _ body: (DocumentRecord) -> Bool) throws(RemoteError) {
    let records = try translating { () throws(DocumentStoreError) in try snapshot.records(query) }
    for record in records { guard body(record) else { return } }
  }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(RemoteError) -> [StoredValue] {
    try translating { () throws(DocumentStoreError) in try snapshot.aggregate(aggregates, over: query) }
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

  func forEach(_ query: StructuredQuery, _ body: (DocumentRecord) -> Bool) throws(RemoteError) {
    let documents = try translating { () throws(DocumentStoreError) in try transaction.documents(query) }
    for document in documents { guard body(DocumentRecord(document)) else { return } }
  }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(RemoteError) -> [StoredValue] {
    try translating { () throws(DocumentStoreError) in
      try transaction.aggregate(aggregates, over: query)
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

  func close() { transaction.end() }
}
