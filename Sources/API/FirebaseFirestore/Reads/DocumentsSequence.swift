// Reads the results of a query one page at a time.
//
// A reader in snapshot mode pins one snapshot of the store, and each page is a query on that snapshot. A
// reader in live mode runs each page like `getDocuments()`. In both modes, memory holds at most one page.
//
// The last documents of a query (`limit(toLast:)`) are at the end of its order. The reader first runs through
// them backwards, to find the first of them, and then returns them in the order of the query.

private import ByteStore
import DocumentStore
private import FirebaseCore
private import Foundation

extension Firestore {
  /// The documents of `query`, read one page at a time. Memory holds at most one page of them.
  ///
  /// ```swift
  /// let firestore = Firestore.firestore()
  /// var total = 0
  /// for try await order in firestore.documents(in: firestore.collection("orders"), pageSize: 1000) {
  ///   total += order["total"] as? Int ?? 0
  /// }
  /// ```
  ///
  /// By default, all pages show one state of the database: the state at the time when the loop asks for the
  /// first document, including all writes issued before. The loop does not see later writes, also not its
  /// own. With the consistency `.live`, each page shows the state at the time when the page is read.
  ///
  /// The query may have filters, orders, cursors and a limit. A query with `limit(toLast:)` is read twice.
  /// Traps if `query` belongs to another database, or if `pageSize` is less than 1.
  public func documents(
    in query: Query, pageSize: Int = 500, consistency: Query.DocumentsSequence.Consistency = .snapshot
  ) -> Query.DocumentsSequence {
    if query.firestore !== self {
      ProgrammerError.report("Provided query is from a different Cloud Firestore instance.")
    } else if pageSize > 0 {
      return Query.DocumentsSequence(query, pageSize: pageSize, consistency: consistency)
    } else {
      ProgrammerError.report("Invalid page size: \(pageSize)")
    }
    return Query.DocumentsSequence(query.placeholder, pageSize: 1, consistency: consistency)
  }
}

extension Query {
  /// The documents of a query, read one page at a time. `Firestore.documents(in:pageSize:consistency:)`
  /// creates it. Each iterator reads the query anew.
  ///
  /// An iterator throws `failedPrecondition` if the database is terminated before the end, and
  /// `CancellationError` if the task is cancelled, so that an incomplete loop is never mistaken for a
  /// complete one. After an error, it returns nil.
  public struct DocumentsSequence: AsyncSequence, Sendable {
    public typealias Element = QueryDocumentSnapshot
    public typealias Failure = any Error

    /// The state of the database that a page shows.
    public enum Consistency: Hashable, Sendable {
      /// All pages show one state. The iterator pins a snapshot of the database until it returns nil, throws
      /// or is released. Until then, the disk space of replaced and deleted documents is not freed, so do not
      /// keep an iterator for longer than needed. With a remote, the state is that of the local cache.
      case snapshot
      /// Each page shows the state at the time when the page is read, and continues after the last document
      /// of the page before it. No snapshot is pinned. A document that moves in the order between two pages
      /// can be missed or be returned twice. With a remote, each page asks the remote.
      case live
    }

    private let query: Query
    private let pageSize: Int
    private let consistency: Consistency

    fileprivate init(_ query: Query, pageSize: Int, consistency: Consistency) {
      self.query = query
      self.pageSize = pageSize
      self.consistency = consistency
    }

    public func makeAsyncIterator() -> Iterator {
      Iterator(PageReader(query, pageSize: pageSize, consistency: consistency))
    }

    /// An iterator that returns one document after the other.
    public struct Iterator: AsyncIteratorProtocol {
      /// Nil after the end and after an error.
      private var reader: PageReader?
      /// The documents of the page that were not returned yet, the next one last.
      private var page: [QueryDocumentSnapshot] = []

      fileprivate init(_ reader: PageReader) { self.reader = reader }

      /// Returns the next document; nil at the end.
      public mutating func next() async throws -> QueryDocumentSnapshot? { try await nextDocument() }

      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws(any Error) -> QueryDocumentSnapshot? {
        try await nextDocument()
      }

