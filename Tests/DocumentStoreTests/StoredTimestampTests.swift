// Timestamps: their range to the microsecond, and rounding.

import DocumentStore
import Testing

@Suite struct StoredTimestampTests {
  @Test func timestampsReachFromTheYear1ToTheYear9999() {
    #expect(StoredTimestamp(microseconds: -62_135_596_800_000_000) != nil)
    #expect(StoredTimestamp(microseconds: -62_135_596_800_000_001) == nil)
    #expect(StoredTimestamp(microseconds: 253_402_300_799_999_999) != nil)
    #expect(StoredTimestamp(microseconds: 253_402_300_800_000_000) == nil)
    #expect(StoredTimestamp(microseconds: .min) == nil)
    #expect(StoredTimestamp(microseconds: .max) == nil)

    #expect(StoredTimestamp(seconds: -62_135_596_800, nanoseconds: 0) == .first)
    #expect(StoredTimestamp(seconds: -62_135_596_801, nanoseconds: 999_999_999) == nil)
    #expect(StoredTimestamp(seconds: 253_402_300_799, nanoseconds: 999_999_999) == .last)
    #expect(StoredTimestamp(seconds: 253_402_300_800, nanoseconds: 0) == nil)
    #expect(StoredTimestamp(seconds: .min, nanoseconds: 0) == nil)
    #expect(StoredTimestamp(seconds: .max, nanoseconds: 0) == nil)
  }

  @Test func nanosecondsAreFewerThanASecond() {
    #expect(StoredTimestamp(seconds: 0, nanoseconds: -1) == nil)
    #expect(StoredTimestamp(seconds: 0, nanoseconds: 0) != nil)
    #expect(StoredTimestamp(seconds: 0, nanoseconds: 999_999_999) != nil)
    #expect(StoredTimestamp(seconds: 0, nanoseconds: 1_000_000_000) == nil)
    #expect(StoredTimestamp(seconds: 0, nanoseconds: .min) == nil)
    #expect(StoredTimestamp(seconds: 0, nanoseconds: .max) == nil)
  }

  @Test func nanosecondsAreFlooredAlsoBefore1970() {
    #expect(StoredTimestamp(seconds: 0, nanoseconds: 999) == timestamp(0))
    #expect(StoredTimestamp(seconds: 0, nanoseconds: 1000) == timestamp(1))
    #expect(StoredTimestamp(seconds: -1, nanoseconds: 999_999_999) == timestamp(-1))
    #expect(StoredTimestamp(seconds: -1, nanoseconds: 1999) == timestamp(-999_999))
  }

  @Test func timestampSplitsIntoSecondsAndNanoseconds() {
    let parts: [(microseconds: Int64, seconds: Int64, nanoseconds: Int32)] = [
      (0, 0, 0), (1, 0, 1000), (999_999, 0, 999_999_000), (1_000_000, 1, 0), (-1, -1, 999_999_000),
      (-1_000_000, -1, 0), (-1_000_001, -2, 999_999_000),
    ]
    let timestamps = parts.map { timestamp($0.microseconds) }
    #expect(timestamps.map(\.seconds) == parts.map { $0.seconds })
    #expect(timestamps.map(\.nanoseconds) == parts.map { $0.nanoseconds })
    #expect(parts.map { StoredTimestamp(seconds: $0.seconds, nanoseconds: $0.nanoseconds) } == timestamps)
  }

  @Test func timestampsCompareByTime() {
    let ascending = [
      StoredTimestamp.first, timestamp(-1_000_001), timestamp(-1), timestamp(0), timestamp(1), .last,
    ]
    var wrong: [String] = []
    for (earlier, later) in zip(ascending, ascending.dropFirst())
    where !(earlier < later) || later < earlier || later < later {
      wrong.append("\(earlier) and \(later)")
    }
    #expect(wrong == [])
  }
}
