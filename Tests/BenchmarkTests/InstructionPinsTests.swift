// The file of pins, and the comparison of counts with it.

import Testing

@Suite struct InstructionPinsTests {
  @Test func writtenPinsAreReadWithOneDecimal() throws {
    let text = InstructionPins([row("W5", 9857.96), row("data()", 0.04), row("W14", 71_746)]).text(toolchain)
    let read = try InstructionPins(reading: text)
    #expect(read.rows.map(\.name) == ["W5", "data()", "W14"])
    #expect(read.rows.map(\.instructions) == [9858, 0, 71_746])
    #expect(text.contains("Swift 6.3.1, x86_64"))
  }

  @Test func theFileHasOneLineForEachRowInColumns() {
    let rows = [
      RowCounts(name: "W5", instructions: 9698.2, mallocs: 0, retains: 12.5, locks: 3),
      RowCounts(name: "W6-1000", instructions: 162_385, mallocs: 39, retains: 7, locks: 29),
    ]
    let lines = InstructionPins(rows).text(toolchain).split(separator: "\n").suffix(3)
    #expect(
      Array(lines) == [
        "# row    instructions  mallocs  retains  locks",
        "W5             9698.2      0.0     12.5    3.0",
        "W6-1000      162385.0     39.0      7.0   29.0",
      ])
  }

  @Test(arguments: [
    "W5 9698.2 0 12.5", "W5 9698.2 0 12.5 3 4", "W5 many 0 12.5 3", "W5 -1 0 12.5 3", "W5 inf 0 12.5 3",
    "W1 1 1 1 1",
  ])
  func anUnreadableLineIsReportedWithItsNumber(line: String) {
    #expect(throws: InstructionError.unreadablePin(line: 3, line)) {
      try InstructionPins(reading: "# row\nW1 1 1 1 1\n\(line)\n")
    }
  }

  @Test func countsWithinThreePercentAreUnchanged() {
    let comparison = PinComparison([row("W1", 1030), row("W3", 970)], pins(["W1": 1000, "W3": 1000]))
    #expect(!comparison.isFailure)
    #expect(comparison.report(pinCommand: "pin") == "")
  }

  @Test func moreInstructionsFailWithBothNumbersAndTheCommand() {
    let comparison = PinComparison([row("W1", 1031), row("W3", 1000)], pins(["W1": 1000, "W3": 1000]))
    #expect(comparison.isFailure)
    #expect(
      comparison.report(pinCommand: "benchmarks --instructions --pin") == """
        W1: 1031.0 instructions, pinned 1000.0 (+3.1 %)
        If the rise is worth it, pin the new counts:
          benchmarks --instructions --pin

        """)
  }

  @Test func fewerInstructionsPassAndAskForNewPins() {
    let comparison = PinComparison([row("W1", 969)], pins(["W1": 1000]))
    #expect(!comparison.isFailure)
    #expect(
      comparison.report(pinCommand: "pin") == """
        W1: 969.0 instructions, pinned 1000.0 (-3.1 %)
        Pin the new counts, so that later rises are found:
          pin

        """)
  }

  @Test func aRowWithoutAPinAndAPinWithoutARowFail() {
    let comparison = PinComparison([row("W1", 1000), row("W5", 7)], pins(["W1": 1000, "W9": 5]))
    #expect(comparison.isFailure)
    #expect(comparison.unpinned == ["W5"])
    #expect(comparison.uncounted == ["W9"])
    let report = comparison.report(pinCommand: "pin")
    #expect(report.contains("W5: no instructions are pinned"))
    #expect(report.contains("W9: instructions are pinned, but the row does not exist"))
  }

  @Test func theTableShowsEachCountBesideItsPin() {
    #expect(
      InstructionTable.text([row("W1", 1031), row("W5", 7)], pins(["W1": 1000])) == """
            instructions  mallocs  retains  locks  pinned
        W1        1031.0      1.0      2.0    3.0  1000.0  3.1 %
        W5           7.0      1.0      2.0    3.0       -

        """)
  }

  private let toolchain = Toolchain(swiftVersion: "6.3.1", architecture: "x86_64")

  private func row(_ name: String, _ instructions: Double) -> RowCounts {
    RowCounts(name: name, instructions: instructions, mallocs: 1, retains: 2, locks: 3)
  }

  private func pins(_ pins: KeyValuePairs<String, Double>) -> InstructionPins {
    InstructionPins(pins.map { row($0.key, $0.value) })
  }
}
