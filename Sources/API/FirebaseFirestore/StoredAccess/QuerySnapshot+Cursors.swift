// Beside which document the next page of a query can begin.
//
// A time that the remote has still to set is in no order yet: a cursor there traps. Nothing else keeps a query from
// beginning beside what it found.

import DocumentStore

extension QuerySnapshot {
  /// The last of the documents that a page can begin or end beside; nil if there is none. Of the others, only those
  /// behind it are made.
  package var lastStart: QueryDocumentSnapshot? { lastDocument(where: query.canPage) }
}

extension Query {
  /// As `canStart(beside:)`, of a document that this query found, with its orders: only one whose writes wait is looked
  /// into.
  package func canPage(beside document: DocumentSnapshot) -> Bool {
    !document.metadata.hasPendingWrites || canStart(beside: document)
  }

  /// Where the last is of these that a page can begin or end beside; nil if there is none.
  package func lastStart(in documents: [DocumentSnapshot]) -> Int? {
    documents.lastIndex(where: canPage)
  }

  /// With room for so many more, if there is a limit.
  package func widened(by count: Int) -> Query {
    switch structured.limit {
    case .first(let limit)?: self.limit(to: limit > .max - count ? .max : limit + count)
    case .last(let limit)?: self.limit(toLast: limit > .max - count ? .max : limit + count)
    case nil: self
    }
  }
}
