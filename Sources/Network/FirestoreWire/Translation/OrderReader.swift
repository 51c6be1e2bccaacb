// Reads the orders of a query. Messages have them as fields, and lists of documents as text.

package import DocumentStore
package import OfflineSync

/// Collects the orders of a query. Each is checked when it is added.
package struct OrderReader {
  package private(set) var orders: [OrderBy] = []

  /// Throws INVALID_ARGUMENT if a query of this scope cannot have this number of filters and orders. Callers
  /// count before they read, so that a large request is refused before it takes memory.
  package init(_ scope: StructuredQuery.Scope, filters: Int = 0, orders: Int) throws(RemoteError) {
    try QueryRules.check(scope, filters: filters, orders: orders)
  }

  /// Adds an order by the field with this path.
  package mutating func add(_ path: String, _ direction: OrderBy.Direction) throws(RemoteError) {
    let field = try FieldPathText.parse(path)
    guard orders.last?.field != .documentID else {
      throw .invalid("order by clause cannot contain more fields after the key")
    }
    guard !orders.contains(where: { $0.field == field }) else {
      throw .invalid("order by clause cannot contain duplicate fields \(shortened(field.canonical))")
    }
    orders.append(OrderBy(field, direction))
  }

  mutating func add(_ order: Wire.StructuredQuery.Order) throws(RemoteError) {
    switch order.direction {
    case .unspecified, .ascending: try add(order.field?.fieldPath ?? "", .ascending)
    case .descending: try add(order.field?.fieldPath ?? "", .descending)
    case .unrecognized: throw .invalid("Unrecognized ordering.")
    }
  }
}
