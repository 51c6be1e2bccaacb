// Timestamps in documents.

/// A timestamp between the years 1 and 9999, in whole microseconds.
public struct StoredTimestamp: Hashable, Comparable, Sendable {
  /// The seconds of the years 1 to 9999.
  public static let secondsRange: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  /// Microseconds since 1970-01-01T00:00:00Z.
  public let microseconds: Int64

  package static let epoch = StoredTimestamp(sinceEpoch: 0)
  /// The time of a record with an unreadable head. It sorts before all valid times and equals none.
  static let unreadable = StoredTimestamp(sinceEpoch: .min)

  private init(sinceEpoch microseconds: Int64) { self.microseconds = microseconds }

  /// Nil outside the years 1 to 9999.
  public init?(microseconds: Int64) {
    let (seconds, rest) = Self.split(microseconds)
    guard Self.secondsRange.contains(seconds), rest >= 0 else { return nil }
    self.microseconds = microseconds
  }

  /// Rounds down to microseconds. Nil if the arguments are not a time between the years 1 and 9999.
  public init?(seconds: Int64, nanoseconds: Int32) {
    guard Self.secondsRange.contains(seconds), (0..<1_000_000_000).contains(nanoseconds) else {
      return nil
    }
    microseconds = seconds * 1_000_000 + Int64(nanoseconds / 1000)
  }

  /// Seconds since 1970, without leap seconds.
  public var seconds: Int64 { Self.split(microseconds).seconds }

  /// Nanoseconds of the second: 0 ... 999_999_000, a multiple of 1000.
  public var nanoseconds: Int32 { Int32(Self.split(microseconds).rest) * 1000 }

  public static func < (left: Self, right: Self) -> Bool { left.microseconds < right.microseconds }

  private static func split(_ microseconds: Int64) -> (seconds: Int64, rest: Int64) {
    let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return remainder < 0 ? (quotient - 1, remainder + 1_000_000) : (quotient, remainder)
  }
}
