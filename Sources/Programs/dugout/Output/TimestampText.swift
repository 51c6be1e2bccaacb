// Parses timestamps of RFC 3339, and the looser forms that tables of other programs contain.
//
//   strict := date ("T" | "t" | " ") time zone
//   loose  := date [("T" | "t" | " ") time [" "*] [zone]]      without a zone, the time is in UTC
//   date   := YYYY-MM-DD
//   time   := HH:MM:SS ["." digits]                  loose: the seconds may be missing
//   zone   := "Z" | "z" | ("+" | "-") HH:MM          loose: also HHMM, HH and "UTC"

import DocumentStore

enum TimestampText {
  /// Parses text such as `2026-03-01T12:00:00.5+01:00`; returns nil if it is invalid.
  static func parse(_ text: String) -> StoredTimestamp? {
    var reader = Reader(rest: text[...].utf8)
    guard let day = reader.day(), reader.skipTimeMark(), let time = reader.time(needsSeconds: true),
      let offset = reader.zone(), reader.rest.isEmpty
    else { return nil }
    return timestamp(day, time, offset: offset)
  }

  /// Parses a timestamp in the loose form, such as a date or `2026-03-01 12:00`.
  static func parseLoosely(_ text: String) -> StoredTimestamp? {
    var reader = Reader(rest: text[...].utf8)
    guard let day = reader.day() else { return nil }
    guard !reader.rest.isEmpty else { return timestamp(day, Time(), offset: 0) }
    guard reader.skipTimeMark(), let time = reader.time(needsSeconds: false) else { return nil }
    while reader.skip(" ") {}
    guard !reader.rest.isEmpty else { return timestamp(day, time, offset: 0) }
    guard let offset = reader.looseZone(), reader.rest.isEmpty else { return nil }
    return timestamp(day, time, offset: offset)
  }

  private struct Time {
    var seconds: Int64 = 0
    var nanoseconds: Int32 = 0
  }

  private static func timestamp(_ day: Int64, _ time: Time, offset: Int64) -> StoredTimestamp? {
    StoredTimestamp(seconds: day * 86_400 + time.seconds - offset, nanoseconds: time.nanoseconds)
  }

  private struct Reader {
    var rest: Substring.UTF8View

    mutating func skip(_ letter: Unicode.Scalar) -> Bool {
      guard let first = rest.first, first == UInt8(ascii: letter) else { return false }
      rest.removeFirst()
      return true
    }

    mutating func skipTimeMark() -> Bool { skip("T") || skip("t") || skip(" ") }

    /// Reads exactly `count` digits.
    private mutating func number(_ count: Int) -> Int64? {
      var number: Int64 = 0
      for _ in 0..<count {
        guard let digit = digit() else { return nil }
        number = number * 10 + digit
      }
      return number
    }

    private mutating func digit() -> Int64? {
      guard let byte = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      rest.removeFirst()
      return Int64(byte - UInt8(ascii: "0"))
    }

    /// Returns the number of days since 1970.
    mutating func day() -> Int64? {
      guard let year = number(4), skip("-"), let month = number(2), skip("-"), let day = number(2),
        (1...12).contains(month), (1...TimestampText.days(inMonth: month, year)).contains(day)
      else { return nil }
      return TimestampText.daysSinceEpoch(year: year, month: month, day: day)
    }

    mutating func time(needsSeconds: Bool) -> Time? {
      guard let hour = number(2), skip(":"), let minute = number(2), hour < 24, minute < 60 else {
        return nil
      }
      var time = Time(seconds: hour * 3600 + minute * 60)
      guard skip(":") else { return needsSeconds ? nil : time }
      guard let second = number(2), second < 60 else { return nil }
      time.seconds += second
      guard skip(".") else { return time }
      guard let nanoseconds = fraction() else { return nil }
      time.nanoseconds = nanoseconds
      return time
    }

    /// Reads one to nine digits after the point.
    private mutating func fraction() -> Int32? {
      var (number, unit) = (Int64(0), Int64(1_000_000_000))
      while unit > 1, let digit = digit() {
        number = number * 10 + digit
        unit /= 10
      }
      return unit < 1_000_000_000 ? Int32(number * unit) : nil
    }

    /// Returns the offset in seconds.
    mutating func zone() -> Int64? {
      if skip("Z") || skip("z") { return 0 }
      guard let sign = sign(), let hours = number(2), skip(":"), let minutes = number(2) else { return nil }
      return sign * (hours * 3600 + minutes * 60)
    }

    mutating func looseZone() -> Int64? {
      if skip("Z") || skip("z") { return 0 }
      if skip("U") { return skip("T") && skip("C") ? 0 : nil }
      guard let sign = sign(), let hours = number(2) else { return nil }
      _ = skip(":")
      guard !rest.isEmpty else { return sign * hours * 3600 }
      return number(2).map { sign * (hours * 3600 + $0 * 60) }
    }

    private mutating func sign() -> Int64? { skip("+") ? 1 : skip("-") ? -1 : nil }
  }

  // MARK: Days

  private static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  private static func days(inMonth month: Int64, _ year: Int64) -> Int64 {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
    // The leap days of all earlier years.
    let before = year - 1
    let leaps = before / 4 - before / 100 + before / 400
    let inYear = (1..<month).reduce(Int64(0)) { $0 + days(inMonth: $1, year) }
    return 365 * before + leaps + inYear + day - 1 - 719_162
  }
}
