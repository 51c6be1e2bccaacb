// One condition on one field.

/// A field, an operator and what to compare with: `age >= 18`.
public struct FieldFilter: Sendable, Equatable {
  /// The raw values are the names in messages.
  public enum Operator: String, Sendable, CaseIterable {
    /// By the order of values.
    case lessThan, lessThanOrEqual, equal, notEqual, greaterThanOrEqual, greaterThan
    /// By what an array has.
    case arrayContains, arrayContainsAny
    /// It equals one of a list.
    case isIn = "in"
    /// It is there, and equals none of a list.
    case notIn

    /// Takes an array of values to compare with.
    public var takesList: Bool {
      switch self {
      case .isIn, .notIn, .arrayContainsAny: true
      default: false
      }
    }

    /// Matches ranges of values, so that the query is ordered by the field.
    public var isInequality: Bool {
      switch self {
      case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .notEqual, .notIn: true
      case .equal, .isIn, .arrayContains, .arrayContainsAny: false
      }
    }
  }

  /// Which field.
  public let field: StoredFieldPath
  /// How it is compared.
  public let `operator`: Operator
  /// With what.
  public let operand: StoredValue

  /// The operand of `in`, `notIn` and `arrayContainsAny` is an array. Operands on
  /// `StoredFieldPath.documentID` are ids or references until a query takes the filter up.
  public init(_ field: StoredFieldPath, _ operator: Operator, _ operand: StoredValue) {
    self.field = field
    self.operator = `operator`
    self.operand = operand
    precondition(!`operator`.takesList || list != nil, "\(`operator`.rawValue) takes an array")
  }

  /// The values of the list, if the operator takes one.
  package var list: [StoredValue]? {
    if self.operator.takesList, case .array(let values) = operand { values } else { nil }
  }

  /// What `in` and `arrayContainsAny` look for: never null, never NaN.
  package var candidates: [StoredValue] { (list ?? []).filter(\.canBeListed) }

  package func matches(_ document: StoredDocument) -> Bool { matches(document.value(of: field)) }

  /// What a document has in the field, or nil if it has nothing there.
  func matches(_ value: StoredValue?) -> Bool {
    guard let value else { return false }
    return switch self.operator {
    case .equal: ValueOrder.areEqual(value, operand)
    case .notEqual: !value.isNull && !ValueOrder.areEqual(value, operand)
    case .lessThan: isInRange(value) { $0 == .before }
    case .lessThanOrEqual: isInRange(value) { $0 != .after }
    case .greaterThan: isInRange(value) { $0 == .after }
    case .greaterThanOrEqual: isInRange(value) { $0 != .before }
    case .isIn: isListed(value)
    case .notIn: !value.isNull && !(list ?? []).contains { $0.isNull || ValueOrder.areEqual($0, value) }
    case .arrayContains: value.elements.contains { ValueOrder.areEqual($0, operand) }
    case .arrayContainsAny: value.elements.contains(where: isListed)
    }
  }

  private func isListed(_ value: StoredValue) -> Bool {
    value.canBeListed && (list ?? []).contains { ValueOrder.areEqual($0, value) }
  }

  private func isInRange(_ value: StoredValue, _ accepts: (Ordering) -> Bool) -> Bool {
    value.typeClass == operand.typeClass && accepts(ValueOrder.compare(value, operand))
  }
}

extension StoredDocument {
  /// What filters and orders see in a field.
  package func value(of field: StoredFieldPath) -> StoredValue? {
    field == .documentID ? .documentName(path) : fields[field]
  }
}

extension StoredValue {
  /// The name of a document as a value: a reference that knows no project and no database, since all
  /// documents of a query have the same.
  package static func documentName(_ path: DocumentPath) -> StoredValue {
    .reference(StoredReference(projectID: "", databaseID: "", path: path))
  }

  fileprivate var isNull: Bool { if case .null = self { true } else { false } }

  fileprivate var canBeListed: Bool {
    switch self {
    case .null: false
    case .double(let number): !number.isNaN
    default: true
    }
  }

  fileprivate var elements: [StoredValue] { if case .array(let elements) = self { elements } else { [] } }
}
