// The choices that `Firestore.Decoder` offers.

public import Foundation

/// The owner of the strategies of `Firestore.Decoder`.
public enum FirebaseDataDecoder {
  /// What a `Date` is read from.
  public enum DateDecodingStrategy {
    /// A `Timestamp`.
    case timestamp
    /// What `Date` decodes itself: seconds since the year 2001.
    case deferredToDate
    /// A number of seconds.
    case secondsSince1970
    /// A number of milliseconds.
    case millisecondsSince1970
    /// Text such as `2026-08-01T12:00:00Z`.
    case iso8601
    /// Text in the form of the formatter.
    case formatted(DateFormatter)
    /// What the closure makes of it.
    case custom((any Decoder) throws -> Date)
  }

  /// What a `Data` is read from.
  public enum DataDecodingStrategy {
    /// Bytes, or base64 text.
    case blob
    /// What `Data` decodes itself: an array of numbers.
    case deferredToData
    /// Base64 text.
    case base64
    /// What the closure makes of it.
    case custom((any Decoder) throws -> Data)
  }

  /// Whether text may stand for infinities and NaN. As numbers they are always accepted.
  public enum NonConformingFloatDecodingStrategy {
    /// Decoding fails.
    case `throw`
    /// These texts stand for the three.
    case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
  }

  /// What field names become before they are compared with the names of properties. The keys of dictionaries
  /// stay if they are a `String`; keys of another type that names stand for are converted. Of two fields that
  /// become one, the first by UTF-8 counts.
  public enum KeyDecodingStrategy {
    /// As the coding keys say.
    case useDefaultKeys
    /// `one_two_three` becomes `oneTwoThree`.
    case convertFromSnakeCase
    /// The closure gets the path to the value; its last key is the one to convert.
    case custom((_ codingPath: [any CodingKey]) -> any CodingKey)
  }
}
