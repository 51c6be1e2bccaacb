// A property wrapper that records each assignment, even if the new value equals the old one.

/// A property wrapper that makes the next update write the property after any assignment, even of an equal
/// value.
///
/// ```swift
/// class Member: Object {
///   @Field var nick: String?
///   @Field var score: Int?
/// }
/// ```
///
/// Without this wrapper, an update does not write a property whose value is equal to the stored value.
@propertyWrapper
public final class Field<Value> {
  /// The value. Access through `content` does not set `isTouched`.
  var content: Value
  var isTouched = false

  /// Creates a field with an initial value.
  public init(wrappedValue: Value) { content = wrappedValue }

  /// The value. Assigning or modifying it sets `isTouched`.
  public var wrappedValue: Value {
    get { content }
    // Modifies the value in place, so that appending to an array does not copy the array.
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
