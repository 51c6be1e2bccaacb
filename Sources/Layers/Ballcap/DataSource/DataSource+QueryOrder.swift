// The steps of queries: in which order, from where to where, and how many.

public import FirebaseFirestore

extension DataSource.Query {
  /// By this field; documents without it are not found. Data sources keep this order.
  public func order(by: String) -> DataSource.Query { refined(query.order(by: by)) }

  /// In order of the field; documents without it are left out.
  public func order(by: String, descending: Bool) -> DataSource.Query {
    refined(query.order(by: by, descending: descending))
  }

  /// The first documents only.
  public func limit(to: Int) -> DataSource.Query { refined(query.limit(to: to)) }

  /// The last documents only, still in the order of the query, which has to name one. Not in the original.
  public func limit(toLast: Int) -> DataSource.Query { refined(query.limit(toLast: toLast)) }

  /// From the documents that have these values in the fields of the orders, those included.
  public func start(at: [Any]) -> DataSource.Query { refined(query.start(at: at)) }

  /// From behind them.
  public func start(after: [Any]) -> DataSource.Query { refined(query.start(after: after)) }

  /// From where the document stands in the order.
  public func start(atDocument: DocumentSnapshot) -> DataSource.Query {
    refined(query.start(atDocument: atDocument))
  }

  /// Behind where the document stands in the order.
  public func start(afterDocument: DocumentSnapshot) -> DataSource.Query {
    refined(query.start(afterDocument: afterDocument))
  }

  /// Up to the documents that have these values in the fields of the orders, those included.
  public func end(at: [Any]) -> DataSource.Query { refined(query.end(at: at)) }

  /// Up to and with where the document stands in the order.
  public func end(atDocument: DocumentSnapshot) -> DataSource.Query {
    refined(query.end(atDocument: atDocument))
  }

  /// Up to what comes before them.
  public func end(before: [Any]) -> DataSource.Query { refined(query.end(before: before)) }

  /// Up to and without where the document stands in the order.
  public func end(beforeDocument: DocumentSnapshot) -> DataSource.Query {
    refined(query.end(beforeDocument: beforeDocument))
  }
}
