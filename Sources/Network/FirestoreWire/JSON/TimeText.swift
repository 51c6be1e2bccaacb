// Timestamps in JSON: RFC 3339.
//
//   time     := year "-" month "-" day "T" hour ":" minute ":" second ("." digit{1,9})? zone
//   zone     := "Z" | ("+" | "-") hour ":" minute
//
// Years are 0001 to 9999. Texts are written in UTC, with 0, 3, 6 or 9 digits of the second.

import DocumentStore

/// Reads and writes times as text.
package enum TimeText {
  private static let secondsPerDay: Int64 = 86_400
  /// The day of 0001-01-01, since 1970-01-01.
  private static let firstDay = StoredTimestamp.secondsRange.lowerBound / secondsPerDay

  // MARK: Reading

  /// Nil unless the text is a time of the years 1 to 9999.
  package static func parse(_ text: [UInt8]) -> (seconds: Int64, nanos: Int32)? {
    var cursor = Cursor(rest: text[...])
    guard let date = cursor.date(), cursor.skips("T"), let time = cursor.clock(), cursor.skips(":"),
      let second = cursor.number(2), second < 60, let nanos = cursor.fraction(), let zone = cursor.zone(),
      cursor.rest.isEmpty
    else { return nil }
    let seconds = Int64(date.dayOf1970) * secondsPerDay + Int64(time + second - zone)
    guard StoredTimestamp.secondsRange.contains(seconds) else { return nil }
    return (seconds, nanos)
  }

  private struct Cursor {
    var rest: ArraySlice<UInt8>

    mutating func skips(_ byte: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: byte) else { return false }
      rest.removeFirst()
      return true
    }

    /// A number with exactly `count` digits.
    mutating func number(_ count: Int) -> Int? {
      let digits = rest.prefix(count)
      guard digits.count == count, digits.allSatisfy(isDigit) else { return nil }
      rest.removeFirst(count)
      return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    mutating func date() -> CalendarDate? {
      guard let year = number(4), skips("-"), let month = number(2), skips("-"), let day = number(2) else {
        return nil
      }
      let date = CalendarDate(year: year, month: month, day: day)
      return date.isValid ? date : nil
    }

    /// The seconds of an hour and a minute.
    mutating func clock() -> Int? {
      guard let hour = number(2), skips(":"), let minute = number(2), hour < 24, minute < 60 else {
        return nil
      }
      return (hour * 60 + minute) * 60
    }

    /// The nanoseconds behind the point; 0 if there is none.
    mutating func fraction() -> Int32? {
      guard skips(".") else { return 0 }
      let count = rest.prefix(while: isDigit).count
      guard (1...9).contains(count), let digits = number(count) else { return nil }
      return (count..<9).reduce(Int32(digits)) { nanos, _ in nanos * 10 }
    }

    /// The seconds by which the zone is before UTC.
    mutating func zone() -> Int? {
      if skips("Z") { return 0 }
      let isWest = skips("-")
      guard isWest || skips("+"), let seconds = clock() else { return nil }
      return isWest ? -seconds : seconds
    }

    private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
  }

  // MARK: Writing

  /// Nil outside the years 1 to 9999, or if the nanoseconds are not those of a second.
  package static func format(seconds: Int64, nanos: Int32) -> String? {
    guard StoredTimestamp.secondsRange.contains(seconds), (0..<1_000_000_000).contains(nanos) else {
      return nil
    }
    // The day is rounded down, also before 1970.
    let day = (seconds - StoredTimestamp.secondsRange.lowerBound) / secondsPerDay + firstDay
    let second = Int(seconds - day * secondsPerDay)
    let date = CalendarDate(dayOf1970: Int(day))
    let parts = [second / 3600, second / 60 % 60, second % 60].map { padded($0, to: 2) }
    let time = parts.joined(separator: ":")
    return "\(padded(date.year, to: 4))-\(padded(date.month, to: 2))-\(padded(date.day, to: 2))T\(time)"
      + fraction(Int(nanos)) + "Z"
  }

  private static func fraction(_ nanos: Int) -> String {
    if nanos == 0 { return "" }
    if nanos % 1_000_000 == 0 { return "." + padded(nanos / 1_000_000, to: 3) }
    if nanos % 1000 == 0 { return "." + padded(nanos / 1000, to: 6) }
    return "." + padded(nanos, to: 9)
  }

  private static func padded(_ number: Int, to count: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, count - digits.count)) + digits
  }
}
