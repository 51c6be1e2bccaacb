// The events and measurements of a document store: reads, queries, listeners, refused writes, backups.

import ByteStore
import Dispatch
import Harness
import StoreTools
import Testing

@testable import DocumentStore

@Suite(.timeLimit(.minutes(1))) struct InstrumentedStoreTests {
  private let disk = SimulatedDisk()
  private let queue = DispatchQueue(label: "listeners")

  private func open(_ instruments: RecordedInstruments) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.instruments = instruments
    let store = try DocumentStore.open("/store", options: options, platform: disk.platform(seed: 1))
    try store.commit((0..<3).map { .set(path("c", "d\($0)"), CostDocument.fields($0)) })
    instruments.forget()
    return store
  }

  @Test func readsAndQueriesAreTimed() throws {
    let instruments = RecordedInstruments()
    let store = try open(instruments)
    #expect(try store.document(at: path("c", "d1")) != nil)
    #expect(try store.document(at: path("c", "none")) == nil)
    #expect(try store.withDocument(at: path("c", "d1")) { _ in 1 } == 1)
    #expect(instruments.times(.read) == [.zero, .zero, .zero])
    #expect(instruments.times(.query) == [])
    #expect(try store.documents(.ofC).count == 3)
    #expect(try store.count(.ofC) == 3)
    #expect(try store.recordsIfIndexed(.ofC)?.count == 3)
    #expect(try store.isReady(.ofC))
    #expect(instruments.times(.query) == [.zero, .zero, .zero])
    #expect(instruments.times(.read).count == 3 && instruments.events == [])
    try store.close()
  }

  /// The threshold is zero, so every query is slow.
  @Test func aSlowQueryIsReportedWithItsWorkAndWithoutItsValues() throws {
    let instruments = RecordedInstruments(slowQuery: .zero)
    let store = try open(instruments)
    store.createsIndexes = false
    let query = try StructuredQuery.ofC.filtered(by: .field(field("email"), .equal, "person1@example.org"))
    #expect(try store.documents(query).count == 1)
    let event = try #require(instruments.events(.querySlow).first)
    let explanation = try store.explain(query)
    #expect(event["collection"] == .text("c") && event["seconds"] == .seconds(0))
    #expect(event["entries"] == .integer(explanation.entriesRead))
    #expect(event["documents"] == .integer(explanation.documentsRead))
    #expect(explanation.documentsRead == 3 && event.level == .warning)
    #expect(!event.description.contains("person1"))
    try store.close()
  }

  @Test func listenersAreCounted() throws {
    let instruments = RecordedInstruments()
    let store = try open(instruments)
    let query = StructuredQuery.ofC
    let first = try store.listen(to: query, on: queue) { _ in }
    let second = try store.listen(to: query, on: queue) { _ in }
    let other = try store.listen(to: StructuredQuery(.collectionGroup("e")), on: queue) { _ in }
    #expect(store.listenerCount == 3)
    first.remove()
    first.remove()
    #expect(store.listenerCount == 2)
    second.remove()
    other.remove()
    #expect(store.listenerCount == 0)
    let names: [InstrumentName] = [
      .listenerAdded, .listenerAdded, .listenerAdded, .listenerRemoved, .listenerRemoved, .listenerRemoved,
    ]
    #expect(instruments.eventNames == names)
    #expect(
      instruments.events(.listenerAdded).map { $0["collection"] } == [.text("c"), .text("c"), .text("e")])
    #expect(instruments.events.map { $0["listeners"] } == [1, 2, 3, 2, 1, 0].map { .integer($0) })
    #expect(instruments.values(.listeners) == [1, 2, 3, 2, 1, 0])
    _ = try store.listen(to: query, on: queue) { _ in }
    try store.close()
    #expect(store.listenerCount == 0)
  }

  @Test func writesThatThePoisonedStoreRefusesAreCounted() throws {
    let instruments = RecordedInstruments()
    let store = try open(instruments)
    let write = [Mutation.set(path("c", "d1"), CostDocument.fields(9))]
    try store.commit(write)
    #expect(throws: DocumentStoreError.self) {
      try store.commit([.set(path("c", "d1"), CostDocument.fields(9), precondition: .exists(false))])
    }
    #expect(instruments.total(.commits) == 1 && instruments.total(.commitsFailed) == 0)
    disk.setFault(FaultPlan(.inputOutput, at: disk.counters.operations + 1))
    #expect(throws: DocumentStoreError.self) { try store.commit(write) }
    #expect(instruments.total(.commitsFailed) == 1)
    #expect(throws: DocumentStoreError.self) { try store.commit(write) }
    #expect(instruments.total(.commitsFailed) == 2 && instruments.total(.commits) == 1)
    try store.close()
  }

  @Test func aBackupIsReportedFromItsStartToItsEnd() throws {
    let instruments = RecordedInstruments()
    let store = try open(instruments)
    var progress: [BackupProgress] = []
    let report = try store.backup(to: "/backup") { progress.append($0) }
    #expect(instruments.eventNames.first == .backupStarted && instruments.eventNames.last == .backupFinished)
    #expect(instruments.events.last?["target"] == .text("/backup"))
    #expect(instruments.events.last?["bytes"] == .integer(Int(report.bytes)))
    let steps = instruments.events(.backupProgress).map { $0["step"] }
    #expect(steps == progress.map { .text($0.step.rawValue) } && !steps.isEmpty)
    instruments.forget()
    let refusal = failure { try store.backup(to: "/backup") }
    #expect(instruments.eventNames == [.backupStarted, .backupFailed])
    #expect(instruments.events.last?["error"] == .text(try #require(refusal).description))
    try store.close()
  }
}
