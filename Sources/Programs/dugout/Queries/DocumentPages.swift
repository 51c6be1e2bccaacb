// The answer of a query a page at a time: no more of it is in memory, and between two pages somebody may ask to end it.

import DocumentStore

struct DocumentPages {
  static let pageDocuments = 1000

  let store: DocumentStore
  let query: StructuredQuery

  /// So many documents, or fewer, are in all pages.
  func documentsMax() throws(DocumentStoreError) -> Int {
    switch query.limit {
    // To count those in it would read as much as the pages do.
    case .first(let count), .last(let count): min(count, store.count)
    case nil: try store.count(query)
    }
  }

  /// Hands over the pages in order, and with each the documents of it that cannot be decoded. `goOn` is asked before
  /// each is read, and ends it by throwing.
  func forEach(
    goOn: () throws(DocumentStoreError) -> Void, skipped: ([DocumentPath]) -> Void,
    _ body: ([StoredDocument]) -> Void
  ) throws(DocumentStoreError) {
    switch query.limit {
    case .last:
      // The last one comes first: nothing can be handed over before all are there.
      var pages: [[StoredDocument]] = []
      try read(query.executableForm, goOn, skipped) { pages.append($0) }
      for page in pages.reversed() { body(page.reversed()) }
    case .first, nil: try read(query, goOn, skipped, body)
    }
  }

  private func read(
    _ query: StructuredQuery, _ goOn: () throws(DocumentStoreError) -> Void,
    _ skipped: ([DocumentPath]) -> Void, _ body: ([StoredDocument]) -> Void
  ) throws(DocumentStoreError) {
    var left = if case .first(let count) = query.limit { count } else { Int.max }
    var rest = query
    while true {
      try goOn()
      let count = min(left, Self.pageDocuments)
      let (page, undecodable) = try store.decodableDocuments(rest.limited(to: .first(count)))
      body(page)
      skipped(undecodable)
      left -= page.count
      guard page.count == count, left > 0, let last = page.last else { return }
      do throws(DocumentStoreError) {
        rest = try rest.starting(.after, last)
      } catch {
        // No page begins at a time that a remote has still to set.
        let all = rest.limit == nil ? rest : try rest.limited(to: .first(count + left))
        let (documents, undecodable) = try store.decodableDocuments(all)
        skipped(undecodable)
        return body(Array(documents.dropFirst(count)))
      }
    }
  }
}