      nonisolated(nonsending) private mutating func nextDocument() async throws -> QueryDocumentSnapshot? {
        guard var reader else { return nil }
        do {
          try reader.check()
          if page.isEmpty {
            page = try await reader.nextPage().reversed()
            // The snapshot is not needed for the documents of the last page.
            self.reader = page.isEmpty ? nil : reader
          }
        } catch {
          (self.reader, page) = (nil, [])
          throw error
        }
        return page.popLast()
      }
    }
  }
}

@available(*, unavailable)
extension Query.DocumentsSequence.Iterator: Sendable {}

/// Reads the pages of one query. A copy shares the snapshot, which the last copy releases.
private struct PageReader {
  private let query: Query
  private let pageSize: Int
  private let consistency: Query.DocumentsSequence.Consistency
  /// Nil before the first page.
  private var cursor: PageCursor?
  /// Nil before the first page, and in live mode.
  private var snapshot: StoreSnapshot?

  init(_ query: Query, pageSize: Int, consistency: Query.DocumentsSequence.Consistency) {
    self.query = query
    self.pageSize = pageSize
    self.consistency = consistency
  }

  /// Throws if the task is cancelled or the database is terminated.
  func check() throws {
    try Task.checkCancellation()
    try query.firestore.checkLiving()
  }

  /// Reads the next page, which is empty at the end of the result.
  nonisolated(nonsending) mutating func nextPage() async throws -> [QueryDocumentSnapshot] {
    let client = try query.firestore.livingClient()
    if cursor == nil { try await begin(client) }
    guard var cursor, !cursor.isAtEnd else { return [] }
    let page = try await documents(&cursor, client)
    self.cursor = cursor
    if cursor.isAtEnd { snapshot = nil }
    return page.map {
      QueryDocumentSnapshot(DocumentReference(query.firestore, $0.path.segments), $0)
    }
  }

  nonisolated(nonsending) private mutating func begin(_ client: any FirestoreClient) async throws {
    let structured = try query.runnable
    if consistency == .snapshot {
      // The queue holds a result for a short time after the caller has resumed, so the snapshot is no result.
      let taken = Locked<StoreSnapshot?>(nil)
      try await client.performedAfterWrites { view throws(DocumentStoreError) in
        let snapshot = try view.store.snapshot()
        taken.withLock { $0 = snapshot }
      }
      snapshot = taken.withLock { $0.take() }
    }
    guard case .last(let count) = structured.limit else {
      cursor = PageCursor(structured, pageSize: pageSize)
      return
    }
    var backward = PageCursor(structured.executableForm, pageSize: pageSize)
    while !backward.isAtEnd {
      try check()
      _ = try await documents(&backward, client)
    }
    var forward: StructuredQuery
    do throws(DocumentStoreError) {
      forward = try structured.limited(to: .first(count))
    } catch {
      throw FirestoreErrors.translate(error)
    }
    if let first = backward.position { forward.start = Cursor(.before, first) }
    cursor = PageCursor(forward, pageSize: pageSize)
  }

  /// Reads the page at `cursor`, and moves `cursor` past it.
  nonisolated(nonsending) private func documents(
    _ cursor: inout PageCursor, _ client: any FirestoreClient
  ) async throws -> [ViewedDocument] {
    do {
      let page = try cursor.page
      let documents: [ViewedDocument]
      if let snapshot {
        let source: ReadSource = client.hasRemote ? .cache : .default
        // The queue holds its closure for a short time after the caller has resumed, but not the snapshot.
        let lease = Locked<StoreSnapshot?>(snapshot)
        documents = try await client.store.performed { view throws(DocumentStoreError) in
          guard let snapshot = lease.withLock({ $0.take() }) else {
            throw DocumentStoreError(.closed(directory: view.store.path))
          }
          return try view.documents(page, in: snapshot, source: source)
        }.documents
      } else {
        documents = try await client.documents(
          page, source: .default, after: client.lastIssuedWrite
        ).documents
      }
      try cursor.advance(count: documents.count, last: documents.last?.document)
      return documents
    } catch {
      throw FirestoreErrors.translate(any: error)
    }
  }
}
