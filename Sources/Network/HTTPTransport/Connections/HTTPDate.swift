// The field `date` of responses.

internal import ByteStore
internal import Libc

/// Times as HTTP writes them, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private struct Cached {
    var seconds = Int.min
    var text = ""
  }

  private static let cached = Locked(Cached())

  /// The current time. Written once a second.
  static func now() -> String {
    let seconds = Int(time(nil))
    return cached.withLock { cached in
      if cached.seconds != seconds { cached = Cached(seconds: seconds, text: text(seconds)) }
      return cached.text
    }
  }

  /// The time that is this number of seconds after the beginning of 1970.
  static func text(_ seconds: Int) -> String {
    let day = floorDivided(seconds, by: 86_400)
    let second = seconds - day * 86_400
    let (year, month, dayOfMonth) = date(ofDay: day)
    let weekday = days[day - floorDivided(day, by: 7) * 7]
    let time = "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))"
    return "\(weekday), \(two(dayOfMonth)) \(months[month - 1]) \(year) \(time) GMT"
  }

  /// The date in the Gregorian calendar. Years begin in March here, so that a leap day is the last of its
  /// year.
  private static func date(ofDay day: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = day + 719_468
    let era = floorDivided(shifted, by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let dayOfMonth = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfMonth)
  }

  private static func floorDivided(_ value: Int, by divisor: Int) -> Int {
    value >= 0 ? value / divisor : -((divisor - 1 - value) / divisor)
  }

  private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
