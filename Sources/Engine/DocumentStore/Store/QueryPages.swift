// The result of a query in pages, for callers that pass documents on while they read.
//
//   1. an ordered plan     the next page begins behind the last document of the page
//   2. any other plan      has to find all matches before it knows the first one. Their ordinals are kept,
//                          and a page reads the next ones

/// The result of a query in one snapshot, in pages of bounded size. Not for concurrent use.
///
/// All pages are from the same snapshot. A page has records of `pageBytes` in memory, and one document at
/// least. In addition, a plan without an order keeps four bytes for each document of the result.
package struct QueryPages: Sendable {
  /// The standard size of a page. A small one, so that the first documents are returned early.
  package static let pageBytesStandard = 1 << 18

  private enum Rest: Sendable {
    case query(StructuredQuery)
    /// The documents of the result that were not returned, in the order of `query`.
    case ordinals(ArraySlice<UInt32>, query: StructuredQuery)
    case none
  }

  private let snapshot: StoreSnapshot
  private let pageBytes: Int
  private var rest: Rest
  /// The next page, if it was read ahead.
  private var readAhead: [DocumentRecord]?

  fileprivate init(_ query: StructuredQuery, in snapshot: StoreSnapshot, pageBytes: Int) {
    self.snapshot = snapshot
    self.pageBytes = pageBytes
    rest = .query(query)
  }

  /// The next documents of the result; empty at its end.
  package mutating func next() throws(DocumentStoreError) -> [DocumentRecord] {
    if let page = readAhead {
      readAhead = nil
      return page
    }
    switch rest {
    case .none: return []
    case .query(let query): return try nextPage(of: query)
    case .ordinals(let ordinals, let query): return try nextPage(of: query, ordinals)
    }
  }

  /// Reads the first page ahead. Returns the whole result if it fits into the page; otherwise nil.
  mutating func wholeResult() throws(DocumentStoreError) -> [StoredDocument]? {
    let documents = try next().map(\.document)
    readAhead = documents.map { DocumentRecord($0) }
    if case .none = rest { return documents }
    return nil
  }

  private mutating func nextPage(of query: StructuredQuery) throws(DocumentStoreError) -> [DocumentRecord] {
    // The documents behind the limit are found from the end of the result.
    if case .last = query.limit {
      rest = .none
      return try snapshot.records(query)
    }
    let pageBytes = pageBytes
    let (page, ordinals, isCutOff) = try snapshot.run(query) {
      run throws(DocumentStoreError) -> ([DocumentRecord], [UInt32], Bool) in
      if run.isOrdered {
        let page = try run.records(bytesMax: pageBytes)
        return (page.records, [], page.isCutOff)
      }
      let ordinals = try run.gatheredOrdinals()
      return ([], ordinals, false)
    }
    guard ordinals.isEmpty else { return try nextPage(of: query, ordinals[...]) }
    rest = isCutOff ? try Self.rest(of: query, behind: page) : .none
    return page
  }

  private mutating func nextPage(
    of query: StructuredQuery, _ ordinals: ArraySlice<UInt32>
  ) throws(DocumentStoreError) -> [DocumentRecord] {
    let pageBytes = pageBytes
    let page = try snapshot.run(query) { run throws(DocumentStoreError) in
      try run.records(of: ordinals, bytesMax: pageBytes)
    }
    let left = ordinals.dropFirst(page.count)
    rest = left.isEmpty || page.isEmpty ? .none : .ordinals(left, query: query)
    return page
  }

  /// The query for the documents behind a page.
  private static func rest(
    of query: StructuredQuery, behind page: [DocumentRecord]
  ) throws(DocumentStoreError) -> Rest {
    guard let last = page.last else { return .none }
    var rest = try query.skipping(0)
    if case .first(let count) = query.limit {
      guard count > page.count else { return .none }
      rest = try rest.limited(to: .first(count - page.count))
    }
    let position = query.orders.map { order in
      order.field == .documentID ? .documentName(last.path) : last.value(at: order.field) ?? .null
    }
    rest.start = Cursor(.after, position)
    return .query(rest)
  }
}

extension StoreSnapshot {
  /// The result of a query in pages.
  package func pages(
    _ query: StructuredQuery, pageBytes: Int = QueryPages.pageBytesStandard
  ) -> QueryPages {
    QueryPages(query, in: self, pageBytes: pageBytes)
  }
}
