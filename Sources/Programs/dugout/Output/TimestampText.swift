// Parses timestamps of RFC 3339.

import DocumentStore

enum TimestampText {
  /// Parses text such as `2026-03-01T12:00:00.5+01:00`; returns nil if it is invalid.
  static func parse(_ text: String) -> StoredTimestamp? {
    let pattern = #/(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)/#
    guard let match = text.wholeMatch(of: pattern), let year = Int64(match.1), let month = Int64(match.2),
      let day = Int64(match.3), let hour = Int64(match.4), let minute = Int64(match.5),
      let second = Int64(match.6), (1...12).contains(month), (1...days(inMonth: month, year)).contains(day),
      hour < 24, minute < 60, second < 60
    else { return nil }
    let fraction = match.7.map { Int32($0 + String(repeating: "0", count: 9 - $0.count)) ?? 0 } ?? 0
    let seconds =
      daysSinceEpoch(year: year, month: month, day: day) * 86_400 + hour * 3600 + minute * 60 + second
    return StoredTimestamp(seconds: seconds - offset(match.8), nanoseconds: fraction)
  }

  private static func offset(_ text: Substring) -> Int64 {
    let parts = text.dropFirst().split(separator: ":").compactMap { Int64($0) }
    guard parts.count == 2 else { return 0 }
    return (text.first == "-" ? -1 : 1) * (parts[0] * 3600 + parts[1] * 60)
  }

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
