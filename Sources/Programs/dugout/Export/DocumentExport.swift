// Writes the documents of a store, or of a query, to a sink. Reads them in pages, so that memory use does not
// grow with the store.

import DocumentStore
import ObjectStore

struct DocumentExport {
  struct Outcome {
    var documents = 0
    /// The number of storage files, which an export does not contain.
    var files = 0
    /// Documents that were skipped because they cannot be decoded.
    var undecodable = Undecodable()
    /// Nothing was written, because undecodable documents might match a query with a limit.
    var isRefused = false
    /// The reason why no document was found.
    var hint: String?

    var remarks: [String] {
      let left =
        files == 0
        ? nil
        : "\(Wording.count(files, "file")) of the storage \(files == 1 ? "is" : "are") not in it; \"dugout backup\" "
          + "has everything."
      return [hint, left].compactMap { $0 }
    }
  }

  /// The number of documents that the queries of one pass have read.
  private struct Progress {
    let total: Int
    let start: ContinuousClock.Instant
    var done = 0
  }

  /// Each object of the storage has a record in one of these collections.
  private static let objects = StructuredQuery(.collectionGroup("__objects__"))

  private let store: DocumentStore
  private let query: StructuredQuery?
  private let line: ProgressLine

  init(_ store: DocumentStore, _ query: StructuredQuery?, line: ProgressLine) {
    self.store = store
    self.query = query
    self.line = line
  }

  /// Returns a refusal if undecodable documents might match a query with a limit; otherwise nil.
  func undecodableWithinLimit() throws(DocumentStoreError) -> Outcome? {
    guard let query, query.limit != nil else { return nil }
    var outcome = Outcome()
    let pages = DocumentPages(store: store, query: query)
    try pages.forEach(checkNotInterrupted: {}, skipped: { outcome.undecodable.add($0) }) { _ in }
    guard !outcome.undecodable.paths.isEmpty else { return nil }
    outcome.isRefused = true
    return outcome
  }

  func write(to sink: any DocumentSink) throws(DocumentStoreError) -> Outcome {
    var outcome = Outcome()
    if sink.examinesFirst {
      try forEach(for: sink, &outcome) { document throws(DocumentStoreError) in sink.examine(document) }
    }
    try sink.begin()
    var documents = 0
    try forEach(for: sink, &outcome) { document throws(DocumentStoreError) in
      try sink.write(document)
      documents += 1
    }
    outcome.documents = documents
    try sink.finish()
    if query == nil { outcome.files = try store.count(Self.objects) }
    return outcome
  }

  /// Visits the documents of users only. The store's own documents, such as records of files, cannot be
  /// imported.
  private func forEach(
    for sink: any DocumentSink, _ outcome: inout Outcome,
    _ body: (StoredDocument) throws(DocumentStoreError) -> Void
  ) throws(DocumentStoreError) {
    let start = ContinuousClock.now
    if let query {
      let total = try DocumentPages(store: store, query: query).documentsMax()
      var progress = Progress(total: total, start: start)
      try forEach(in: query, for: sink, progress: &progress, outcome: &outcome, body)
      return
    }
    var progress = Progress(total: store.count, start: start)
    for id in try store.collectionGroups() where PathArgument.isCollectionID(id) {
      let query = StructuredQuery(.collectionGroup(id))
      try forEach(in: query, for: sink, progress: &progress, outcome: &outcome, body)
    }
  }

  private func forEach(
    in query: StructuredQuery, for sink: any DocumentSink, progress: inout Progress, outcome: inout Outcome,
    _ body: (StoredDocument) throws(DocumentStoreError) -> Void
  ) throws(DocumentStoreError) {
    let pages = DocumentPages(store: store, query: query)
    var failure: DocumentStoreError?
    try pages.forEach(
      checkNotInterrupted: { () throws(DocumentStoreError) in
        if let failure { throw failure }
        try sink.checkNotInterrupted()
      }, skipped: { outcome.undecodable.add($0) }
    ) { documents in
      for document in documents where failure == nil && !document.path.isReserved {
        do throws(DocumentStoreError) { try body(document) } catch { failure = error }
      }
      progress.done += documents.count
      let done = progress.done
      let (all, seconds) = (
        UInt64(max(progress.total, done)), (ContinuousClock.now - progress.start) / .seconds(1)
      )
      line.show(
        UInt64(done), of: all,
        what: ProgressLine.pace(documents: done, seconds: seconds, done: UInt64(done), of: all))
    }
    if let failure { throw failure }
  }
}
