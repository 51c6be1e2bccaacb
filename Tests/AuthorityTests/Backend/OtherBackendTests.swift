// An authority needs nothing but a backend: the ledger and the life are documents of it. Checks of a commit
// read what holds when it is applied.

import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@testable import Authority

@Suite struct OtherBackendTests {
  private let path = DocumentPath(unchecked: ["rooms", "a"])

  private func write(_ batch: Int64, _ token: [UInt8]) -> RemoteWrite {
    var write = RemoteWrite(
      id: WriteID(queue: "q", run: RunID(1), batch: BatchID(batch)), mutations: [increment(path)],
      firstOpen: BatchID(batch))
    write.registration = token
    return write
  }

  @Test func theLedgerAndTheLifeAreDocumentsOfTheBackend() throws {
    let world = try TestStore()
    let backend = ForwardingBackend(try EmbeddedBackend(world.store))
    let authority = try Authority(over: backend)
    let token = try authority.ledger.register(RunRegistration(queue: "q", run: RunID(1)), as: nil)
    let first = try #require(try authority.take(write(1, token), as: nil))
    let again = try #require(try Authority(over: backend).take(write(1, token), as: nil))
    #expect(again.version == first.version && again.results == first.results)
    #expect(try backend.document(at: path)?.fields["n"] == .integer(1))
    // A restored copy begins a life.
    try world.store.backup(to: "/backup")
    let restored = try TestStore(on: world.disk, clock: world.clock, seed: 2, path: "/backup")
    let later = try Authority(over: ForwardingBackend(try EmbeddedBackend(restored.store)))
    #expect(try #require(later.life.floor) > first.version)
    #expect(try later.take(write(1, token), as: nil)?.version == later.life.floor)
    #expect(try restored.store.document(at: path)?.fields["n"] == .integer(1))
  }

  @Test func batchesWithoutAThreadAreTakenOnce() throws {
    let world = try TestStore()
    let authority = try Authority.of(world.store)
    let token = try authority.ledger.register(RunRegistration(queue: "q", run: RunID(1)), as: nil)
    let answers = Locked<[SnapshotVersion?]>([])
    for _ in 0..<5 {
      for batch in 1...10 as ClosedRange<Int64> {
        var write = write(batch, token)
        write.firstOpen = BatchID(1)
        authority.take(write, as: nil) { taken in
          answers.withLock { $0.append(try? taken.get()?.version) }
          answers.wakeAll()
        }
      }
    }
    let all = answers.withLock(when: { $0.count == 50 }) { $0 }
    #expect(all.allSatisfy { $0 != nil } && Set(all).count == 10)
    #expect(try world.store.document(at: path)?.fields["n"] == .integer(10))
  }

  // MARK: Checks

  @Test(arguments: [true, false]) func aCheckIsMadeAgainIfWhatItHasReadWasChanged(waits: Bool) throws {
    let store = try DocumentStore.openInMemory()
    let backend = try EmbeddedBackend(store)
    let calls = Locked(0)
    let commit = BackendCommit(
      [],
      check: BackendCheck([path]) { [path] read throws(RemoteError) in
        guard case .integer(let count)? = try read(path)?.fields["n"] ?? .integer(0) else { return [] }
        let isFirst = calls.withLock { calls in
          calls += 1
          return calls == 1
        }
        // Another commit comes between the decision and the commit.
        if isFirst { _ = try? store.commit([increment(path, by: 10)]) }
        return [.set(path, StoredMap([("n", .integer(count + 1))]))]
      })
    if waits {
      _ = try backend.commit(commit)
    } else {
      let outcome = Locked<Result<CommitOutcome, RemoteError>?>(nil)
      backend.commit(commit) { result in
        outcome.withLock { $0 = result }
        outcome.wakeAll()
      }
      _ = try outcome.withLock(when: { $0 != nil }) { $0 }?.get()
    }
    #expect(try backend.document(at: path)?.fields["n"] == .integer(11))
    #expect(calls.withLock { $0 } == 2)
  }

  @Test func aCheckRefusesACommitWithItsOwnError() throws {
    let backend = try EmbeddedBackend(try DocumentStore.openInMemory())
    let refusal = RemoteError(.permissionDenied, "Enough.")
    let check = BackendCheck([]) { _ throws(RemoteError) in throw refusal }
    #expect(throws: refusal) { try backend.commit(BackendCommit([increment(path)], check: check)) }
    #expect(try backend.document(at: path) == nil)
  }

  @Test func aCheckWithoutMutationsStillRecords() throws {
    let backend = try EmbeddedBackend(try DocumentStore.openInMemory())
    let record = DocumentPath(unchecked: ["records", "1"])
    let commit = BackendCommit(
      [], recording: CommitRecord(path: record) { StoredMap([("n", .integer(Int64($0.writes.count)))]) },
      check: BackendCheck([path]) { read throws(RemoteError) in
        _ = try read(DocumentPath(unchecked: ["rooms", "a"]))
        return []
      })
    #expect(try backend.commit(commit).writes.isEmpty)
    #expect(try backend.document(at: record)?.fields["n"] == .integer(0))
  }
}

/// A backend that is no store, as far as an authority can see.
private final class ForwardingBackend: DocumentBackend {
  private let base: EmbeddedBackend

  init(_ base: EmbeddedBackend) { self.base = base }

  var identity: BackendIdentity { base.identity }
  var clock: any StoreClock { base.clock }
  var random: any RandomSource { base.random }
  var fieldsEncoder: FieldsEncoder { .withoutStore }

  func documents(at paths: [DocumentPath]) throws(RemoteError) -> [StoredDocument?] {
    try base.documents(at: paths)
  }

  func snapshot(_ when: SnapshotTime) throws(RemoteError) -> any BackendSnapshot { try base.snapshot(when) }
  var lastVersion: SnapshotVersion { base.lastVersion }
  func keepRecentSnapshots() throws(RemoteError) { try base.keepRecentSnapshots() }
  func transaction() throws(RemoteError) -> any BackendTransaction { try base.transaction() }
  func commit(_ commit: BackendCommit) throws(RemoteError) -> CommitOutcome { try base.commit(commit) }

  func commit(
    _ commit: BackendCommit, _ done: @escaping @Sendable (Result<CommitOutcome, RemoteError>) -> Void
  ) { base.commit(commit, done) }

  func lastMark() throws(RemoteError) -> BackendMark { try base.lastMark() }
  func mayHaveReached(_ mark: BackendMark) throws(RemoteError) -> Bool { try base.mayHaveReached(mark) }

  func raiseTime(to time: SnapshotVersion) throws(RemoteError) -> SnapshotVersion {
    base.raiseTime(to: time)
  }

  func follow(
    enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    handler: @escaping @Sendable (StreamSnapshot) -> Void
  ) -> any Following { base.follow(enqueue: enqueue, handler: handler) }

  func changes(after mark: BackendMark, max: Int) throws(RemoteError) -> BackendChanges? {
    try base.changes(after: mark, max: max)
  }
}
