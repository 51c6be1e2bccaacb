// Timestamps: range, order, text and conversions.

import FirebaseCore
import Testing

private let first = Timestamp(seconds: -62_135_596_800, nanoseconds: 0)
private let last = Timestamp(seconds: 253_402_300_799, nanoseconds: 999_999_999)

@Suite struct TimestampTests {
  @Test func timestampKeepsSecondsAndNanosecondsAsGiven() {
    let timestamp = Timestamp(seconds: -5, nanoseconds: 7)
    #expect(timestamp.seconds == -5)
    #expect(timestamp.nanoseconds == 7)
  }

  @Test func descriptionMatchesFirebase() {
    let timestamp = Timestamp(seconds: -5, nanoseconds: 7)
    #expect(timestamp.description == "<FIRTimestamp: seconds=-5 nanoseconds=7>")
    #expect("\(timestamp)" == "<FIRTimestamp: seconds=-5 nanoseconds=7>")
  }

  @Test func timestampWithoutArgumentsIsNow() {
    let before = Timestamp(date: Date())
    let now = Timestamp()
    let after = Timestamp(date: Date())
    #expect((before...after).contains(now))
  }

  // MARK: Range

  @Test func theFirstAndTheLastTimestampAreInRange() {
    #expect(first.dateValue().timeIntervalSince1970 == -62_135_596_800)
    #expect(last.seconds == 253_402_300_799)
    #expect(last.nanoseconds == 999_999_999)
  }

