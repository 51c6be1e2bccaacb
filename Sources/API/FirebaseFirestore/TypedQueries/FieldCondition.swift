// A condition of a typed query on a property.

import DocumentStore
private import FirebaseCore

/// A comparison of a property with values of its own type.
public struct FieldCondition<Value> {
  private let comparison: FieldFilter.Operator
  private let operand: (Firestore.Encoder) throws -> CodedValue

  private init(
    _ comparison: FieldFilter.Operator, _ operand: @escaping (Firestore.Encoder) throws -> CodedValue
  ) {
    self.comparison = comparison
    self.operand = operand
  }

  ///  Returns the filter. The operand is encoded in the form in which `decoder` expects the property.
  func filter(on field: PropertyField, _ decoder: Firestore.Decoder) -> Filter {
    // After a misuse, the operand may be a placeholder.
    guard ProgrammerError.reported == nil else { return Filter(Filter.placeholder) }
    do {
      return Filter(.field(field.path, comparison, try operand(decoder.operandEncoder(for: field))))
    } catch {
      ProgrammerError.report("The operand of a filter on '\(field.path)' cannot be encoded: \(error)")
      return Filter(Filter.placeholder)
    }
  }

  private static func one(_ comparison: FieldFilter.Operator, _ value: some Encodable) -> Self {
    Self(comparison) { try $0.encodeOperand(value) }
  }

  private static func list(_ comparison: FieldFilter.Operator, _ values: [some Encodable]) -> Self {
    Self(comparison) { encoder in
      .array(CodedArray(try values.map { try encoder.encodeOperand($0) }))
    }
  }
}

extension FieldCondition where Value: Encodable {
  /// The property equals this value.
  public static func equals(_ value: Value) -> Self { one(.equal, value) }

  /// The property differs from this value. Documents without the field, or with null, do not match.
  public static func differs(from value: Value) -> Self { one(.notEqual, value) }

  /// The property is less than this value.
  public static func below(_ value: Value) -> Self { one(.lessThan, value) }

  /// The property is less than or equal to this value.
  public static func atMost(_ value: Value) -> Self { one(.lessThanOrEqual, value) }

  /// The property is greater than this value.
  public static func above(_ value: Value) -> Self { one(.greaterThan, value) }

  /// The property is greater than or equal to this value.
  public static func atLeast(_ value: Value) -> Self { one(.greaterThanOrEqual, value) }

  /// The property equals one of these values.
  public static func isOne(of values: [Value]) -> Self { list(.isIn, values) }

  /// The property equals none of these values.
  public static func isNone(of values: [Value]) -> Self { list(.notIn, values) }
}

extension FieldCondition where Value: Collection, Value.Element: Encodable {
  /// The collection contains this element.
  public static func contains(_ element: Value.Element) -> Self {
    one(.arrayContains, element)
  }

  /// The collection contains at least one of these elements.
  public static func containsAny(of elements: [Value.Element]) -> Self {
    list(.arrayContainsAny, elements)
  }
}
