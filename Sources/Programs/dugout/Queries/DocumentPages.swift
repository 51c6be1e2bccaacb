// Reads the result of a query page by page, so that memory use is bounded and the command can be interrupted.

import DocumentStore

struct DocumentPages {
  static let pageDocuments = 1000
  /// A page of large documents ends earlier.
  static let pageBytes = 16 << 20

  let store: DocumentStore
  let query: StructuredQuery

  /// Returns an upper bound of the number of documents in all pages.
  func documentsMax() throws(DocumentStoreError) -> Int {
    switch query.limit {
    // Counting the matches would read as much as the pages do.
    case .first(let count), .last(let count): min(count, store.count)
    case nil: try store.count(query)
    }
  }

  /// Passes the pages to `body` in order, and each page's undecodable documents to `skipped`.
  /// `checkNotInterrupted` is called before each page and can end the iteration by throwing.
  func forEach(
    checkNotInterrupted: () throws(DocumentStoreError) -> Void, skipped: ([DocumentPath]) -> Void,
    _ body: ([StoredDocument]) -> Void
  ) throws(DocumentStoreError) {
    switch query.limit {
    case .last:
      // The query runs in reverse order, so all pages have to be read before the first one is passed on.
      var pages: [[StoredDocument]] = []
      try read(query.executableForm, checkNotInterrupted, skipped) { pages.append($0) }
      for page in pages.reversed() { body(page.reversed()) }
    case .first, nil: try read(query, checkNotInterrupted, skipped, body)
    }
  }

  private func read(
    _ query: StructuredQuery, _ checkNotInterrupted: () throws(DocumentStoreError) -> Void,
    _ skipped: ([DocumentPath]) -> Void, _ body: ([StoredDocument]) -> Void
  ) throws(DocumentStoreError) {
    var left = if case .first(let count) = query.limit { count } else { Int.max }
    var rest = query
    while true {
      try checkNotInterrupted()
      let count = min(left, Self.pageDocuments)
      let (page, undecodable, isCutOff) = try store.decodablePage(
        rest.limited(to: .first(count)), bytesMax: Self.pageBytes)
      body(page)
      skipped(undecodable)
      left -= page.count
      guard page.count == count || isCutOff, left > 0, let last = page.last else { return }
      do throws(DocumentStoreError) {
        rest = try rest.starting(.after, last)
      } catch {
        // A page cannot start at a pending timestamp, so all remaining documents are read at once.
        let all = rest.limit == nil ? rest : try rest.limited(to: .first(page.count + left))
        let (documents, undecodable) = try store.decodableDocuments(all)
        skipped(undecodable)
        return body(Array(documents.dropFirst(page.count)))
      }
    }
  }
}
