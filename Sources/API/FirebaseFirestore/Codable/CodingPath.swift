// Coding keys that the coders create, and the coding paths of their errors.

/// The key of an array element.
struct IndexKey: CodingKey {
  let index: Int

  init(_ index: Int) { self.index = index }

  var stringValue: String { "Index \(index)" }
  var intValue: Int? { index }

  init?(intValue: Int) { index = intValue }
  init?(stringValue: String) { nil }
}

/// The key of a field whose name was converted, or of a superclass.
struct NameKey: CodingKey {
  static let `super` = NameKey("super")

  let stringValue: String
  var intValue: Int? { nil }

  init(_ name: String) { stringValue = name }

  init?(stringValue: String) { self.init(stringValue) }
  init?(intValue: Int) { nil }
}

extension UserDataError {
  /// Returns this error as an `EncodingError`, for callers of an encoder.
  package func asEncodingError(of value: Any) -> EncodingError {
    .invalidValue(
      value,
      EncodingError.Context(codingPath: (field ?? []).map(NameKey.init), debugDescription: message))
  }
}
