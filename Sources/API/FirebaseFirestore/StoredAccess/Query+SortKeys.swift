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

  /// Whether the query names an order. Else its documents come in the order of their names.
  package var hasExplicitOrder: Bool { orderCount > 0 }

  /// Whether a query can begin or end beside a document: not if it lacks a field of the orders, or has a time there
  /// that the remote has still to set.
  package func canStart(beside document: DocumentSnapshot) -> Bool {
    guard let stored = document.stored else { return false }
    return (try? structured.starting(.after, stored)) != nil
  }

  /// Bytes that sort as the query does; nil if the document lacks a field of the orders, or does not exist.
  package func sortKey(_ document: DocumentSnapshot) -> [UInt8]? {
    document.stored.flatMap(structured.sortKey)
  }

  /// Listens with the changes of metadata, on any serial queue. `onEnd` is called when that ends, by whomever.
  package func listen(
    on queue: DispatchQueue, _ handler: @escaping @Sendable (Result<QuerySnapshot, any Error>) -> Void,
    onEnd: (@Sendable () -> Void)? = nil
  ) -> any ListenerRegistration {
    let listening = listen(.metadata(true), on: queue, handler)
    if let onEnd { listening.atEnd(onEnd) }
    return listening
  }
}

extension Query {
  /// By a field of the outermost map and then by id, with documents that lack the field where those are that have
  /// null in it.
  package func ordered(byChild name: String, descending: Bool) -> Query {
    let direction = descending ? OrderBy.Direction.descending : .ascending
    return refined { query throws(DocumentStoreError) in
      var order = OrderBy(StoredFieldPath(unchecked: [name]), direction)
      order.missing = .asNull
      return try query.ordered(by: order).ordered(by: OrderBy(.documentID, direction))
    }
  }
}

/// Values of users as bytes that sort as a query sorts the values.
package enum SortBytes {
  /// Nothing is null, and so is what no document can hold.
  package static func of(_ value: Any?, in firestore: Firestore?) -> [UInt8] {
    let stored = value.flatMap { try? UserData.stored(from: $0, in: firestore) }
    return (stored ?? .null).sortBytes
  }
}
