// Properties that record each assignment, even of an equal value.

/// Makes the next update write the property after any assignment, even of an equal value.
///
/// ```swift
/// class Member: Object {
///   @Field var nick: String?
///   @Field var score: Int?
/// }
/// ```
///
/// Without this wrapper, a property that is assigned an equal value or restored to its old value is not
/// written.
@propertyWrapper
public final class Field<Value> {
  /// The value. Access through `content` does not set `isTouched`.
  var content: Value
  var isTouched = false

  /// Creates a field with an initial value.
  public init(wrappedValue: Value) { content = wrappedValue }

  /// The value. An assignment or modification is recorded.
  public var wrappedValue: Value {
    get { content }
    // Modifies in place, so that an append does not copy the array.
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

/// A type-erased `Field`.
protocol AnyField: AnyObject {
  static var valueType: Any.Type { get }
  var anyContent: Any { get }
}

extension Field: AnyField {
  static var valueType: Any.Type { Value.self }
  var anyContent: Any { content }
}
