// The position of a reader that reads the result of a query page by page.

import DocumentStore

/// The rest of a query's result that has not been read yet.
///
/// Each page is a query of its own, which starts after the last document of the page before it. The position
/// consists of the values of that document, so it stays valid if the document is changed or deleted.
struct PageCursor: Sendable {
  /// The query, which starts at the present position. Its limit is that of the whole query.
  private var rest: StructuredQuery
  /// The number of documents that the limit still allows; nil if the query has no limit.
  private var remaining: Int?
  private let pageSize: Int
  /// The values of the last document that was read, one per order of the query; nil at the beginning.
  private(set) var position: [StoredValue]?
  /// Whether the end of the result has been read.
  private(set) var isAtEnd = false

  /// Creates a cursor at the beginning of the result. The query must not have a limit on the last documents.
  init(_ query: StructuredQuery, pageSize: Int) {
    rest = query
    if case .first(let count)? = query.limit { remaining = count }
    self.pageSize = pageSize
  }

  /// Continues after the first `count` documents of the result. The last of them has these values.
  mutating func resume(after position: [StoredValue], count: Int) {
    setPosition(position)
    remaining = remaining.map { $0 - count }
    isAtEnd = remaining.map { $0 <= 0 } ?? false
  }

  /// The query for the next page. Must not be called at the end.
  var page: StructuredQuery {
    get throws(DocumentStoreError) { try rest.limited(to: .first(pageLimit)) }
  }

  /// The query for all documents that have not been read. Must not be called at the end.
  var unread: StructuredQuery {
    get throws(DocumentStoreError) {
      guard let remaining else { return rest }
      return try rest.limited(to: .first(remaining))
    }
  }

  private var pageLimit: Int { min(pageSize, remaining ?? pageSize) }

  /// Moves past the documents of the next page. Throws if the last of them has no position in the order.
  mutating func advance(count: Int, last: StoredDocument?) throws(DocumentStoreError) {
    let isFull = count >= pageLimit
    if let last {
      guard let position = rest.position(of: last) else {
        throw .failedPrecondition("The document \(last.path) has no position in the order of its query.")
      }
      setPosition(position)
    }
    remaining = remaining.map { $0 - count }
    isAtEnd = !isFull || remaining == 0
  }

  private mutating func setPosition(_ position: [StoredValue]) {
    self.position = position
    rest.start = Cursor(.after, position)
  }
}
