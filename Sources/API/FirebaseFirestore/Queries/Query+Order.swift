// In which order a query has its documents, where it starts and ends, and how many there are.

private import DocumentStore
private import FirebaseCore

extension Query {
  // MARK: Orders

  /// By this field, ascending. Documents without it are not found.
  public func order(by field: String) -> Query { order(by: field, descending: false) }

  /// In ascending order of the field; documents without it are left out.
  public func order(by path: FieldPath) -> Query { order(by: path, descending: false) }

  /// In order of the field; documents without it are left out.
  public func order(by field: String, descending: Bool) -> Query {
    ordered(FieldPath.dotted(field), descending)
  }

  /// In order of the field; documents without it are left out.
  public func order(by path: FieldPath, descending: Bool) -> Query { ordered(path.stored, descending) }

  private func ordered(_ field: StoredFieldPath, _ descending: Bool) -> Query {
    let order = OrderBy(field, descending ? .descending : .ascending)
    let ordered = { (query: StructuredQuery) throws(DocumentStoreError) in try query.ordered(by: order) }
    return refined(adding: 1, ordered, fill: ordered) { excess throws(DocumentStoreError) in
      // A query with a cursor takes no order, which this says.
      if structured.start != nil || structured.end != nil { _ = try ordered(structured) }
      return excess.adding(order)
    }
  }

  // MARK: Limits

  /// The first documents only.
  public func limit(to limit: Int) -> Query {
    refined { query throws(DocumentStoreError) in try query.limited(to: .first(limit)) }
  }

  /// The last documents only, still in the order of the query, which has to name one.
  public func limit(toLast limit: Int) -> Query {
    refined { query throws(DocumentStoreError) in try query.limited(to: .last(limit)) }
  }

  // MARK: Cursors

  /// From the documents that have these values in the fields of the orders, those included.
  public func start(at fieldValues: [Any]) -> Query { starting(.before, fieldValues) }

  /// From behind the documents that have these values in the fields of the orders.
  public func start(after fieldValues: [Any]) -> Query { starting(.after, fieldValues) }

  /// Up to the documents that have these values in the fields of the orders, those included.
  public func end(at fieldValues: [Any]) -> Query { ending(.after, fieldValues) }

  /// Up to what comes before the documents that have these values in the fields of the orders.
  public func end(before fieldValues: [Any]) -> Query { ending(.before, fieldValues) }

  /// From where the document stands in the order.
  public func start(atDocument document: DocumentSnapshot) -> Query { starting(.before, document) }

  /// Behind where the document stands in the order.
  public func start(afterDocument document: DocumentSnapshot) -> Query { starting(.after, document) }

  /// Up to and with where the document stands in the order.
  public func end(atDocument document: DocumentSnapshot) -> Query { ending(.after, document) }

  /// Up to and without where the document stands in the order.
  public func end(beforeDocument document: DocumentSnapshot) -> Query { ending(.before, document) }

  private func starting(_ side: Cursor.Side, _ values: [Any]) -> Query {
    let values = values.map(cursorValue)
    return refined(settingCursor: .init(isStart: true, side: side, values: values)) {
      query throws(DocumentStoreError) in try query.starting(side, valuesThatFit(values))
    }
  }

  private func ending(_ side: Cursor.Side, _ values: [Any]) -> Query {
    let values = values.map(cursorValue)
    return refined(settingCursor: .init(isStart: false, side: side, values: values)) {
      query throws(DocumentStoreError) in try query.ending(side, valuesThatFit(values))
    }
  }

  private func starting(_ side: Cursor.Side, _ document: DocumentSnapshot) -> Query {
    refined { query throws(DocumentStoreError) in try query.starting(side, document.stored) }
  }

  private func ending(_ side: Cursor.Side, _ document: DocumentSnapshot) -> Query {
    refined { query throws(DocumentStoreError) in try query.ending(side, document.stored) }
  }

  /// For a query too large to run, no more values than `structured` has orders.
  private func valuesThatFit(_ values: [StoredValue]) -> [StoredValue] {
    guard excess != nil, values.count <= orderCount else { return values }
    return Array(values.prefix(structured.explicitOrders.count))
  }

  private func cursorValue(_ any: Any) -> StoredValue {
    do throws(UserDataError) {
      return try UserData.stored(from: any, place: .inList, in: firestore)
    } catch {
      error.trap()
    }
  }
}
