// A property wrapper that writes nil as null.

/// A property whose nil is written as null. A plain optional would have no field.
///
///     struct Task: Codable {
///       @ExplicitNull var due: Date?
///     }
///
/// A null field is decoded as nil. A missing field throws `DecodingError.keyNotFound`.
@propertyWrapper
public struct ExplicitNull<Value: Codable>: Codable {
  /// The value; nil is stored as null.
  public var wrappedValue: Value?

  /// Creates a property with this value.
  public init(wrappedValue value: Value?) { wrappedValue = value }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
  }
}

extension ExplicitNull: Equatable where Value: Equatable {}

extension ExplicitNull: Hashable where Value: Hashable {}

extension ExplicitNull: Sendable where Value: Sendable {}
