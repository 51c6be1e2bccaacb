// The strategies of `Firestore.Encoder`.

public import Foundation

/// The namespace for the strategies of `Firestore.Encoder`.
public enum FirebaseDataEncoder {
  /// The representation of a `Date`.
  public enum DateEncodingStrategy {
    /// A `Timestamp`.
    case timestamp
    /// The representation that the encoder of `Date` itself writes: seconds since the year 2001.
    case deferredToDate
    /// A number of seconds.
    case secondsSince1970
    /// A number of milliseconds.
    case millisecondsSince1970
    /// A string such as `2026-08-01T12:00:00Z`, without fractions of a second.
    case iso8601
    /// A string in the format of the formatter.
    case formatted(DateFormatter)
    /// The value that the closure encodes, or an empty map if it encodes nothing.
    case custom((Date, any Encoder) throws -> Void)
  }

  /// The representation of a `Data`.
  public enum DataEncodingStrategy {
    /// Bytes.
    case blob
    /// The representation that the encoder of `Data` itself writes: an array of numbers.
    case deferredToData
    /// A Base64 string.
    case base64
    /// The value that the closure encodes, or an empty map if it encodes nothing.
    case custom((Data, any Encoder) throws -> Void)
  }

  /// The representation of infinities and NaN.
  public enum NonConformingFloatEncodingStrategy {
    /// Encoding fails.
    case `throw`
    /// Writes these strings for positive infinity, negative infinity and NaN.
    case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
  }

  /// The conversion of property names to field names. In dictionaries, keys of type `String` are not
  /// converted, but keys of other types that are stored as field names are converted.
  public enum KeyEncodingStrategy {
    /// Uses the names of the coding keys unchanged.
    case useDefaultKeys
    /// Converts `oneTwoThree` to `one_two_three`.
    case convertToSnakeCase
    /// Calls the closure with the coding path of the value. The closure must return the last key of the path,
    /// converted.
    case custom((_ codingPath: [any CodingKey]) -> any CodingKey)
  }
}
