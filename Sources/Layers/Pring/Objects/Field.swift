// Properties that record each assignment, even of an equal value.

/// Marks a property so that the next update writes it after every assignment.
///
/// ```swift
/// class Member: Object {
///   @Field var nick: String?
///   @Field var score: Int?
/// }
/// ```
///
/// Without it, a property that is changed and changed back, or set to an equal value, has not changed.
@propertyWrapper
public final class Field<Value> {
  /// The value. Access to it is not recorded.
  var content: Value
  var isTouched = false

  /// Creates a field with this value.
  public init(wrappedValue: Value) { content = wrappedValue }

  /// The value. A set is recorded.
  public var wrappedValue: Value {
    get { content }
    // Modifies in place, so that an append does not copy an array.
    _modify {
      isTouched = true
      yield &content
    }
    set {
      isTouched = true
      content = newValue
    }
  }
}

/// A field of any type.
protocol AnyField: AnyObject {
  static var valueType: Any.Type { get }
  var anyContent: Any { get }
}

extension Field: AnyField {
  static var valueType: Any.Type { Value.self }
  var anyContent: Any { content }
}
