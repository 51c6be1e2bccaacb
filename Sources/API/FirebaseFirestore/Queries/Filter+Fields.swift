// Conditions on a single field, given by name or by path.

private import DocumentStore

// The label `isGreaterOrEqualTo` is the one that Firestore's `Filter` uses. `Query` uses
// `isGreaterThanOrEqualTo`.
extension Filter {
  /// The field exists and equals this value; 1 and 1.0 are equal. `NSNull()` and NaN are ordinary values.
  public class func whereField(_ field: String, isEqualTo value: Any) -> Filter {
    Filter(FieldPath.dotted(field), .equal, operand: value)
  }

  /// The field equals this value.
  public class func whereField(_ path: FieldPath, isEqualTo value: Any) -> Filter {
    Filter(path.stored, .equal, operand: value)
  }

  /// The field exists, is not null, and does not equal this value.
  public class func whereField(_ field: String, isNotEqualTo value: Any) -> Filter {
    Filter(FieldPath.dotted(field), .notEqual, operand: value)
  }

  /// The field exists, is not null, and does not equal this value.
  public class func whereField(_ path: FieldPath, isNotEqualTo value: Any) -> Filter {
    Filter(path.stored, .notEqual, operand: value)
  }

  /// The field's value is of the same kind as `value` and sorts before it.
  public class func whereField(_ field: String, isLessThan value: Any) -> Filter {
    Filter(FieldPath.dotted(field), .lessThan, operand: value)
  }

  /// The field's value is of the same kind as `value` and sorts before it.
  public class func whereField(_ path: FieldPath, isLessThan value: Any) -> Filter {
    Filter(path.stored, .lessThan, operand: value)
  }

  /// The field's value is of the same kind as `value`, and sorts before it or equals it.
  public class func whereField(_ field: String, isLessThanOrEqualTo value: Any) -> Filter {
    Filter(FieldPath.dotted(field), .lessThanOrEqual, operand: value)
  }

  /// The field's value is of the same kind as `value`, and sorts before it or equals it.
  public class func whereField(_ path: FieldPath, isLessThanOrEqualTo value: Any) -> Filter {
    Filter(path.stored, .lessThanOrEqual, operand: value)
  }

  /// The field's value is of the same kind as `value` and sorts after it.
  public class func whereField(_ field: String, isGreaterThan value: Any) -> Filter {
    Filter(FieldPath.dotted(field), .greaterThan, operand: value)
  }

  /// The field's value is of the same kind as `value` and sorts after it.
  public class func whereField(_ path: FieldPath, isGreaterThan value: Any) -> Filter {
    Filter(path.stored, .greaterThan, operand: value)
  }

  /// The field's value is of the same kind as `value`, and sorts after it or equals it.
  public class func whereField(_ field: String, isGreaterOrEqualTo value: Any) -> Filter {
    Filter(FieldPath.dotted(field), .greaterThanOrEqual, operand: value)
  }

  /// The field's value is of the same kind as `value`, and sorts after it or equals it.
  public class func whereField(_ path: FieldPath, isGreaterOrEqualTo value: Any) -> Filter {
    Filter(path.stored, .greaterThanOrEqual, operand: value)
  }

  /// The field is an array with this element.
  public class func whereField(_ field: String, arrayContains value: Any) -> Filter {
    Filter(FieldPath.dotted(field), .arrayContains, operand: value)
  }

  /// The field is an array with this element.
  public class func whereField(_ path: FieldPath, arrayContains value: Any) -> Filter {
    Filter(path.stored, .arrayContains, operand: value)
  }

  /// The field is an array with at least one of these elements.
  public class func whereField(_ field: String, arrayContainsAny values: [Any]) -> Filter {
    Filter(FieldPath.dotted(field), .arrayContainsAny, operand: values)
  }

  /// The field is an array with at least one of these elements.
  public class func whereField(_ path: FieldPath, arrayContainsAny values: [Any]) -> Filter {
    Filter(path.stored, .arrayContainsAny, operand: values)
  }

  /// The field equals one of these values. Null and NaN in `values` match nothing.
  public class func whereField(_ field: String, in values: [Any]) -> Filter {
    Filter(FieldPath.dotted(field), .isIn, operand: values)
  }

  /// The field equals one of these values.
  public class func whereField(_ path: FieldPath, in values: [Any]) -> Filter {
    Filter(path.stored, .isIn, operand: values)
  }

  /// The field exists, is not null, and equals none of these values. If null is among them, no document
  /// matches.
  public class func whereField(_ field: String, notIn values: [Any]) -> Filter {
    Filter(FieldPath.dotted(field), .notIn, operand: values)
  }

  /// The field exists, is not null, and equals none of these values. If null is among them, no document
  /// matches.
  public class func whereField(_ path: FieldPath, notIn values: [Any]) -> Filter {
    Filter(path.stored, .notIn, operand: values)
  }
}
