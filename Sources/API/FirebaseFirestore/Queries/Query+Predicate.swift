// Converts Objective-C predicates to filters. Other platforms give no access to a predicate's parts.

#if canImport(ObjectiveC)
private import DocumentStore
private import FirebaseCore
public import Foundation

extension Query {
  /// Returns the query with a predicate as an additional condition. The predicate may contain comparisons
  /// between a field and a constant, joined by AND and OR. Traps for any other predicate.
  public func filter(using predicate: NSPredicate) -> Query { whereFilter(Filter(of: predicate)) }
}

extension Filter {
  fileprivate convenience init(of predicate: NSPredicate) {
    switch predicate {
    case let compound as NSCompoundPredicate:
      let parts = compound.subpredicates.compactMap { ($0 as? NSPredicate).map { Filter(of: $0).condition } }
      switch compound.compoundPredicateType {
      case .and: self.init(Self.joined(parts) { .all($0) })
      case .or: self.init(Self.joined(parts) { .any($0) })
      default: self.init(Self.placeholder(for: predicate))
      }
    case let comparison as NSComparisonPredicate: self.init(of: comparison)
    default: self.init(Self.placeholder(for: predicate))
    }
  }

  private convenience init(of comparison: NSComparisonPredicate) {
    let (left, right) = (comparison.leftExpression, comparison.rightExpression)
    let isMirrored = left.expressionType != .keyPath
    let (field, constant) = isMirrored ? (right, left) : (left, right)
    guard field.expressionType == .keyPath, constant.expressionType != .keyPath,
      let operation = Self.operation(comparison.predicateOperatorType, isMirrored)
    else {
      self.init(Self.placeholder(for: comparison))
      return
    }
    self.init(FieldPath.dotted(field.keyPath), operation, Self.value(constant))
  }

  /// Returns the value of an expression. For a list of expressions such as `{1, 2}`, returns a list of
  /// values.
  private static func value(_ expression: NSExpression) -> Any {
    guard expression.expressionType == .aggregate, let parts = expression.collection as? [NSExpression] else {
      return expression.constantValue ?? NSNull()
    }
    return parts.map(value)
  }

  private static func operation(
    _ type: NSComparisonPredicate.Operator, _ isMirrored: Bool
  ) -> FieldFilter.Operator? {
    switch type {
    case .equalTo: .equal
    case .notEqualTo: .notEqual
    case .lessThan: isMirrored ? .greaterThan : .lessThan
    case .lessThanOrEqualTo: isMirrored ? .greaterThanOrEqual : .lessThanOrEqual
    case .greaterThan: isMirrored ? .lessThan : .greaterThan
    case .greaterThanOrEqualTo: isMirrored ? .lessThanOrEqual : .greaterThanOrEqual
    case .in: isMirrored ? .arrayContains : .isIn
    case .contains: isMirrored ? .isIn : .arrayContains
    default: nil
    }
  }

  /// Reports a predicate that has no equivalent filter.
  private static func placeholder(for predicate: NSPredicate) -> Condition {
    ProgrammerError.report(
      "Invalid query. The predicate '\(predicate)' is not a comparison of a field with a constant, nor several "
        + "joined by AND or OR.")
    return placeholder
  }
}
#endif
