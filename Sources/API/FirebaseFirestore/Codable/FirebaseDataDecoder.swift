// The strategies of `Firestore.Decoder`.

public import Foundation

/// The namespace for the strategies of `Firestore.Decoder`.
public enum FirebaseDataDecoder {
  /// The representation that a `Date` is decoded from.
  public enum DateDecodingStrategy {
    /// A `Timestamp`.
    case timestamp
    /// The representation that `Date` itself decodes: seconds since the year 2001.
    case deferredToDate
    /// A number of seconds.
    case secondsSince1970
    /// A number of milliseconds.
    case millisecondsSince1970
    /// A string such as `2026-08-01T12:00:00Z`.
    case iso8601
    /// A string in the format of the formatter.
    case formatted(DateFormatter)
    /// The result of the closure.
    case custom((any Decoder) throws -> Date)
  }

  /// The representation that a `Data` is decoded from.
  public enum DataDecodingStrategy {
    /// Bytes, or a Base64 string.
    case blob
    /// The representation that `Data` itself decodes: an array of numbers.
    case deferredToData
    /// A Base64 string.
    case base64
    /// The result of the closure.
    case custom((any Decoder) throws -> Data)
  }

  /// Whether strings can represent infinities and NaN. Numbers with these values are always accepted.
  public enum NonConformingFloatDecodingStrategy {
    /// Decoding fails.
    case `throw`
    /// These strings represent the three values.
    case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
  }

  /// The conversion of field names before they are compared with property names. `String` keys of
  /// dictionaries are not converted; keys of other types that are stored as names are. If two field names
  /// become equal, the first one by UTF-8 counts.
  public enum KeyDecodingStrategy {
    /// Uses the names unchanged.
    case useDefaultKeys
    /// Converts `one_two_three` to `oneTwoThree`.
    case convertFromSnakeCase
    /// Calls the closure with the path of the value. The last key of the path is to be converted.
    case custom((_ codingPath: [any CodingKey]) -> any CodingKey)
  }
}
