// The values that properties hold, and their conversion to and from fields.

/// A value that a field of a document can hold.
protocol FieldForm {
  /// The stored form; nil if the field is omitted.
  var storedForm: Any? { get }

  /// Returns the value that a stored form represents; nil if the stored form has another type. `current` is
  /// the present value of the property.
  static func local(from stored: Any, current: Self?) -> Self?

  /// Whether both values have the same stored form.
  static func areSame(_ left: Self, _ right: Self) -> Bool

  /// Whether a value can change without an assignment. The stored form of such a value is remembered for
  /// comparison.
  static var changesInPlace: Bool { get }

  /// The array element that replaces an element without a stored form; nil if the array omits the element.
  static var absentElement: Any? { get }

  /// Two different values with which a search determines the property of a key path. Nil if key paths to this
  /// type are not supported.
  static var samples: (Self, Self)? { get }
}

extension FieldForm {
  static var changesInPlace: Bool { false }
  static var absentElement: Any? { nil }
  static var samples: (Self, Self)? { nil }
}

extension FieldForm where Self: Equatable {
  static func areSame(_ left: Self, _ right: Self) -> Bool { left == right }
}

/// Values that are stored unchanged.
protocol PlainForm: FieldForm, Equatable {}

extension PlainForm {
  var storedForm: Any? { self }

  static func local(from stored: Any, current: Self?) -> Self? { stored as? Self }
}
