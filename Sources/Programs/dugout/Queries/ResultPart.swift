// The part of a query's result that a command shows, and how much there is in all.

import DocumentStore

struct ResultPart {
  enum Total: Equatable {
    case exactly(Int)
    /// Counting all of them would have taken too long.
    case moreThan(Int)
  }

  let documents: [StoredDocument]
  /// The number of documents before the part.
  let offset: Int
  private let query: StructuredQuery

  /// Documents beyond the part are counted up to this number if an index does not tell it.
  static let countedMax = 10_000

  /// Reads the result without its first documents. For a limit on the last documents, these are the last
  /// ones.
  init(of query: StructuredQuery, after offset: Int, from store: DocumentStore) throws(DocumentStoreError) {
    self.query = query
    self.offset = offset
    documents = try Self.read(query, offset, from: store)
  }

  private static func read(
    _ query: StructuredQuery, _ offset: Int, from store: DocumentStore
  ) throws(DocumentStoreError) -> [StoredDocument] {
    guard offset > 0 else { return try store.documents(query) }
    func widened(_ count: Int) -> Int {
      let (sum, overflow) = count.addingReportingOverflow(offset)
      return overflow ? .max : sum
    }
    let all: StructuredQuery
    switch query.limit {
    case .last(let count):
      return try store.documents(query.limited(to: .last(widened(count)))).dropLast(offset)
    case .first(let count): all = try query.limited(to: .first(widened(count)))
    case nil: all = query
    }
    // The documents of the offset are not kept.
    var (left, hasSkipped) = (offset, false)
    var documents: [StoredDocument] = []
    try DocumentPages(store: store, query: all).forEach(
      checkNotInterrupted: {}, skipped: { if !$0.isEmpty { hasSkipped = true } }
    ) { page in
      documents += page.dropFirst(left)
      left = max(0, left - page.count)
    }
    // This read fails because of the undecodable document, as it does without an offset.
    return hasSkipped ? try store.documents(all).dropFirst(offset).map { $0 } : documents
  }

  /// The number of documents without limit and offset.
  func total(in store: DocumentStore) throws(DocumentStoreError) -> Total {
    let shown = documents.count
    let isCut: Bool
    switch query.limit {
    case .first(let count), .last(let count): isCut = shown >= count
    case nil: isCut = false
    }
    if !isCut, shown > 0 || offset == 0 { return .exactly(offset + shown) }
    let first = try store.explain([.count], over: query.limited(to: .first(1)))
    guard first.isFiltered || first.isSorted else {
      return .exactly(try store.count(query.limited(to: .first(.max))))
    }
    let (countedMax, overflow) = (offset + shown).addingReportingOverflow(Self.countedMax)
    let counted = try store.count(query.limited(to: .first(overflow ? .max : countedMax)))
    return counted < countedMax ? .exactly(counted) : .moreThan(counted)
  }
}
