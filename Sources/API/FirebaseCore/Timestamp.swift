// A moment as the API knows it.

package import DocumentStore
public import Foundation

/// A moment between the years 1 and 9999, to the nanosecond, independent of any calendar or zone.
///
/// `moment = 1970-01-01T00:00:00Z + seconds + nanoseconds / 1_000_000_000`, and the nanoseconds count
/// forward also before 1970.
///
/// A document keeps whole microseconds: what is read back is the moment that was written, floored to
/// a multiple of 1000 nanoseconds. A `Date` holds still less for most moments, so equal timestamps
/// make equal dates, but a date made from a timestamp need not make that timestamp again.
///
/// ```swift
/// let start = Timestamp(seconds: 1_700_000_000, nanoseconds: 250_000_000)
/// print(start < Timestamp(), start.dateValue())
/// ```
public final class Timestamp: NSObject, NSCopying, Sendable {
  /// Whole seconds since 1970-01-01T00:00:00Z, rounded down: from 0001-01-01T00:00:00Z
  /// (-62135596800) to 9999-12-31T23:59:59Z (253402300799).
  public let seconds: Int64

  /// What comes on top of the seconds: 0 to 999999999, never negative.
  public let nanoseconds: Int32

  /// Traps outside the ranges of ``seconds`` and ``nanoseconds``.
  public init(seconds: Int64, nanoseconds: Int32) {
    if let problem = Self.problem(seconds: seconds, nanoseconds: nanoseconds) {
      ProgrammerError.trap(problem)
    }
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  /// The moment of the date, truncated to nanoseconds. Traps outside the years 1 to 9999.
  public convenience init(date: Date) {
    if let problem = Self.problem(date: date) { ProgrammerError.trap(problem) }
    let interval = date.timeIntervalSince1970
    // Rounding down is what borrows a second for a negative fraction. A Date counts from 2001 in a
    // Double, so near 1970 it has no moment whose fraction is close enough to 1 to become 1.
    let whole = interval.rounded(.down)
    self.init(seconds: Int64(whole), nanoseconds: Int32((interval - whole) * 1_000_000_000))
  }

  /// Now, by this machine's clock.
  public override convenience init() {
    self.init(date: Date())
  }

  /// The closest date; it may be off by less than a microsecond.
  public func dateValue() -> Date {
    Date(timeIntervalSince1970: Double(seconds) + Double(nanoseconds) / 1_000_000_000)
  }

  /// `.orderedAscending` if this moment comes before the other.
  public func compare(_ other: Timestamp) -> ComparisonResult {
    if self < other { return .orderedAscending }
    return other < self ? .orderedDescending : .orderedSame
  }

  /// The same of a date.
  package static func problem(date: Date) -> String? {
    let interval = date.timeIntervalSince1970
    guard let seconds = Int64(exactly: interval.rounded(.down)) else {
      return "Timestamp seconds out of range: \(interval)"
    }
    return problem(seconds: seconds, nanoseconds: 0)
  }

  /// Says why this is no moment between the years 1 and 9999. Nil if it is one.
  static func problem(seconds: Int64, nanoseconds: Int32) -> String? {
    guard (0..<1_000_000_000).contains(nanoseconds) else {
      return "Timestamp nanoseconds out of range: \(nanoseconds)"
    }
    guard StoredTimestamp.secondsRange.contains(seconds) else {
      return "Timestamp seconds out of range: \(seconds)"
    }
    return nil
  }

  /// The same object: a timestamp never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Equal means the same seconds and the same nanoseconds.
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

  /// This moment floored to microseconds, as a document keeps it.
  package var stored: StoredTimestamp {
    guard let stored = StoredTimestamp(seconds: seconds, nanoseconds: nanoseconds) else {
      preconditionFailure("\(self) is outside the range that its initialiser checked")
    }
    return stored
  }
}
