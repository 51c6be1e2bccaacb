// The logarithmic scale of gauges.

import Testing

@Suite struct LogScaleTests {
  @Test func oneAndAHalfAndThirtyEightAreFarApart() {
    let scale = LogScale(around: [1.5, 38])
    #expect(scale.high == 40)
    #expect(scale.position(1) == 0.5)
    #expect((0.55...0.57).contains(scale.position(1.5)))
    #expect(scale.position(38) > 0.98)
  }

  @Test func equalFactorsInBothDirectionsAreEquallyFar() {
    let scale = LogScale(around: [3])
    #expect(abs(scale.position(2) + scale.position(0.5) - 1) < 1e-12)
  }

  @Test func aScaleOfGoalsIsOnlyAsWideAsItsFactors() {
    let scale = LogScale(containing: [0.6, 12])
    #expect(scale.lowText == "2 ×")
    #expect(scale.highText == "20 ×")
    #expect(scale.position(1) < 0.25)
  }

  @Test(arguments: [0, 0.1, -1, Double.nan, -Double.infinity]) func factorsBelowTheScaleAreAtItsStart(
    factor: Double
  ) {
    #expect(LogScale(around: [2]).position(factor) == 0)
  }

  @Test(arguments: [1e9, Double.infinity]) func factorsAboveTheScaleAreAtItsEnd(factor: Double) {
    #expect(LogScale(around: [2]).position(factor) == 1)
  }

  @Test(arguments: [[], [0], [Double.nan, Double.infinity], [1e12], [1]]) func anyFactorsGiveAScaleAroundOne(
    factors: [Double]
  ) {
    for scale in [LogScale(around: factors), LogScale(containing: factors)] {
      #expect(scale.low <= 0.5 && scale.high >= 2)
      #expect((0...1).contains(scale.position(1)))
    }
  }

  @Test func ticksAreTheEndsAndThePowersOfTen() {
    let ticks = LogScale(around: [38]).ticks.map { ($0 * 1000).rounded() / 1000 }
    #expect(ticks == [0.025, 0.1, 1, 10, 40])
  }
}
