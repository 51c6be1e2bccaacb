// Starts and ends a query at a document that was read before.

private import DocumentStore

extension Query {
  /// Starts at the document's position in the order, inclusive.
  public func start(atDocument document: DocumentSnapshot) -> Query { starting(.before, document) }

  /// Starts after the document's position in the order.
  public func start(afterDocument document: DocumentSnapshot) -> Query { starting(.after, document) }

  /// Ends at the document's position in the order, inclusive.
  public func end(atDocument document: DocumentSnapshot) -> Query { ending(.after, document) }

  /// Ends before the document's position in the order.
  public func end(beforeDocument document: DocumentSnapshot) -> Query { ending(.before, document) }

  private func starting(_ side: Cursor.Side, _ document: DocumentSnapshot) -> Query {
    refined { query throws(DocumentStoreError) in try query.starting(side, document.stored) }
  }

  private func ending(_ side: Cursor.Side, _ document: DocumentSnapshot) -> Query {
    refined { query throws(DocumentStoreError) in try query.ending(side, document.stored) }
  }
}
