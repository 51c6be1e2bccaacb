// Processes that read a store beside its writer.

import Testing

@Suite struct ReaderProcessTests {
  @Test func readersShowCommittedStatesWhileProcessesAreKilled() throws {
    let outcome = try Program("campaign").run("readers", "--rounds", "6", "--seed", "1")
    #expect(outcome.status == 0, "\(outcome.complaint)")
    #expect(outcome.output.split(separator: "\n").last == "readers: 6 run, 0 failed")
  }
}
