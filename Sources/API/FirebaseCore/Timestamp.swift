// The timestamp of the API.

package import DocumentStore
public import Foundation

/// A point in time between the years 1 and 9999, in nanoseconds, independent of calendars and time zones.
///
/// `time = 1970-01-01T00:00:00Z + seconds + nanoseconds / 1_000_000_000`. The nanoseconds count forward even
/// before 1970.
///
/// A document stores whole microseconds, so a timestamp that is read back from a document is rounded down to
/// a multiple of 1000 nanoseconds. A `Date` is less precise than a timestamp for most times. Equal timestamps
/// give equal dates, but converting a timestamp to a date and back need not give the original timestamp.
///
/// ```swift
/// let start = Timestamp(seconds: 1_700_000_000, nanoseconds: 250_000_000)
/// print(start < Timestamp(), start.dateValue())
/// ```
public final class Timestamp: NSObject, NSCopying, Sendable {
  /// Whole seconds since 1970-01-01T00:00:00Z, rounded down: from 0001-01-01T00:00:00Z (-62135596800) to
  /// 9999-12-31T23:59:59Z (253402300799).
  public let seconds: Int64

  /// The fraction of the second, added to `seconds`: 0 to 999999999, never negative.
  public let nanoseconds: Int32

  /// Creates a timestamp. Traps outside the ranges of ``seconds`` and ``nanoseconds``.
  public init(seconds: Int64, nanoseconds: Int32) {
    let problem = Self.problem(seconds: seconds, nanoseconds: nanoseconds)
    if let problem { ProgrammerError.report(problem) }
    self.seconds = problem == nil ? seconds : 0
    self.nanoseconds = problem == nil ? nanoseconds : 0
  }

  /// Creates a timestamp from a date, truncated to nanoseconds. Traps outside the years 1 to 9999.
  public convenience init(date: Date) {
    if let problem = Self.problem(date: date) {
      ProgrammerError.report(problem)
      self.init(seconds: 0, nanoseconds: 0)
      return
    }
    let interval = date.timeIntervalSince1970
    // Rounding down keeps the fraction non-negative for times before 1970. The subtraction below never rounds
    // the fraction up to 1: a `Date` is a `Double` that counts from 2001, so dates near 1970 are too coarse
    // for a fraction that close to 1.
    let whole = interval.rounded(.down)
    self.init(seconds: Int64(whole), nanoseconds: Int32((interval - whole) * 1_000_000_000))
  }

  /// Creates a timestamp of the current time.
  public override convenience init() {
    self.init(date: Date())
  }

  /// Returns the nearest date, which may differ by less than a microsecond.
  public func dateValue() -> Date {
    Date(timeIntervalSince1970: Double(seconds) + Double(nanoseconds) / 1_000_000_000)
  }

  /// Returns `.orderedAscending` if this time is before the other one.
  public func compare(_ other: Timestamp) -> ComparisonResult {
    if self < other { return .orderedAscending }
    return other < self ? .orderedDescending : .orderedSame
  }

  /// Returns the reason why a date is outside the years 1 to 9999; nil if it is valid.
  package static func problem(date: Date) -> String? {
    let interval = date.timeIntervalSince1970
    guard let seconds = Int64(exactly: interval.rounded(.down)) else {
      return "Timestamp seconds out of range: \(interval)"
    }
    return problem(seconds: seconds, nanoseconds: 0)
  }

  /// Returns the reason why the values are outside their ranges; nil if they are valid.
  static func problem(seconds: Int64, nanoseconds: Int32) -> String? {
    guard (0..<1_000_000_000).contains(nanoseconds) else {
      return "Timestamp nanoseconds out of range: \(nanoseconds)"
    }
    guard StoredTimestamp.secondsRange.contains(seconds) else {
      return "Timestamp seconds out of range: \(seconds)"
    }
    return nil
  }

  /// Returns this object, because timestamps are immutable.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Whether seconds and nanoseconds are both equal.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? Timestamp else { return false }
    return seconds == other.seconds && nanoseconds == other.nanoseconds
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(seconds)
    hasher.combine(nanoseconds)
    return hasher.finalize()
  }

  public override var description: String {
    "<FIRTimestamp: seconds=\(seconds) nanoseconds=\(nanoseconds)>"
  }
}

extension Timestamp: Comparable {
  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
  }
}

extension Timestamp {
  package convenience init(_ stored: StoredTimestamp) {
    self.init(seconds: stored.seconds, nanoseconds: stored.nanoseconds)
  }

  /// This time rounded down to microseconds, as documents store it.
  package var stored: StoredTimestamp {
    guard let stored = StoredTimestamp(seconds: seconds, nanoseconds: nanoseconds) else {
      preconditionFailure("\(self) is outside the range that its initialiser checked")
    }
    return stored
  }
}
