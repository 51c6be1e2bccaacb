// All documents of a store in the order of their paths.
//
// The store lists the documents of one collection id in this order. A stream merges the lists of all ids. It
// holds one page of each list, and the pages of all lists share a budget, so that memory does not grow with
// the store.

import DocumentStore

struct DocumentStream {
  static let pagesBytesMax = 8 << 20
  private static let pageBytesMin = 16 << 10
  private static let pageDocumentsMax = 500

  private struct List {
    var query: StructuredQuery
    var page: ArraySlice<PagedDocument> = []
    var isAtEnd = false
  }

  private let store: DocumentStore
  private let pageBytes: Int
  private var lists: [List]
  /// The list of the last document.
  private var current = 0
  /// The first document of all other lists.
  private var bound: PagedDocument?

  /// Reads the documents in collections with these ids, at a path or below it. An empty path is the whole
  /// store.
  init(
    _ store: DocumentStore, ids: [String], below segments: [String] = [], pagesBytes: Int = pagesBytesMax
  ) throws(DocumentStoreError) {
    self.store = store
    pageBytes = max(min(pagesBytes, Self.pageBytesMin), pagesBytes / max(1, ids.count))
    lists = []
    for id in ids {
      var query = try StructuredQuery(.collectionGroup(id)).ordered(by: OrderBy(.documentID))
      if !segments.isEmpty {
        query = try query.starting(.before, [Self.start(of: segments)])
          .ending(.before, [Self.end(of: segments)])
      }
      lists.append(List(query: try query.limited(to: .first(Self.pageDocumentsMax))))
      try fill(lists.count - 1)
    }
    choose()
  }

  /// The next document; nil at the end.
  mutating func next() throws(DocumentStoreError) -> PagedDocument? {
    guard lists.indices.contains(current), let next = lists[current].page.popFirst() else { return nil }
    if lists[current].page.isEmpty { try fill(current) }
    // The other lists are compared only if one of them may come before this one.
    let isBefore = lists[current].page.first.map { head in bound.map(head.precedes) ?? true } ?? false
    if !isBefore { choose() }
    return next
  }

  private mutating func fill(_ place: Int) throws(DocumentStoreError) {
    guard !lists[place].isAtEnd else { return }
    let page = try store.page(lists[place].query, bytesMax: pageBytes)
    lists[place].page = page[...]
    guard let last = page.last else {
      lists[place].isAtEnd = true
      return
    }
    lists[place].query = try lists[place].query.starting(.after, last.start)
  }

  /// Makes the list with the first document the current one.
  private mutating func choose() {
    var heads: [(place: Int, head: PagedDocument)] = []
    for place in lists.indices {
      if let head = lists[place].page.first { heads.append((place, head)) }
    }
    guard let first = heads.min(by: { $0.head.precedes($1.head) }) else { return }
    current = first.place
    bound = heads.filter { $0.place != first.place }.map(\.head).min { $0.precedes($1) }
  }

  // MARK: Places in the order of paths

  /// Precedes all other ids.
  private static let firstID = "__id\(Int64.min)__"

  /// Equals a document, or precedes everything in a collection.
  private static func start(of segments: [String]) -> StoredValue { place(segments) }

  /// Follows everything at or below the path, because nothing is between an id and that id with a zero byte
  /// appended.
  private static func end(of segments: [String]) -> StoredValue {
    place(segments.dropLast() + [(segments.last ?? "") + "\0"])
  }

  private static func place(_ segments: [String]) -> StoredValue {
    .string((segments.count % 2 == 0 ? segments : segments + [firstID]).joined(separator: "/"))
  }
}
