// What the results of a query are ordered by, and places in that order.

/// One field of an order and its direction.
public struct OrderBy: Hashable, Sendable {
  /// The way of an order.
  public enum Direction: Hashable, Sendable {
    /// Both ways.
    case ascending, descending

    /// The other way.
    public var reversed: Direction { self == .ascending ? .descending : .ascending }
  }

  /// What becomes of a document without the field.
  package enum Missing: Hashable, Sendable {
    /// It is not in the results.
    case excluded
    /// It stands where it would stand if the field were null.
    case asNull
  }

  /// Which field.
  public var field: StoredFieldPath
  /// Which way.
  public var direction: Direction
  package var missing = Missing.excluded

  /// Ascending unless something else is said.
  public init(_ field: StoredFieldPath, _ direction: Direction = .ascending) {
    self.field = field
    self.direction = direction
  }

  var reversed: OrderBy {
    var order = self
    order.direction = direction.reversed
    return order
  }

  /// What the document is ordered by, or nil if the order excludes it.
  func value(in document: StoredDocument) -> StoredValue? { value(in: document.value) }

  /// The same for a document of which `value` gives what it has in a field.
  func value(in value: (StoredFieldPath) -> StoredValue?) -> StoredValue? {
    value(field) ?? (missing == .asNull ? .null : nil)
  }

  func compare(_ left: StoredValue, _ right: StoredValue) -> Ordering {
    let order = ValueOrder.compare(left, right)
    return direction == .ascending ? order : order.reversed
  }
}

/// A gap between results: beside all documents that have these values in the first fields of the order.
public struct Cursor: Sendable, Equatable {
  /// On which side of its values a cursor stands.
  public enum Side: Hashable, Sendable {
    /// Both sides.
    case before, after

    /// The other side.
    public var reversed: Side { self == .before ? .after : .before }
  }

  /// Of the fields of the order, from the first on.
  public let values: [StoredValue]
  /// Before or behind what has these values.
  public let side: Side

  package init(_ side: Side, _ values: [StoredValue]) {
    self.values = values
    self.side = side
  }

  /// The same gap, seen from the other end.
  var reversed: Cursor { Cursor(side.reversed, values) }
}
