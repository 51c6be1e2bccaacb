// The order, limits and cursors of a query.

public import FirebaseFirestore

extension DataSource.Query {
  /// Orders the query by this field, ascending. Omits documents without the field. Data sources keep this
  /// order.
  public func order(by: String) -> DataSource.Query { refined(query.order(by: by)) }

  /// Orders the query by this field. Omits documents without the field.
  public func order(by: String, descending: Bool) -> DataSource.Query {
    refined(query.order(by: by, descending: descending))
  }

  /// Limits the query to the first documents.
  public func limit(to: Int) -> DataSource.Query { refined(query.limit(to: to)) }

  /// Limits the query to the last documents, still in the order of the query. The query must have an explicit
  /// order. Not in the original.
  public func limit(toLast: Int) -> DataSource.Query { refined(query.limit(toLast: toLast)) }

  /// Starts at the documents that have these values in the ordering fields, inclusive.
  public func start(at: [Any]) -> DataSource.Query { refined(query.start(at: at)) }

  /// Starts after the documents that have these values in the ordering fields.
  public func start(after: [Any]) -> DataSource.Query { refined(query.start(after: after)) }

  /// Starts at the document's position in the order, inclusive.
  public func start(atDocument: DocumentSnapshot) -> DataSource.Query {
    refined(query.start(atDocument: atDocument))
  }

  /// Starts after the document's position in the order.
  public func start(afterDocument: DocumentSnapshot) -> DataSource.Query {
    refined(query.start(afterDocument: afterDocument))
  }

  /// Ends at the documents that have these values in the ordering fields, inclusive.
  public func end(at: [Any]) -> DataSource.Query { refined(query.end(at: at)) }

  /// Ends at the document's position in the order, inclusive.
  public func end(atDocument: DocumentSnapshot) -> DataSource.Query {
    refined(query.end(atDocument: atDocument))
  }

  /// Ends before the documents that have these values in the ordering fields.
  public func end(before: [Any]) -> DataSource.Query { refined(query.end(before: before)) }

  /// Ends before the document's position in the order.
  public func end(beforeDocument: DocumentSnapshot) -> DataSource.Query {
    refined(query.end(beforeDocument: beforeDocument))
  }
}
