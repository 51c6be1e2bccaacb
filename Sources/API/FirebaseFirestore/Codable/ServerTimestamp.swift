// A property wrapper that writes the time of the commit.

public import FirebaseCore
private import Foundation

/// A type that can represent a timestamp.
public protocol ServerTimestampWrappable {
  /// Returns the Swift value for a stored timestamp.
  static func wrap(_ timestamp: Timestamp) throws -> Self
  /// Returns the timestamp to store for a value.
  static func unwrap(_ value: Self) throws -> Timestamp
}

extension Date: ServerTimestampWrappable {
  public static func wrap(_ timestamp: Timestamp) -> Date { timestamp.dateValue() }
  /// Returns the timestamp for a date. Throws `EncodingError` if the date is outside the years 1 to 9999.
  public static func unwrap(_ value: Date) throws -> Timestamp {
    if let problem = Timestamp.problem(date: value) {
      throw EncodingError.invalidValue(
        value, EncodingError.Context(codingPath: [], debugDescription: problem))
    }
    return Timestamp(date: value)
  }
}

extension Timestamp: ServerTimestampWrappable {
  public static func wrap(_ timestamp: Timestamp) -> Timestamp { timestamp }
  public static func unwrap(_ value: Timestamp) -> Timestamp { value }
}

/// A property whose nil is written as the time of the commit. Any other value is written unchanged. The
/// field is always a timestamp.
///
///     struct Message: Codable {
///       @ServerTimestamp var sent: Date?
///     }
///
/// A null field is decoded as nil. A timestamp that the server has not set yet reads as null. A missing
/// field throws `DecodingError.keyNotFound`.
@propertyWrapper
public struct ServerTimestamp<Value: ServerTimestampWrappable & Codable>: Codable {
  /// The time; nil is written as the time of the commit.
  public var wrappedValue: Value?

  /// Creates a property with this value.
  public init(wrappedValue value: Value?) { wrappedValue = value }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue = container.decodeNil() ? nil : try Value.wrap(container.decode(Timestamp.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    guard let wrappedValue else { return try container.encode(FieldValue.serverTimestamp()) }
    let timestamp: Timestamp
    do {
      timestamp = try Value.unwrap(wrappedValue)
    } catch EncodingError.invalidValue(let value, let context) {
      // `unwrap` does not know the coding path, so it is added here.
      throw EncodingError.invalidValue(
        value,
        EncodingError.Context(
          codingPath: encoder.codingPath + context.codingPath, debugDescription: context.debugDescription))
    }
    try container.encode(timestamp)
  }
}

extension ServerTimestamp: Equatable where Value: Equatable {}

extension ServerTimestamp: Hashable where Value: Hashable {}

extension ServerTimestamp: Sendable where Value: Sendable {}
