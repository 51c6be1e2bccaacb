// The choices that `Firestore.Encoder` offers.

public import Foundation

/// The owner of the strategies of `Firestore.Encoder`.
public enum FirebaseDataEncoder {
  /// What a `Date` becomes.
  public enum DateEncodingStrategy {
    /// A `Timestamp`.
    case timestamp
    /// What `Date` encodes itself: seconds since the year 2001.
    case deferredToDate
    /// A number of seconds.
    case secondsSince1970
    /// A number of milliseconds.
    case millisecondsSince1970
    /// Text such as `2026-08-01T12:00:00Z`; fractions of a second are dropped.
    case iso8601
    /// Text in the form of the formatter.
    case formatted(DateFormatter)
    /// What the closure encodes; an empty map if it encodes nothing.
    case custom((Date, any Encoder) throws -> Void)
  }

  /// What a `Data` becomes.
  public enum DataEncodingStrategy {
    /// Bytes.
    case blob
    /// What `Data` encodes itself: an array of numbers.
    case deferredToData
    /// Text.
    case base64
    /// What the closure encodes; an empty map if it encodes nothing.
    case custom((Data, any Encoder) throws -> Void)
  }

  /// What becomes of infinities and NaN.
  public enum NonConformingFloatEncodingStrategy {
    /// Encoding fails.
    case `throw`
    /// These texts stand for the three.
    case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
  }

  /// What the names of properties become. The keys of dictionaries stay if they are a `String`; keys of another
  /// type that become names are converted.
  public enum KeyEncodingStrategy {
    /// As the coding keys say.
    case useDefaultKeys
    /// `oneTwoThree` becomes `one_two_three`.
    case convertToSnakeCase
    /// The closure gets the path to the value; its last key is the one to convert.
    case custom((_ codingPath: [any CodingKey]) -> any CodingKey)
  }
}
