// Days and dates of the Gregorian calendar, for the years 1 to 9999.

/// A date.
struct CalendarDate: Equatable {
  var year: Int
  /// From 1 to 12.
  var month: Int
  /// From 1 on.
  var day: Int

  private static let daysPer400Years = 146_097
  /// The days from 0001-01-01 to 1970-01-01.
  private static let daysBefore1970 = 719_162

  init(year: Int, month: Int, day: Int) {
    self.year = year
    self.month = month
    self.day = day
  }

  /// The date of a day since 1970-01-01.
  init(dayOf1970 day: Int) {
    let days = day + Self.daysBefore1970
    // An estimate that is not too small, and at most one year too large.
    year = days * 400 / Self.daysPer400Years + 2
    while Self.days(beforeYear: year) > days { year -= 1 }
    var rest = days - Self.days(beforeYear: year)
    month = 1
    while rest >= Self.dayCount(ofMonth: month, year) {
      rest -= Self.dayCount(ofMonth: month, year)
      month += 1
    }
    self.day = rest + 1
  }

  var isValid: Bool {
    year >= 1 && (1...12).contains(month) && day >= 1 && day <= Self.dayCount(ofMonth: month, year)
  }

  /// The days since 1970-01-01.
  var dayOf1970: Int {
    let months = (1..<month).reduce(0) { $0 + Self.dayCount(ofMonth: $1, year) }
    return Self.days(beforeYear: year) + months + day - 1 - Self.daysBefore1970
  }

  private static func days(beforeYear year: Int) -> Int {
    let years = year - 1
    return years * 365 + years / 4 - years / 100 + years / 400
  }

  private static func dayCount(ofMonth month: Int, _ year: Int) -> Int {
    switch month {
    case 4, 6, 9, 11: 30
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    default: 31
    }
  }
}
