// What a property may hold: how a field keeps it, and back.

/// A value that a field of a document can hold.
protocol FieldForm {
  /// As the field has it; nil if there is to be no field.
  var storedForm: Any? { get }

  /// Nil if what is stored is something else. `current` is what the property holds.
  static func local(from stored: Any, current: Self?) -> Self?

  /// Whether both would be stored as the same.
  static func areSame(_ left: Self, _ right: Self) -> Bool

  /// Whether it can change without being assigned, so that what it was is remembered in its stored form.
  static var changesInPlace: Bool { get }

  /// What an array has for an element without a stored form; nil if it leaves it out.
  static var absentElement: Any? { get }

  /// Two values that differ, to find out which property a key path reads. Nil for what key paths do not name.
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

/// What fields hold without any change.
protocol PlainForm: FieldForm, Equatable {}

extension PlainForm {
  var storedForm: Any? { self }

  static func local(from stored: Any, current: Self?) -> Self? { stored as? Self }
}
