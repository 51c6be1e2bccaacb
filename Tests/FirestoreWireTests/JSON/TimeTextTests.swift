import Harness
import Testing

@testable import FirestoreWire

@Suite struct TimeTextTests {
  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0, 0), ("1969-12-31T23:59:59Z", -1, 0),
      ("0001-01-01T00:00:00Z", -62_135_596_800, 0),
      ("9999-12-31T23:59:59.999999999Z", 253_402_300_799, 999_999_999),
      ("2000-02-29T00:00:00.500Z", 951_782_400, 500_000_000),
      ("2024-12-31T12:34:56.000001Z", 1_735_648_496, 1000),
      ("1900-03-01T00:00:00.000000001Z", -2_203_891_200, 1),
    ] as [(String, Int64, Int32)])
  func timesAreReadAndWritten(text: String, seconds: Int64, nanos: Int32) {
    let time = TimeText.parse(Array(text.utf8))
    #expect(time?.seconds == seconds)
    #expect(time?.nanos == nanos)
    #expect(TimeText.format(seconds: seconds, nanos: nanos) == text)
  }

  @Test(arguments: [
    ("1970-01-01T01:00:00+01:00", "1970-01-01T00:00:00Z"),
    ("1969-12-31T16:00:00.5-08:00", "1970-01-01T00:00:00.500Z"),
    ("2020-01-01T00:00:00.10Z", "2020-01-01T00:00:00.100Z"),
    ("2020-01-01T00:00:00.1234Z", "2020-01-01T00:00:00.123400Z"),
    ("2020-01-01T00:00:00.0000000Z", "2020-01-01T00:00:00Z"),
  ])
  func otherFormsAreRead(text: String, canonical: String) throws {
    let time = try #require(TimeText.parse(Array(text.utf8)))
    #expect(TimeText.format(seconds: time.seconds, nanos: time.nanos) == canonical)
  }

  @Test(arguments: [
    "", "2020", "2020-01-01", "2020-01-01T00:00:00", "2020-01-01 00:00:00Z", "2020-1-01T00:00:00Z",
    "2020-13-01T00:00:00Z",
    "2020-00-01T00:00:00Z", "2020-02-30T00:00:00Z", "2019-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
    "2020-01-00T00:00:00Z",
    "2020-01-01T24:00:00Z", "2020-01-01T00:60:00Z", "2020-01-01T00:00:60Z", "2020-01-01T00:00:00.Z",
    "2020-01-01T00:00:00.1234567890Z", "2020-01-01T00:00:00ZZ", "2020-01-01T00:00:00+1:00",
    "2020-01-01T00:00:00+24:00",
    "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "12020-01-01T00:00:00Z",
    "-020-01-01T00:00:00Z", "20\u{661}0-01-01T00:00:00Z",
  ])
  func otherTextsAreRefused(text: String) {
    #expect(TimeText.parse(Array(text.utf8)) == nil)
  }

  @Test func timesOutsideTheRangeAreNotWritten() {
    #expect(TimeText.format(seconds: -62_135_596_801, nanos: 0) == nil)
    #expect(TimeText.format(seconds: 253_402_300_800, nanos: 0) == nil)
    #expect(TimeText.format(seconds: 0, nanos: -1) == nil)
    #expect(TimeText.format(seconds: 0, nanos: 1_000_000_000) == nil)
  }

  /// Walks through all days of the calendar.
  @Test func everyDayFollowsTheDayBefore() {
    var before = CalendarDate(year: 1, month: 1, day: 1)
    #expect(before.dayOf1970 == -719_162)
    for day in -719_161...2_932_896 {
      let date = CalendarDate(dayOf1970: day)
      let isNext =
        date.day == before.day + 1 && date.month == before.month && date.year == before.year
        || date.day == 1 && date.month == before.month + 1 && date.year == before.year
        || date.day == 1 && date.month == 1 && before.month == 12 && date.year == before.year + 1
      guard date.isValid, isNext, date.dayOf1970 == day else {
        Issue.record("\(date) follows \(before)")
        return
      }
      before = date
    }
    #expect(before == CalendarDate(year: 9999, month: 12, day: 31))
  }
}
