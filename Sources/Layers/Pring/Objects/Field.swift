// Properties that remember that they were set, even to what they were.

/// Marks a property whose every assignment is to be written by the next update.
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
  /// The value, without a trace.
  var content: Value
  var isTouched = false

  /// Begins with this value.
  public init(wrappedValue: Value) { content = wrappedValue }

  /// What the field has.
  public var wrappedValue: Value {
    get { content }
    // In place: an array in it is not copied to be appended to.
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
