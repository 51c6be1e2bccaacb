// Durations in JSON.

import Testing

@testable import FirestoreWire

@Suite struct DurationTests {
  private func stats(_ duration: Wire.Duration) -> Wire.ExecutionStats {
    var stats = Wire.ExecutionStats()
    stats.executionDuration = duration
    return stats
  }

  @Test(
    arguments: [
      (0, "0s"), (1, "0.000000001s"), (1_500_000_000, "1.500000000s"), (7_000_000_000, "7s"),
    ] as [(UInt64, String)])
  func aDurationIsATextOfSeconds(_ nanoseconds: UInt64, _ text: String) throws {
    let stats = stats(Wire.Duration(nanoseconds: nanoseconds))
    #expect(String(decoding: try stats.json(), as: UTF8.self) == "{\"executionDuration\":\"\(text)\"}")
    #expect(try Wire.ExecutionStats(json: try stats.json()) == stats)
    #expect(try Wire.ExecutionStats(protobuf: try stats.protobuf()) == stats)
  }

  @Test func fewerDigitsAreRead() throws {
    let read = try Wire.ExecutionStats(json: Array(#"{"executionDuration":"1.5s"}"#.utf8))
    #expect(read == stats(Wire.Duration(nanoseconds: 1_500_000_000)))
  }

  @Test(arguments: [
    "", "s", "1", "-1s", "1.s", ".5s", "1.0000000001s", "1.5.5s", "99999999999999999999s", "1 s",
  ])
  func anotherTextIsNoDuration(_ text: String) {
    #expect(throws: WireError.self) {
      try Wire.ExecutionStats(json: Array("{\"executionDuration\":\"\(text)\"}".utf8))
    }
  }

  @Test func aDurationThatHasNoTextIsRefused() {
    var duration = Wire.Duration()
    for (seconds, nanos) in [(-1, 0), (0, -1), (0, 1_000_000_000)] as [(Int64, Int32)] {
      (duration.seconds, duration.nanos) = (seconds, nanos)
      #expect(throws: WireError.self) { try stats(duration).json() }
    }
  }
}
