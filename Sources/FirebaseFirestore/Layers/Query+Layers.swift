// What the layers above ask of a query.

import DocumentStore
private import Foundation

extension Query {
  /// How many documents there are at most.
  package var limitCount: Int? {
    switch structured.limit {
    case .first(let count)?, .last(let count)?: count
    case nil: nil
    }
  }

  /// Whether somebody asked for an order, rather than took the one of the names.
  package var hasExplicitOrder: Bool { !structured.explicitOrders.isEmpty }

  /// Bytes that sort as the query does; nil if the document lacks a field of the orders, or does not exist.
  package func sortKey(_ document: DocumentSnapshot) -> [UInt8]? {
    document.stored.flatMap(structured.sortKey)
  }

  /// Listens with the changes of metadata, on any serial queue.
  package func listen(
    on queue: DispatchQueue, _ handler: @escaping @Sendable (Result<QuerySnapshot, any Error>) -> Void
  ) -> any ListenerRegistration {
    listen(.metadata(true), on: queue, handler)
  }
}
