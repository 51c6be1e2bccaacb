// Sort keys and page cursors of queries, for higher layers.

import DocumentStore
private import Foundation

extension Query {
  /// The maximum number of documents, whether the query returns the first or the last ones; nil if it has no
  /// limit.
  package var limitCount: Int? {
    switch structured.limit {
    case .first(let count)?, .last(let count)?: count
    case nil: nil
    }
  }

  /// Whether the query has an explicit order. Without an explicit order, documents are ordered by their
  /// names.
  package var hasExplicitOrder: Bool { orderCount > 0 }

  /// Whether a document can be a cursor. It cannot if an ordering field is absent or is a pending server
  /// timestamp.
  package func canStart(beside document: DocumentSnapshot) -> Bool {
    guard let stored = document.stored else { return false }
    return (try? structured.starting(.after, stored)) != nil
  }

  /// Returns bytes that sort in the order of the query; nil if the document lacks an ordering field or does
  /// not exist.
  package func sortKey(_ document: DocumentSnapshot) -> [UInt8]? {
    document.stored.flatMap(structured.sortKey)
  }

  /// Listens, with metadata changes, on any serial queue. `onEnd` is called when the listening ends for
  /// any reason.
  package func listen(
    on queue: DispatchQueue, _ handler: @escaping @Sendable (Result<QuerySnapshot, any Error>) -> Void,
    onEnd: (@Sendable () -> Void)? = nil
  ) -> any ListenerRegistration {
    let listening = listen(.metadata(true), on: queue, handler)
    if let onEnd { listening.whenRemoved(onEnd) }
    return listening
  }
}

extension Query {
  /// Orders by a field of the outermost map and then by id. An absent field sorts as null.
  package func ordered(byChild name: String, descending: Bool) -> Query {
    let direction = descending ? OrderBy.Direction.descending : .ascending
    return refined { query throws(DocumentStoreError) in
      var order = OrderBy(StoredFieldPath(unchecked: [name]), direction)
      order.missing = .asNull
      return try query.ordered(by: order).ordered(by: OrderBy(.documentID, direction))
    }
  }
}

/// Converts users' values to bytes that sort in the order in which a query sorts the values.
package enum SortBytes {
  /// Returns the bytes of null for nil and for a value that no document can hold.
  package static func of(_ value: Any?, in firestore: Firestore?) -> [UInt8] {
    let stored = value.flatMap { try? UserData.stored(from: $0, in: firestore) }
    return (stored ?? .null).sortBytes
  }
}

// MARK: Pages
//
// A pending server timestamp has no place in the order yet, and a cursor there traps. Every other document
// that a query found can be a cursor.

extension QuerySnapshot {
  /// The last document that can be a cursor; nil if there is none. Creates only the snapshots of that
  /// document and of those after it.
  package var lastStart: QueryDocumentSnapshot? { lastDocument(where: query.canPage) }
}

extension Query {
  /// Whether a document that this query found can be a cursor. Only a document with pending writes is
  /// inspected.
  package func canPage(beside document: DocumentSnapshot) -> Bool {
    !document.metadata.hasPendingWrites || canStart(beside: document)
  }

  /// Returns the index of the last document that can be a cursor; nil if there is none.
  package func lastStart(in documents: [DocumentSnapshot]) -> Int? {
    documents.lastIndex(where: canPage)
  }

  /// Returns the query with a limit that is greater by `count`, if it has a limit.
  package func widened(by count: Int) -> Query {
    switch structured.limit {
    case .first(let limit)?: self.limit(to: limit > .max - count ? .max : limit + count)
    case .last(let limit)?: self.limit(toLast: limit > .max - count ? .max : limit + count)
    case nil: self
    }
  }
}
