// Queries from outside the process, where nothing about the parts of a query is known.
//
// The size of a query is checked before it is built, because building takes time that grows faster than the
// number of its parts.

/// The parts of a query as a peer has sent them.
package struct QueryParts: Sendable {
  package var scope: StructuredQuery.Scope
  package var filter: FilterTree?
  package var orders: [OrderBy] = []
  /// The values may also belong to the orders that the query adds. Document names in them are references of
  /// any database.
  package var start: Cursor?
  package var end: Cursor?
  /// May be zero.
  package var limit: StructuredQuery.Limit?
  package var offset = 0

  package init(_ scope: StructuredQuery.Scope) { self.scope = scope }
}

extension StructuredQuery {
  /// Builds a query. Throws `invalidArgument` unless it is valid and within the limits.
  package init(
    checking parts: QueryParts, limits: QueryLimits = QueryLimits()
  ) throws(DocumentStoreError) {
    try parts.scope.check()
    let partsCount = (parts.filter?.leavesCount ?? 0) + parts.orders.count
    guard partsCount <= limits.partsMax else {
      throw .invalidArgument(
        "The query has \(partsCount) filters and orders, and the limit is \(limits.partsMax).")
    }
    var query = StructuredQuery(parts.scope)
    if let filter = parts.filter { query = try query.filtered(by: filter) }
    for order in parts.orders {
      guard !query.explicitOrders.contains(where: { $0.field == order.field }) else {
        throw .invalidArgument("The query orders by the field '\(order.field)' twice.")
      }
      query = try query.ordered(by: order)
    }
    query.start = try parts.start.map { cursor throws(DocumentStoreError) in try query.checked(cursor) }
    query.end = try parts.end.map { cursor throws(DocumentStoreError) in try query.checked(cursor) }
    query.limit = try parts.limit.map { limit throws(DocumentStoreError) in try Self.checked(limit) }
    self = try query.skipping(parts.offset)
    try check(limits)
  }

  /// A cursor whose values fit the orders of the query.
  private func checked(_ cursor: Cursor) throws(DocumentStoreError) -> Cursor {
    guard !cursor.values.isEmpty, cursor.values.count <= orders.count else {
      throw .invalidArgument(
        "A cursor has \(cursor.values.count) values, and the query has \(orders.count) orders.")
    }
    var values: [StoredValue] = []
    for (order, value) in zip(orders, cursor.values) {
      guard order.field == .documentID else {
        values.append(value)
        continue
      }
      guard case .reference(let reference) = value else {
        throw .invalidArgument("A cursor on the document's name must be a reference to a document.")
      }
      values.append(.documentName(reference.path))
    }
    return Cursor(cursor.side, values)
  }

  private static func checked(_ limit: Limit) throws(DocumentStoreError) -> Limit {
    switch limit {
    case .first(let count), .last(let count):
      guard count >= 0 else {
        throw .invalidArgument("The limit \(count) is not valid. A limit must not be negative.")
      }
      return limit
    }
  }
}

extension StructuredQuery.Scope {
  /// Throws `invalidArgument` unless the names are valid.
  fileprivate func check() throws(DocumentStoreError) {
    do throws(PathError) {
      switch self {
      case .collection(let path): try path.check()
      case .collectionGroup(let id): _ = try CollectionPath([id])
      case .document(let path): try path.check()
      }
    } catch {
      throw .invalidArgument(error.description)
    }
  }
}

extension FilterTree {
  /// The number of comparisons.
  fileprivate var leavesCount: Int {
    switch self {
    case .field: 1
    case .all(let parts), .any(let parts): parts.reduce(0) { $0 + $1.leavesCount }
    }
  }
}

extension FieldFilter {
  /// Creates a filter. Throws `invalidArgument` if the operator takes an array and the operand is none.
  package init(
    checking field: StoredFieldPath, _ operator: Operator, operand: StoredValue
  ) throws(DocumentStoreError) {
    if `operator`.takesList {
      guard case .array = operand else {
        throw .invalidArgument("'\(`operator`.rawValue)' requires an array of values.")
      }
    }
    self.init(field, `operator`, operand)
  }
}
