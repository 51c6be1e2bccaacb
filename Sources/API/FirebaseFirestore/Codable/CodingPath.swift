// Coding keys that the coders create.

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
