// The strategies of `Firestore.Encoder`.

public import Foundation

/// The namespace for the strategies of `Firestore.Encoder`.
public enum FirebaseDataEncoder {
  /// The representation of a `Date`.
  public enum DateEncodingStrategy {
    /// A `Timestamp`.
    case timestamp
    /// The representation that `Date` itself encodes: seconds since the year 2001.
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
    /// The representation that `Data` itself encodes: an array of numbers.
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
    /// These strings represent the three values.
    case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
  }

  /// The conversion of property names to field names. `String` keys of dictionaries are not converted; keys
  /// of other types that are stored as names are.
  public enum KeyEncodingStrategy {
    /// Uses the names of the coding keys unchanged.
    case useDefaultKeys
    /// Converts `oneTwoThree` to `one_two_three`.
    case convertToSnakeCase
    /// Calls the closure with the path of the value. The last key of the path is to be converted.
    case custom((_ codingPath: [any CodingKey]) -> any CodingKey)
  }
}
