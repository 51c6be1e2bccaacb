// The property that the commit sets to its own time.

public import FirebaseCore
private import Foundation

/// What a moment can be kept as.
public protocol ServerTimestampWrappable {
  /// The value for a stored moment.
  static func wrap(_ timestamp: Timestamp) throws -> Self
  /// The moment that is stored for a value.
  static func unwrap(_ value: Self) throws -> Timestamp
}

extension Date: ServerTimestampWrappable {
  public static func wrap(_ timestamp: Timestamp) -> Date { timestamp.dateValue() }
  /// Throws `EncodingError` outside the years 1 to 9999.
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

/// Nil is written as the time of the commit, anything else as it is, always as a timestamp.
///
///     struct Message: Codable {
///       @ServerTimestamp var sent: Date?
///     }
///
/// A null field, as a timestamp that the server has not set yet reads, is nil; a missing one throws
/// `DecodingError.keyNotFound`.
@propertyWrapper
public struct ServerTimestamp<Value: ServerTimestampWrappable & Codable>: Codable {
  /// Nil asks the database for the time of the commit.
  public var wrappedValue: Value?

  /// Begins with this value.
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
      // A value does not know where it stands.
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
