// The order, the cursors and the limit of a query.

private import DocumentStore
private import FirebaseCore

extension Query {
  // MARK: Orders

  /// Orders the query by this field, ascending. Omits documents without the field.
  public func order(by field: String) -> Query { order(by: field, descending: false) }

  /// Orders the query by this field, ascending. Omits documents without the field.
  public func order(by path: FieldPath) -> Query { order(by: path, descending: false) }

  /// Orders the query by this field. Omits documents without the field.
  public func order(by field: String, descending: Bool) -> Query {
    ordered(FieldPath.dotted(field), descending)
  }

  /// Orders the query by this field. Omits documents without the field.
  public func order(by path: FieldPath, descending: Bool) -> Query { ordered(path.stored, descending) }

  private func ordered(_ field: StoredFieldPath, _ descending: Bool) -> Query {
    if field == FieldPath.placeholder { return placeholder }
    let order = OrderBy(field, descending ? .descending : .ascending)
    let ordered = { (query: StructuredQuery) throws(DocumentStoreError) in try query.ordered(by: order) }
    return refined(adding: 1, ordered, fill: ordered) { excess throws(DocumentStoreError) in
      // A query with a cursor accepts no further order; here `ordered` throws the error for that.
      if structured.start != nil || structured.end != nil { _ = try ordered(structured) }
      return excess.adding(order)
    }
  }

  // MARK: Limits

  /// Limits the query to its first `limit` documents.
  public func limit(to limit: Int) -> Query {
    refined { query throws(DocumentStoreError) in try query.limited(to: .first(limit)) }
  }

  /// Limits the query to its last `limit` documents, which are still returned in the order of the query. The
  /// query must have an explicit order.
  public func limit(toLast limit: Int) -> Query {
    refined { query throws(DocumentStoreError) in try query.limited(to: .last(limit)) }
  }

  // MARK: Cursors

  /// Starts at the documents that have these values in the ordering fields, inclusive.
  public func start(at fieldValues: [Any]) -> Query { starting(.before, fieldValues) }

  /// Starts after the documents that have these values in the ordering fields.
  public func start(after fieldValues: [Any]) -> Query { starting(.after, fieldValues) }

  /// Ends at the documents that have these values in the ordering fields, inclusive.
  public func end(at fieldValues: [Any]) -> Query { ending(.after, fieldValues) }

  /// Ends before the documents that have these values in the ordering fields.
  public func end(before fieldValues: [Any]) -> Query { ending(.before, fieldValues) }

  private func starting(_ side: Cursor.Side, _ values: [Any]) -> Query {
    guard let values = cursorValues(values) else { return placeholder }
    return refined(settingCursor: .init(isStart: true, side: side, values: values)) {
      query throws(DocumentStoreError) in try query.starting(side, valuesThatFit(values))
    }
  }

  private func ending(_ side: Cursor.Side, _ values: [Any]) -> Query {
    guard let values = cursorValues(values) else { return placeholder }
    return refined(settingCursor: .init(isStart: false, side: side, values: values)) {
      query throws(DocumentStoreError) in try query.ending(side, valuesThatFit(values))
    }
  }

  /// Drops the values beyond the number of orders in `structured` if the query is too large to run. Otherwise
  /// returns all values.
  private func valuesThatFit(_ values: [StoredValue]) -> [StoredValue] {
    guard excess != nil, values.count <= orderCount else { return values }
    return Array(values.prefix(structured.explicitOrders.count))
  }

  /// Returns the values in the form that the engine uses. Reports a value that no field can hold, and returns
  /// nil. Also returns nil after a misuse, because a value may then be a placeholder.
  private func cursorValues(_ values: [Any]) -> [StoredValue]? {
    guard ProgrammerError.reported == nil else { return nil }
    do throws(UserDataError) {
      var stored: [StoredValue] = []
      for value in values { stored.append(try UserData.stored(from: value, place: .inList, in: firestore)) }
      return stored
    } catch {
      ProgrammerError.report(error.message)
      return nil
    }
  }
}
