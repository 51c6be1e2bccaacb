// The strategies of `Firestore.Decoder`.

public import Foundation

/// The namespace for the strategies of `Firestore.Decoder`.
public enum FirebaseDataDecoder {
  /// The representation from which a `Date` is decoded.
  public enum DateDecodingStrategy {
    /// A `Timestamp`.
    case timestamp
    /// The representation that the decoder of `Date` itself reads: seconds since the year 2001.
    case deferredToDate
    /// A number of seconds.
    case secondsSince1970
    /// A number of milliseconds.
    case millisecondsSince1970
    /// A string such as `2026-08-01T12:00:00Z`.
    case iso8601
    /// A string in the format of the formatter.
    case formatted(DateFormatter)
    /// The date that the closure returns.
    case custom((any Decoder) throws -> Date)
  }

  /// The representation from which a `Data` is decoded.
  public enum DataDecodingStrategy {
    /// Bytes, or a Base64 string.
    case blob
    /// The representation that the decoder of `Data` itself reads: an array of numbers.
    case deferredToData
    /// A Base64 string.
    case base64
    /// The data that the closure returns.
    case custom((any Decoder) throws -> Data)
  }

  /// Whether strings can represent infinities and NaN. The numbers infinity and NaN themselves are always
  /// accepted.
  public enum NonConformingFloatDecodingStrategy {
    /// Decoding fails.
    case `throw`
    /// Accepts these strings for positive infinity, negative infinity and NaN.
    case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
  }

  /// The conversion of field names before they are compared with property names. In dictionaries, keys of
  /// type `String` are not converted, but keys of other types that are stored as field names are converted.
  /// If two field names become equal, the field whose original name sorts first by UTF-8 is used.
  public enum KeyDecodingStrategy {
    /// Uses the field names unchanged.
    case useDefaultKeys
    /// Converts `one_two_three` to `oneTwoThree`.
    case convertFromSnakeCase
    /// Calls the closure with the coding path of the value. The closure must return the last key of the path,
    /// converted.
    case custom((_ codingPath: [any CodingKey]) -> any CodingKey)
  }
}
