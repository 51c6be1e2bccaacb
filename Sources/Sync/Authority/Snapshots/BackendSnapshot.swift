// A consistent view of all documents of a backend.

package import DocumentStore
package import OfflineSync

/// All documents at one point in time. Keeps the data of that time until `close`.
package protocol BackendSnapshot: AnyObject, Sendable {
  /// The time of the last commit that the view includes.
  var version: SnapshotVersion { get }

  /// The documents at the paths, in the order of the paths; nil for each that does not exist.
  func documents(at paths: [DocumentPath]) throws(RemoteError) -> [DocumentRecord?]

  /// The result of a query in pages. Callers pass a page on before they ask for the next one, so that the
  /// memory of a read does not grow with its result.
  func pages(_ query: StructuredQuery) throws(RemoteError) -> any BackendPages

  /// Computes aggregates over the result of a query, one value per aggregate.
  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(RemoteError) -> [StoredValue]

  /// The first documents of a scan, in the order of their names. The page is bounded in bytes and in work, so
  /// it can be empty before the end of the scan. It can have more than `documentsMax` documents if they are
  /// in memory anyway.
  func page(of scan: PathScan, documentsMax: Int) throws(RemoteError) -> PathPage

  /// The ids of the collections directly below a document, or of the root collections, in the order of names.
  /// A collection without documents is listed if a document is below it at any depth.
  func collections(below: DocumentPath?, after: String?, max: Int) throws(RemoteError) -> [String]

  /// The ids of the documents of a collection in the order of names, also of those that do not exist, but
  /// have documents below them.
  func documentIDs(in collection: CollectionPath, after: String?, max: Int) throws(RemoteError) -> [String]

  /// Paths that split the documents of a collection group into parts of about equal counts, in the order of
  /// names. Each path begins a part. There may be fewer than `max`.
  func splitPoints(ofGroup id: String, max: Int) throws(RemoteError) -> [DocumentPath]

  /// The indexes that a query reads, each once; nil stands for the names of all documents. Does not run it.
  func indexesUsed(by query: StructuredQuery) throws(RemoteError) -> [IndexDefinition?]

  func close()
}

extension BackendSnapshot {
  /// A snapshot that has no counts splits nothing.
  package func splitPoints(ofGroup id: String, max count: Int) throws(RemoteError) -> [DocumentPath] { [] }

  /// Calls `body` with each document of the result in order, until `body` returns false.
  package func forEach(_ query: StructuredQuery, _ body: (DocumentRecord) -> Bool) throws(RemoteError) {
    let pages = try pages(query)
    while true {
      let page = try pages.next()
      guard !page.isEmpty else { return }
      for record in page { guard body(record) else { return } }
    }
  }
}

/// The result of a query in pages, all from one snapshot. For one caller at a time.
package protocol BackendPages: AnyObject, Sendable {
  /// The next documents of the result in order; empty at its end. Fails after the end of the snapshot.
  func next() throws(RemoteError) -> [DocumentRecord]
}

/// A snapshot whose reads a later commit validates, except for lists of names.
package protocol BackendTransaction: BackendSnapshot {
  /// Commits mutations if every read would still give the same result, and ends the transaction. Throws
  /// `aborted` otherwise. Without mutations, the result is nil and nothing is validated, because all reads
  /// are from one snapshot.
  func commit(_ mutations: [Mutation], recording: CommitRecord?) throws(RemoteError) -> CommitOutcome?
}
