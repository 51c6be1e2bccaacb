// Converts Foundation predicates to filters for typed queries. These expressions have a filter:
//
// - conditions combined with `&&` and `||`
// - a comparison between a property and an operand, which is any expression without a property
// - a Boolean property, or its negation
// - a property that contains an operand, or an operand that contains a property
//
// Any other expression traps.

private import DocumentStore
private import FirebaseCore
public import Foundation

extension TypedQuery {
  /// Returns the query with a predicate as an additional condition, which the database evaluates:
  ///
  /// ```swift
  /// users.filter(using: #Predicate { $0.age >= 18 && ($0.isActive || $0.tags.contains("staff")) })
  /// ```
  ///
  /// The operators `==`, `!=`, `<`, `<=`, `>` and `>=` compare properties with values. `&&` and `||` combine
  /// conditions. `contains` tests whether an array contains a value; the property can be the array or the
  /// value. Any other expression traps. The rules for filters apply: a document without the field matches no
  /// comparison, not even `!=`, and nil is compared as null.
  public func filter(using predicate: Predicate<Model>) -> TypedQuery {
    let fields = PredicateFields<Model>(decoder: decoder(), firestore: query.firestore)
    do {
      return with(query.whereFilter(try fields.filter(predicate.expression)))
    } catch {
      ProgrammerError.report("The database cannot evaluate this predicate: \(error)")
      return with(query.placeholder)
    }
  }

  /// Returns the query with a filter on named fields as an additional condition. The filter may be a
  /// composite of several filters.
  public func filter(_ filter: Filter) -> TypedQuery { with(query.whereFilter(filter)) }
}

/// An expression that has no equivalent filter.
private struct NoFilter: Error, CustomStringConvertible {
  let description: String

  init(_ expression: Any) { description = "\(type(of: expression)) is no filter." }
}

/// The fields for the properties that a predicate uses.
private struct PredicateFields<Model: Decodable> {
  let decoder: Firestore.Decoder
  let firestore: Firestore

  func filter(_ expression: Any) throws -> Filter {
    if let expression = expression as? any FilterExpression { return try expression.filter(self) }
    // A Boolean property used as a condition.
    guard let field = field(expression) else { throw NoFilter(expression) }
    return Filter(.field(field.path, .equal, .stored(.boolean(true))))
  }

  /// Returns the field of an expression; nil if it is not a property.
  func field(_ expression: Any) -> PropertyField? {
    (expression as? any PropertyExpression).flatMap { field(of: $0) }
  }

  private func field(of expression: some PropertyExpression) -> PropertyField? {
    expression.property(of: Model.self).map { FieldNames.field(of: $0, decoder, firestore: firestore) }
  }

  /// Evaluates an operand. Throws if the expression contains a property.
  func operand(_ expression: some PredicateExpression, of field: PropertyField) throws -> CodedValue {
    guard let value = try expression.evaluate(PredicateBindings()) as? any Encodable else {
      throw NoFilter(expression)
    }
    return try decoder.operandEncoder(for: field).encodeOperand(value)
  }

  /// Returns the filter for a comparison. If the property is on the right side, the filter uses the operator
  /// `mirrored`.
  func comparison(
    _ left: some PredicateExpression, _ comparison: FieldFilter.Operator, right: some PredicateExpression,
    mirrored: FieldFilter.Operator
  ) throws -> Filter {
    if let field = field(left) {
      return Filter(.field(field.path, comparison, try operand(right, of: field)))
    }
    guard let field = field(right) else { throw NoFilter(left) }
    return Filter(.field(field.path, mirrored, try operand(left, of: field)))
  }
}

// MARK: Properties

private protocol PropertyExpression: PredicateExpression {
  /// Returns the key path of the property. Returns nil if the expression is not a property of the model
  /// itself.
  func property<Model>(of type: Model.Type) -> Swift.KeyPath<Model, Output>?
}

extension PredicateExpressions.Variable: PropertyExpression {
  fileprivate func property<Model>(of type: Model.Type) -> Swift.KeyPath<Model, Output>? {
    (\Model.self as AnyKeyPath) as? Swift.KeyPath<Model, Output>
  }
}

extension PredicateExpressions.KeyPath: PropertyExpression {
  fileprivate func property<Model>(of type: Model.Type) -> Swift.KeyPath<Model, Output>? {
    guard let root = root as? any PropertyExpression else { return nil }
    func path(_ root: some PropertyExpression) -> AnyKeyPath? { root.property(of: type) }
    return path(root)?.appending(path: keyPath) as? Swift.KeyPath<Model, Output>
  }
}

// MARK: Conditions

private protocol FilterExpression {
  func filter<Model>(_ fields: PredicateFields<Model>) throws -> Filter
}

extension PredicateExpressions.Conjunction: FilterExpression {
  fileprivate func filter<Model>(_ fields: PredicateFields<Model>) throws -> Filter {
    .andFilter([try fields.filter(lhs), try fields.filter(rhs)])
  }
}

extension PredicateExpressions.Disjunction: FilterExpression {
  fileprivate func filter<Model>(_ fields: PredicateFields<Model>) throws -> Filter {
    .orFilter([try fields.filter(lhs), try fields.filter(rhs)])
  }
}

extension PredicateExpressions.Negation: FilterExpression {
  fileprivate func filter<Model>(_ fields: PredicateFields<Model>) throws -> Filter {
    guard let field = fields.field(wrapped) else { throw NoFilter(self) }
    return Filter(.field(field.path, .equal, .stored(.boolean(false))))
  }
}

extension PredicateExpressions.Equal: FilterExpression {
  fileprivate func filter<Model>(_ fields: PredicateFields<Model>) throws -> Filter {
    try fields.comparison(lhs, .equal, right: rhs, mirrored: .equal)
  }
}

extension PredicateExpressions.NotEqual: FilterExpression {
  fileprivate func filter<Model>(_ fields: PredicateFields<Model>) throws -> Filter {
    try fields.comparison(lhs, .notEqual, right: rhs, mirrored: .notEqual)
  }
}

extension PredicateExpressions.Comparison: FilterExpression {
  fileprivate func filter<Model>(_ fields: PredicateFields<Model>) throws -> Filter {
    switch op {
    case .lessThan: return try fields.comparison(lhs, .lessThan, right: rhs, mirrored: .greaterThan)
    case .lessThanOrEqual:
      return try fields.comparison(lhs, .lessThanOrEqual, right: rhs, mirrored: .greaterThanOrEqual)
    case .greaterThan: return try fields.comparison(lhs, .greaterThan, right: rhs, mirrored: .lessThan)
    case .greaterThanOrEqual:
      return try fields.comparison(lhs, .greaterThanOrEqual, right: rhs, mirrored: .lessThanOrEqual)
    @unknown default: throw NoFilter(self)
    }
  }
}

extension PredicateExpressions.SequenceContains: FilterExpression {
  fileprivate func filter<Model>(_ fields: PredicateFields<Model>) throws -> Filter {
    try fields.comparison(sequence, .arrayContains, right: element, mirrored: .isIn)
  }
}
