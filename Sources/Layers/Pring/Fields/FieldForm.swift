// The values that properties hold, and their conversion to and from fields.

/// A value that a field of a document can hold.
protocol FieldForm {
  /// The stored form; nil if the field is left out.
  var storedForm: Any? { get }

  /// Returns the value of a stored form; nil if that is of another type. `current` is the present value of
  /// the property.
  static func local(from stored: Any, current: Self?) -> Self?

  /// Whether both have the same stored form.
  static func areSame(_ left: Self, _ right: Self) -> Bool

  /// Whether a value can change without an assignment. Then its stored form is remembered.
  static var changesInPlace: Bool { get }

  /// The element that an array stores for an element without a stored form; nil if it leaves the element
  /// out.
  static var absentElement: Any? { get }

  /// Two different values, which tell which property a key path reads. Nil for types that key paths do not
  /// name.
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