  @Test func nanosecondsBelowZeroTrap() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Timestamp(seconds: 0, nanoseconds: -1)
    }
    expectMessage("Timestamp nanoseconds out of range: -1", from: result)
  }

  @Test func aBillionNanosecondsTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Timestamp(seconds: 0, nanoseconds: 1_000_000_000)
    }
    expectMessage("Timestamp nanoseconds out of range: 1000000000", from: result)
  }

  @Test func theSecondBeforeTheYear1Traps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Timestamp(seconds: -62_135_596_801, nanoseconds: 0)
    }
    expectMessage("Timestamp seconds out of range: -62135596801", from: result)
  }

  @Test func theSecondAfterTheYear9999Traps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Timestamp(seconds: 253_402_300_800, nanoseconds: 0)
    }
    expectMessage("Timestamp seconds out of range: 253402300800", from: result)
  }

  @Test func aDateAfterTheYear9999Traps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Timestamp(date: Date(timeIntervalSince1970: 253_402_300_800))
    }
    expectMessage("Timestamp seconds out of range: 253402300800", from: result)
  }

  @Test func aDateThatIsNotANumberTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Timestamp(date: Date(timeIntervalSince1970: .nan))
    }
    expectMessage("Timestamp seconds out of range: nan", from: result)
  }

  @Test func aDateTooFarForAnyIntegerTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Timestamp(date: Date(timeIntervalSince1970: -.infinity))
    }
    expectMessage("Timestamp seconds out of range: -inf", from: result)
  }

  // MARK: Dates

  @Test(
    arguments: [
      (0.0, 0, 0), (1.5, 1, 500_000_000), (-1.0, -1, 0), (-0.25, -1, 750_000_000),
      (-1.5, -2, 500_000_000), (-62_135_596_800, -62_135_596_800, 0),
      (1_700_000_000.25, 1_700_000_000, 250_000_000),
    ] as [(Double, Int64, Int32)])
  func theFractionOfADateIsNeverNegative(interval: Double, seconds: Int64, nanoseconds: Int32) {
    let timestamp = Timestamp(date: Date(timeIntervalSince1970: interval))
    #expect(timestamp == Timestamp(seconds: seconds, nanoseconds: nanoseconds))
  }

  @Test func theFractionOfADateIsTruncatedToNanoseconds() {
    // 2^-22 s is 238.4 ns, and a Date near 1970 represents it exactly. Subtracting it from a whole
    // microsecond leaves 761.6 ns.
    let fraction = 1 / Double(1 << 22)
    #expect(Timestamp(date: Date(timeIntervalSince1970: fraction)).nanoseconds == 238)
    #expect(Timestamp(date: Date(timeIntervalSince1970: 1 - fraction)).nanoseconds == 999_999_761)
    #expect(Timestamp(date: Date(timeIntervalSince1970: -fraction)).nanoseconds == 999_999_761)
  }

  @Test func theDateClosestBelowAWholeSecondStaysBelow() {
    let reference = Date(timeIntervalSince1970: 0).timeIntervalSinceReferenceDate
    var wrong: [String] = []
    for second in -3...3 {
      let below = Date(timeIntervalSinceReferenceDate: (reference + Double(second)).nextDown)
      let timestamp = Timestamp(date: below)
      if timestamp.seconds != Int64(second) - 1 || timestamp.nanoseconds <= 999_999_000 {
        wrong.append("\(second): \(timestamp)")
      }
    }
    #expect(wrong == [])
  }

  @Test func theDateOfATimestampIsItsInstant() {
    #expect(Timestamp(seconds: 1, nanoseconds: 500_000_000).dateValue().timeIntervalSince1970 == 1.5)
    #expect(Timestamp(seconds: -2, nanoseconds: 500_000_000).dateValue().timeIntervalSince1970 == -1.5)
  }

  // MARK: Equality and order

  @Test func equalMeansEqualSecondsAndEqualNanoseconds() {
    let timestamp = Timestamp(seconds: 1, nanoseconds: 2)
    #expect(timestamp == Timestamp(seconds: 1, nanoseconds: 2))
    #expect(timestamp != Timestamp(seconds: 1, nanoseconds: 3))
    #expect(timestamp != Timestamp(seconds: 2, nanoseconds: 2))
    #expect(timestamp.isEqual(Timestamp(seconds: 1, nanoseconds: 2)))
    #expect(!timestamp.isEqual("<FIRTimestamp: seconds=1 nanoseconds=2>"))
    #expect(!timestamp.isEqual(nil))
  }

  @Test func equalTimestampsHaveEqualHashes() {
    let one = Timestamp(seconds: 1, nanoseconds: 2)
    let same = Timestamp(seconds: 1, nanoseconds: 2)
    #expect(one.hash == same.hash)
    #expect(Set([one, same, Timestamp(seconds: 2, nanoseconds: 1)]).count == 2)
  }

  @Test func theOrderIsBySecondsThenByNanoseconds() {
    let ascending = [
      first, Timestamp(seconds: -2, nanoseconds: 999_999_999), Timestamp(seconds: -1, nanoseconds: 0),
      Timestamp(seconds: -1, nanoseconds: 1), Timestamp(seconds: 0, nanoseconds: 0), last,
    ]
    var wrong: [String] = []
    for (left, one) in ascending.enumerated() {
      for (right, other) in ascending.enumerated() {
        if (one < other) != (left < right) { wrong.append("\(one) < \(other) is \(one < other)") }
        let expected: ComparisonResult =
          left < right ? .orderedAscending : left > right ? .orderedDescending : .orderedSame
        let order = one.compare(other)
        if order != expected { wrong.append("\(one) and \(other): \(order.rawValue)") }
      }
    }
    #expect(wrong == [])
    #expect(ascending.reversed().sorted() == ascending)
  }

  @Test func aCopyIsTheSameObject() {
    let timestamp = Timestamp(seconds: 1, nanoseconds: 2)
    #expect(timestamp.copy() as? Timestamp === timestamp)
  }

  @Test func timestampMayCrossTasks() async {
    let timestamp = Timestamp(seconds: 1, nanoseconds: 2)
    #expect(await Task.detached { timestamp }.value === timestamp)
  }

  // MARK: Coders

  @Test func jsonHasTheKeysSecondsAndNanoseconds() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let json = try encoder.encode(Timestamp(seconds: -5, nanoseconds: 7))
    #expect(String(decoding: json, as: UTF8.self) == #"{"nanoseconds":7,"seconds":-5}"#)
  }

  @Test func everyCoderRoundTripsItsValues() throws {
    let timestamps = [first, Timestamp(seconds: -1, nanoseconds: 999_999_999), last]
    let json = try JSONEncoder().encode(timestamps)
    #expect(try JSONDecoder().decode([Timestamp].self, from: json) == timestamps)
    let plist = try PropertyListEncoder().encode(timestamps)
    #expect(try PropertyListDecoder().decode([Timestamp].self, from: plist) == timestamps)
  }

  @Test(arguments: [
    (#"{"seconds": 0, "nanoseconds": -1}"#, "Timestamp nanoseconds out of range: -1"),
    (#"{"seconds": 253402300800, "nanoseconds": 0}"#, "Timestamp seconds out of range: 253402300800"),
  ])
  func decodingATimestampOutOfRangeThrowsAndDoesNotTrap(json: String, problem: String) throws {
    let error = #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Timestamp.self, from: Data(json.utf8))
    }
    guard case .dataCorrupted(let context)? = error else {
      Issue.record("it threw \(String(describing: error))")
      return
    }
    #expect(context.debugDescription == problem)
  }

  @Test func decodingWithoutAKeyThrows() {
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Timestamp.self, from: Data(#"{"seconds": 0}"#.utf8))
    }
  }

  // MARK: Documents

  @Test(arguments: [
    (first, first), (last, Timestamp(seconds: 253_402_300_799, nanoseconds: 999_999_000)),
    (Timestamp(seconds: -1, nanoseconds: 1_999), Timestamp(seconds: -1, nanoseconds: 1_000)),
    (Timestamp(seconds: 7, nanoseconds: 999), Timestamp(seconds: 7, nanoseconds: 0)),
  ])
  func aStoredTimestampIsFlooredToMicroseconds(given: Timestamp, kept: Timestamp) {
    #expect(Timestamp(given.stored) == kept)
  }
}
