// A condition on one field.

/// A field, an operator and an operand: `age >= 18`.
public struct FieldFilter: Sendable, Equatable {
  /// Comparison operators. The raw values are the names in messages.
  public enum Operator: String, Sendable, CaseIterable {
    /// Comparisons in the order of values.
    case lessThan, lessThanOrEqual, equal, notEqual, greaterThanOrEqual, greaterThan
    /// Tests on the elements of an array.
    case arrayContains, arrayContainsAny
    /// The value equals one of the values in a list.
    case isIn = "in"
    /// The field exists, and its value equals none of the values in a list.
    case notIn

    /// Whether the operand is an array of values.
    public var takesList: Bool {
      switch self {
      case .isIn, .notIn, .arrayContainsAny: true
      default: false
      }
    }

    /// Whether the operator matches ranges of values, so that the query must be ordered by the field.
    public var isInequality: Bool {
      switch self {
      case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .notEqual, .notIn: true
      case .equal, .isIn, .arrayContains, .arrayContainsAny: false
      }
    }
  }

  /// The path of the field.
  public let field: StoredFieldPath
  /// The comparison.
  public let `operator`: Operator
  /// The operand.
  public let operand: StoredValue

  /// Creates a filter. The operand of `in`, `notIn` and `arrayContainsAny` must be an array. Operands on
  /// `StoredFieldPath.documentID` are ids or references until the filter is added to a query.
  public init(_ field: StoredFieldPath, _ operator: Operator, _ operand: StoredValue) {
    self.field = field
    self.operator = `operator`
    self.operand = operand
    precondition(!`operator`.takesList || list != nil, "\(`operator`.rawValue) takes an array")
  }

  /// The list of values, if the operator takes one.
  package var list: [StoredValue]? {
    if self.operator.takesList, case .array(let values) = operand { values } else { nil }
  }

  /// The values that `in` and `arrayContainsAny` can match; null and NaN never match.
  package var candidates: [StoredValue] { (list ?? []).filter(\.canBeListed) }

  package func matches(_ document: StoredDocument) -> Bool { matches(document.value(of: field)) }

  /// `value` is the document's value of the field, or nil if the document lacks the field.
  func matches(_ value: StoredValue?) -> Bool {
    guard let value else { return false }
    return self.operator.verdict(of: value, self) == .yes
  }
}

extension StoredDocument {
  /// The value of a field as filters and orders see it.
  package func value(of field: StoredFieldPath) -> StoredValue? {
    field == .documentID ? .documentName(path) : fields[field]
  }
}

extension StoredValue {
  /// A document's name as a value: a reference with an empty project and an empty database, because all
  /// documents of a query are in one database.
  package static func documentName(_ path: DocumentPath) -> StoredValue {
    .reference(StoredReference(projectID: "", databaseID: "", path: path))
  }

  /// False for null and NaN, which `in` and `arrayContainsAny` never match.
  var canBeListed: Bool {
    switch self {
    case .null: false
    case .double(let number): !number.isNaN
    default: true
    }
  }
}

extension FieldFilter: FilterOperands {
  var typeClass: TypeClass { operand.typeClass }

  var haveNull: Bool { (list ?? []).contains { $0.typeClass == .null } }
}

extension StoredValue: FilteredValue {
  func compare(with filter: FieldFilter) -> Ordering? { ValueOrder.compare(self, filter.operand) }

  func isAny(of filter: FieldFilter) -> FilterVerdict {
    guard let list = filter.list else { return ValueOrder.areEqual(self, filter.operand) ? .yes : .no }
    return list.contains { ValueOrder.areEqual(self, $0) } ? .yes : .no
  }

  func hasAny(of filter: FieldFilter, inList: Bool) -> FilterVerdict {
    guard case .array(let elements) = self else { return .no }
    return elements.contains { ($0.canBeListed || !inList) && $0.isAny(of: filter) == .yes } ? .yes : .no
  }
}
