// A moment as documents store it.

/// A moment between the years 1 and 9999, in whole microseconds.
public struct StoredTimestamp: Hashable, Comparable, Sendable {
  /// The years 1 to 9999.
  public static let secondsRange: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  /// Microseconds since 1970-01-01T00:00:00Z.
  public let microseconds: Int64

  package static let epoch = StoredTimestamp(sinceEpoch: 0)
  /// The time of a record whose head cannot be read: before all others, and equal to none that a caller can have.
  static let unreadable = StoredTimestamp(sinceEpoch: .min)

  private init(sinceEpoch microseconds: Int64) { self.microseconds = microseconds }

  /// Nil outside the years 1 to 9999.
  public init?(microseconds: Int64) {
    let (seconds, rest) = Self.split(microseconds)
    guard Self.secondsRange.contains(seconds), rest >= 0 else { return nil }
    self.microseconds = microseconds
  }

  /// Nanoseconds are floored to microseconds. Nil for what is no moment between the years 1 and 9999.
  public init?(seconds: Int64, nanoseconds: Int32) {
    guard Self.secondsRange.contains(seconds), (0..<1_000_000_000).contains(nanoseconds) else {
      return nil
    }
    microseconds = seconds * 1_000_000 + Int64(nanoseconds / 1000)
  }

  /// Since 1970, without leap seconds.
  public var seconds: Int64 { Self.split(microseconds).seconds }

  /// 0 ... 999_999_000, always a multiple of 1000.
  public var nanoseconds: Int32 { Int32(Self.split(microseconds).rest) * 1000 }

  public static func < (left: Self, right: Self) -> Bool { left.microseconds < right.microseconds }

  private static func split(_ microseconds: Int64) -> (seconds: Int64, rest: Int64) {
    let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return remainder < 0 ? (quotient - 1, remainder + 1_000_000) : (quotient, remainder)
  }
}
