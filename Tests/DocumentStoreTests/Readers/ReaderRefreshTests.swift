// Refreshes of a reader that fail halfway, and what listeners and the settings get from them.

import ByteStore
import Dispatch
import Harness
import Libc
import Testing

@testable import DocumentStore

@Suite(.timeLimit(.minutes(5))) struct ReaderRefreshTests {
  /// A call that a listener received: the numbers of the documents by id, or an error.
  private enum Received: Equatable {
    case state([String: Int64])
    case failure
  }

  private let machine: SimulatedStore
  private let files: ScriptedFileSystem
  private let clock = SimulatedClock()
  private let queue = DispatchQueue(label: "listeners")
  private let rooms = StructuredQuery(.collection(path("rooms", "x").parent))

  private var writer: DocumentStore { machine.store }

  init() throws {
    machine = try SimulatedStore()
    files = ScriptedFileSystem(base: machine.disk)
  }

  private func openReader(_ instruments: RecordedInstruments? = nil) throws -> DocumentStore {
    // Logs the sync of the last commits.
    while writer.bytes.performMaintenance() {}
    var options = DocumentStore.Options()
    options.isReadOnly = true
    options.instruments = instruments
    let platform = Platform(fileSystem: files, clock: clock, random: SimulatedRandomSource(seed: 2))
    return try DocumentStore.open("/store", options: options, platform: platform)
  }

  private func set(_ id: String, _ number: Int64, in collection: String = "rooms") -> Mutation {
    .set(path(collection, id), StoredMap([("n", .integer(number))]))
  }

  private func numbers(_ documents: some Sequence<StoredDocument>) -> [String: Int64] {
    var numbers: [String: Int64] = [:]
    for document in documents {
      if case .integer(let number) = document.fields["n"] { numbers[document.path.id] = number }
    }
    return numbers
  }

  private func listen(_ reader: DocumentStore) throws -> Locked<[Received]> {
    let received = Locked<[Received]>([])
    _ = try reader.listen(to: rooms, on: queue) { result in
      let new =
        switch result {
        case .success(let snapshot): Received.state(numbers(snapshot.documents))
        case .failure: Received.failure
        }
      received.withLock { $0.append(new) }
    }
    queue.sync {}
    return received
  }

  private func states(_ received: Locked<[Received]>) -> [Received] {
    queue.sync {}
    return received.withLock { $0 }
  }

  /// Makes reads of files with this prefix fail while `condition` holds.
  private func failReads(of prefix: String, while condition: @escaping @Sendable () -> Bool = { true }) {
    files.hooks.checkFiles { call throws(SystemFailure) in
      guard call.hasPrefix("read \(prefix)"), condition() else { return }
      throw SystemFailure(operation: "pread", path: call, code: EIO)
    }
  }

  /// Makes reads of files with this prefix fail, once the reader shows a newer state than now.
  private func failReads(of prefix: String, onceNewer reader: DocumentStore) {
    let publications = reader.publications
    let position = publications.position
    failReads(of: prefix) { publications.position > position }
  }

  /// Commits, and moves the commits to segments, so that the reader has to capture the files again.
  private func leaveBehind(_ mutations: [Mutation]) throws {
    try writer.commit(mutations)
    try writer.compact()
  }

  // MARK: After the files were captured again

  @Test func aListenerSurvivesAReadThatFailsAfterACapture() throws {
    try writer.commit([set("a", 1)])
    let reader = try openReader()
    let received = try listen(reader)
    try leaveBehind([set("a", 2), set("b", 3)])
    failReads(of: "segment", onceNewer: reader)
    guard case .failed = failure(of: { try reader.refresh() }) else {
      Issue.record("the refresh did not report the read")
      return
    }
    guard case .failed = failure(of: { try reader.refresh() }) else {
      Issue.record("the refresh did not try again")
      return
    }
    #expect(states(received) == [.state(["a": 1])])
    files.hooks.checkFiles(nil)
    #expect(try !reader.refresh(), "the commits were shown before")
    #expect(states(received) == [.state(["a": 1]), .state(["a": 2, "b": 3])])
    #expect(try numbers(reader.documents(rooms)) == ["a": 2, "b": 3])
    try reader.close()
  }

  @Test func settingsThatCouldNotBeReadAreReadByTheNextRefresh() throws {
    try writer.commit([set("a", 1)])
    let reader = try openReader()
    _ = try writer.feedConsumer("mirror")
    try leaveBehind([set("a", 2)])
    failReads(of: "segment", onceNewer: reader)
    guard case .failed = failure(of: { try reader.refresh() }) else {
      Issue.record("the refresh did not report the read")
      return
    }
    #expect(reader.feedConsumers == [])
    files.hooks.checkFiles(nil)
    #expect(try !reader.refresh())
    #expect(reader.feedConsumers == ["mirror"])
    try reader.close()
  }

  @Test func theStateAfterACaptureHasTheTimeOfItsLastCommit() throws {
    try writer.commit([set("a", 1)])
    let reader = try openReader()
    let times = Locked<[StoredTimestamp?]>([])
    _ = try reader.listen(to: rooms, on: queue) { result in
      guard case .success(let snapshot) = result else { return }
      times.withLock { $0.append(snapshot.time) }
    }
    let time = try writer.commit([set("a", 2)])
    try writer.compact()
    try reader.refresh()
    queue.sync {}
    #expect(times.withLock { $0.last } == time)
    #expect(reader.readerAge?.lastCommit == time)
    try reader.close()
  }

  /// A reader keeps only open files, so that a segment which is not opened then could never be opened.
  @Test func aCaptureFailsIfASegmentCannotBeOpened() throws {
    try writer.commit([set("a", 1)])
    let reader = try openReader()
    try leaveBehind([set("a", 2)])
    failReads(of: "segment")
    guard case .failed = failure(of: { try reader.refresh() }) else {
      Issue.record("the refresh did not report the read")
      return
    }
    #expect(try numbers(reader.documents(rooms)) == ["a": 1])
    files.hooks.checkFiles(nil)
    #expect(try reader.refresh())
    #expect(try numbers(reader.documents(rooms)) == ["a": 2])
    try reader.close()
  }

  // MARK: Between two commits

  /// The second commit cannot be applied, and the files cannot be captured. The first one stays visible.
  @Test func listenersHearOfTheCommitsBeforeAnError() throws {
    try writer.commit([set("x", 1, in: "halls")])
    try writer.compact()
    try writer.commit([set("a", 1)])
    let reader = try openReader()
    let received = try listen(reader)
    try writer.commit([set("a", 2)])
    try writer.commit([set("x", 2, in: "halls")])
    while writer.bytes.performMaintenance() {}
    // Only the second commit reads a segment.
    failReads(of: "", onceNewer: reader)
    guard case .failed = failure(of: { try reader.refresh() }) else {
      Issue.record("the refresh did not report the read")
      return
    }
    #expect(states(received) == [.state(["a": 1]), .state(["a": 2])])
    files.hooks.checkFiles(nil)
    #expect(try reader.refresh())
    #expect(states(received) == [.state(["a": 1]), .state(["a": 2])])
    #expect(try reader.document(at: path("halls", "x"))?.fields["n"] == .integer(2))
    try reader.checkInvariants()
    try reader.close()
  }

  // MARK: Failures

  @Test func aFailureIsReportedOnceUntilARefreshSucceeds() throws {
    try writer.commit([set("a", 1)])
    let instruments = RecordedInstruments()
    let reader = try openReader(instruments)
    instruments.forget()
    try reader.refresh()
    #expect(reader.readerAge?.failure == nil && instruments.events == [])
    failReads(of: "MANIFEST")
    var failures: [DocumentStoreError?] = []
    for _ in 0..<3 {
      failures.append(failure(of: { try reader.refresh() }))
      clock.advance(nanoseconds: 2_000_000_000)
    }
    #expect(reader.readerAge?.failure != nil && reader.readerAge?.failure == failures.last)
    #expect(reader.readerAge?.secondsSinceRefresh == 6)
    #expect(instruments.eventNames == [.refreshFailed])
    #expect(instruments.events.first?["error"] == .text(try #require(failures.first??.description)))
    files.hooks.checkFiles(nil)
    try reader.refresh()
    #expect(reader.readerAge?.failure == nil && reader.readerAge?.secondsSinceRefresh == 0)
    try reader.refresh()
    #expect(instruments.eventNames == [.refreshFailed, .refreshRecovered])
    #expect(instruments.events.last?["seconds"] == .seconds(6))
    failReads(of: "MANIFEST")
    _ = failure(of: { try reader.refresh() })
    #expect(instruments.eventNames.last == .refreshFailed)
    files.hooks.checkFiles(nil)
    try reader.close()
  }

  // MARK: The end of a reader

  @Test func aCloseWaitsForARefresh() throws {
    try writer.commit([set("a", 1)])
    let reader = try openReader()
    try writer.commit([set("a", 2)])
    while writer.bytes.performMaintenance() {}
    let closing = DispatchGroup()
    closing.enter()
    let hasBegun = Locked(false)
    files.hooks.checkFiles { _ throws(SystemFailure) in
      let isFirst = hasBegun.withLock { hasBegun in
        defer { hasBegun = true }
        return !hasBegun
      }
      guard isFirst else { return }
      DispatchQueue(label: "close").async {
        try? reader.close()
        closing.leave()
      }
      // Without the wait, the close has begun by the end of this time.
      _ = closing.wait(timeout: .now() + 0.2)
    }
    #expect(try reader.refresh(), "the refresh is complete")
    closing.wait()
    files.hooks.checkFiles(nil)
    guard case .closed = failure(of: { try reader.refresh() }) else {
      Issue.record("a closed reader was refreshed")
      return
    }
  }

  #if os(Linux)
  /// The child is forked in the middle of a refresh, whose locks stay held in the child.
  @Test func aForkedChildIsRefusedAtOnce() throws {
    try writer.commit([set("a", 1)])
    let reader = try openReader()
    let result = Locked<Int32?>(nil)
    files.hooks.checkFiles { [files] _ throws(SystemFailure) in
      files.hooks.checkFiles(nil)
      let status = try? ForkedChild.result {
        guard case .closed = failure(of: { try reader.refresh() }) else { return 1 }
        return (try? reader.close()) == nil ? 2 : 0
      }
      result.withLock { $0 = status }
    }
    try reader.refresh()
    #expect(result.withLock { $0 } == 0)
    try reader.close()
  }
  #endif
}
