// The sort orders of query results, and cursors in the results.

/// A field to order by, and a direction.
public struct OrderBy: Hashable, Sendable {
  /// The direction of an order.
  public enum Direction: Hashable, Sendable {
    /// Ascending or descending.
    case ascending, descending

    /// The opposite direction.
    public var reversed: Direction { self == .ascending ? .descending : .ascending }
  }

  /// How documents without the field are handled.
  package enum Missing: Hashable, Sendable {
    /// The document is not in the result.
    case excluded
    /// The document is sorted as if the field were null.
    case asNull
  }

  /// The field.
  public var field: StoredFieldPath
  /// The direction.
  public var direction: Direction
  package var missing = Missing.excluded

  /// Creates an order, ascending by default.
  public init(_ field: StoredFieldPath, _ direction: Direction = .ascending) {
    self.field = field
    self.direction = direction
  }

  var reversed: OrderBy {
    var order = self
    order.direction = direction.reversed
    return order
  }

  /// The document's value to order by, or nil if the order excludes the document.
  func value(in document: StoredDocument) -> StoredValue? { value(in: document.value) }

  /// `value` returns the document's value of a field.
  func value(in value: (StoredFieldPath) -> StoredValue?) -> StoredValue? {
    value(field) ?? (missing == .asNull ? .null : nil)
  }

  func compare(_ left: StoredValue, _ right: StoredValue) -> Ordering {
    let order = ValueOrder.compare(left, right)
    return direction == .ascending ? order : order.reversed
  }
}

/// A position between results: before or after all documents that have certain values in the first fields of
/// the order.
public struct Cursor: Sendable, Equatable {
  /// The side of the documents with the cursor's values on which the cursor lies.
  public enum Side: Hashable, Sendable {
    /// Before or after the documents with these values.
    case before, after

    /// The opposite side.
    public var reversed: Side { self == .before ? .after : .before }
  }

  /// Values of the first fields of the order.
  public let values: [StoredValue]
  /// Whether the cursor is before or after the documents with these values.
  public let side: Side

  package init(_ side: Side, _ values: [StoredValue]) {
    self.values = values
    self.side = side
  }

  /// The cursor in the reversed order.
  var reversed: Cursor { Cursor(side.reversed, values) }
}
