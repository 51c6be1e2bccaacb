// The cost of instruments that are off: the clock is not read for them.
//
// The number of allocations is in ReadCostTests and CommitCostTests, which have no instruments either.

import ByteStore
import Harness
import Synchronization
import Testing

@testable import DocumentStore

@Suite struct InstrumentCostTests {
  /// Counts how often the monotonic clock is read.
  private final class CountedClock: StoreClock {
    private let reads = Atomic(0)

    func wallMicroseconds() -> Int64 { 1_700_000_000_000_000 }

    func monotonicNanoseconds() -> UInt64 {
      reads.wrappingAdd(1, ordering: .relaxed)
      return 0
    }

    func reads(during body: () throws -> Void) rethrows -> Int {
      let before = reads.load(ordering: .relaxed)
      try body()
      return reads.load(ordering: .relaxed) - before
    }
  }

  private let clock = CountedClock()
  private let disk = SimulatedDisk()

  private func open(_ instruments: (any Instruments)?) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.instruments = instruments
    let random = SimulatedRandomSource(seed: 1)
    let store = try DocumentStore.open(
      "/store", options: options, platform: Platform(fileSystem: disk, clock: clock, random: random))
    try store.commit([.set(path("c", "d"), CostDocument.fields(0))])
    return store
  }

  /// A commit reads the clock when it is enqueued, before and after the WAL write, and when the log has bytes
  /// that are not synced.
  @Test func withoutInstrumentsOnlyCommitsReadTheClock() throws {
    let store = try open(nil)
    #expect(try clock.reads { _ = try store.document(at: path("c", "d")) } == 0)
    #expect(try clock.reads { _ = try store.withDocument(at: path("c", "d")) { _ in } } == 0)
    #expect(try clock.reads { _ = try store.documents(.ofC) } == 0)
    #expect(try clock.reads { try store.commit([.set(path("c", "d"), CostDocument.fields(1))]) } == 4)
    try store.close()
  }

  @Test func withInstrumentsReadsAndQueriesReadTheClockTwice() throws {
    let store = try open(RecordedInstruments())
    #expect(try clock.reads { _ = try store.document(at: path("c", "d")) } == 2)
    #expect(try clock.reads { _ = try store.documents(.ofC) } == 2)
    #expect(try clock.reads { try store.commit([.set(path("c", "d"), CostDocument.fields(1))]) } == 4)
    try store.close()
  }
}
