// What a typed query asks of a property.

import DocumentStore
private import FirebaseCore

/// A comparison with values of the property's own type.
public struct FieldCondition<Value> {
  private let comparison: FieldFilter.Operator
  private let operand: () throws -> CodedValue

  private init(_ comparison: FieldFilter.Operator, _ operand: @escaping () throws -> CodedValue) {
    self.comparison = comparison
    self.operand = operand
  }

  func filter(on field: StoredFieldPath) -> Filter {
    do {
      return Filter(.field(field, comparison, try operand()))
    } catch {
      ProgrammerError.trap("The operand of a filter on '\(field)' cannot be encoded: \(error)")
    }
  }

  private static func coded(_ value: some Encodable) throws -> CodedValue {
    try Firestore.Encoder().encodeOperand(value)
  }

  private static func coded(_ values: [some Encodable]) throws -> CodedValue {
    .array(CodedArray(try values.map { try coded($0) }))
  }
}

extension FieldCondition where Value: Encodable {
  /// The property equals this value.
  public static func equals(_ value: Value) -> Self { Self(.equal) { try coded(value) } }

  /// Documents without the field, or with null, do not match.
  public static func differs(from value: Value) -> Self { Self(.notEqual) { try coded(value) } }

  /// The property is less than this value.
  public static func below(_ value: Value) -> Self { Self(.lessThan) { try coded(value) } }

  /// The property is this value or less.
  public static func atMost(_ value: Value) -> Self { Self(.lessThanOrEqual) { try coded(value) } }

  /// The property is greater than this value.
  public static func above(_ value: Value) -> Self { Self(.greaterThan) { try coded(value) } }

  /// The property is this value or greater.
  public static func atLeast(_ value: Value) -> Self { Self(.greaterThanOrEqual) { try coded(value) } }

  /// The property is one of these values.
  public static func isOne(of values: [Value]) -> Self { Self(.isIn) { try coded(values) } }

  /// The property is none of these values.
  public static func isNone(of values: [Value]) -> Self { Self(.notIn) { try coded(values) } }
}

extension FieldCondition where Value: Collection, Value.Element: Encodable {
  /// The property has this element.
  public static func contains(_ element: Value.Element) -> Self {
    Self(.arrayContains) { try coded(element) }
  }

  /// The property has one of these elements.
  public static func containsAny(of elements: [Value.Element]) -> Self {
    Self(.arrayContainsAny) { try coded(elements) }
  }
}
