// Reads on which a dependent write is based. Such a read waits while the document's content is assumed, and
// ends exactly once.

import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite final class KnownAnswerTests {
  private let scheduler = VirtualScheduler()
  private let remote: ScriptedRemote
  private let client: SyncDriver
  private let note = DocumentPath(unchecked: ["notes", "a"])
  private let answers = Locked<[Answer]>([])

  private enum Answer: Equatable {
    case rank(StoredValue?, SnapshotVersion)
    /// The remote's error code; nil if the store failed.
    case failed(RemoteError.Code?)
  }

  /// The client knows the note at version 5. Other clients changed the note's rank at version 6 and changed
  /// it back at version 7. The remote accepted this client's patch, which has no precondition, at version 8.
  /// There is no listener.
  init() throws {
    remote = ScriptedRemote(scheduler)
    let local = try LocalStore(
      try DocumentStore.openInMemory(), user: nil, collector: .lru, client: "client")
    var event = RemoteEvent(version: SnapshotVersion(microseconds: 5))
    event.documents[note] = SyncedDocument(
      note, .found(Self.fields(1)), version: event.version, createTime: event.version)
    _ = try local.apply(event)
    client = SyncDriver(local, remote, options: SyncEngine.Options(), scheduler: scheduler)
    let text = FieldMask([StoredFieldPath(unchecked: ["text"])])
    client.write([.patch(note, Self.patched, mask: text, precondition: .exists(true))], .server) { _ in }
    scheduler.play(for: 0)
    #expect(isAssumed)
  }

  deinit { scheduler.clear() }

  private static func fields(_ rank: Int64, _ others: StoredMap = StoredMap()) -> StoredMap {
    var fields = others
    fields["rank"] = .integer(rank)
    return fields
  }

  private static let patched = StoredMap([("text", .string("ours"))])

  private var isAssumed: Bool {
    let isAssumed = Locked(false)
    client.inspect { [note] engine in
      let isIt = (try? engine.local.isAssumed(note)) ?? false
      isAssumed.withLock { $0 = isIt }
    }
    scheduler.play(for: 0)
    return isAssumed.withLock { $0 }
  }

  private func ask() {
    client.firstConfirmed(at: note) { [answers] result in
      let answer: Answer =
        switch result {
        case .success(let (_, known)): .rank(known.fields?["rank"], known.version)
        case .failure(.remote(let error)): .failed(error.code)
        case .failure(.refused), .failure(.store): .failed(nil)
        }
      answers.withLock { $0.append(answer) }
    }
    scheduler.play(for: 0)
  }

  /// Sends the remote's document at a version, which completes the target.
  private func tell(_ fields: StoredMap, at version: Int64) {
    remote.tell(note, fields, at: SnapshotVersion(microseconds: version))
    scheduler.play(for: 0)
  }

  /// Starts a read that has received the note's state but still waits, because the remote has only sent
  /// everything up to version 7.
  private func askAndWait() {
    ask()
    #expect(notifiedStates == [])
    tell(Self.fields(1), at: 7)
    #expect(notifiedStates == [] && isAssumed)
  }

  private var notifiedStates: [Answer] { answers.withLock { $0 } }

  /// Expects this answer and no later answer.
  private func expect(_ answer: Answer) {
    #expect(notifiedStates == [answer])
    scheduler.play(for: 200_000_000)
    tell(Self.fields(3), at: 20)
    #expect(notifiedStates == [answer], "once")
  }

  private func pass(seconds: Int64) { scheduler.play(for: seconds * 1_000_000) }

  // MARK: The watch stream

  /// No view changes, so no listener is notified.
  @Test func confirmationOfTheVersionEndsTheWaitOfARead() {
    askAndWait()
    tell(Self.fields(1, Self.patched), at: 8)
    #expect(!isAssumed)
    expect(.rank(.integer(1), SnapshotVersion(microseconds: 8)))
  }

  @Test func aDifferentVersionEndsTheWaitOfARead() {
    askAndWait()
    tell(Self.fields(2, Self.patched), at: 8)
    expect(.rank(.integer(2), SnapshotVersion(microseconds: 8)))
  }

  @Test func aForbiddenReadFails() {
    askAndWait()
    remote.refuse(RemoteError(.permissionDenied))
    scheduler.play(for: 0)
    expect(.failed(.permissionDenied))
  }

  /// The remote's document is shared by all users of the client.
  @Test func theNextUsersStreamEndsTheWaitOfARead() {
    askAndWait()
    client.send(.changeUser("ann"))
    scheduler.play(for: 0)
    #expect(notifiedStates == [] && remote.user == "ann")
    tell(Self.fields(1, Self.patched), at: 8)
    expect(.rank(.integer(1), SnapshotVersion(microseconds: 8)))
  }

  // MARK: Without the watch stream

  @Test func aReadFromAnIdleRemoteTimesOut() {
    askAndWait()
    pass(seconds: 14)
    #expect(notifiedStates == [])
    pass(seconds: 2)
    expect(.failed(.unavailable))
  }

  @Test func aReadTimesOutDespiteUnrelatedMessages() {
    askAndWait()
    for second in 1...64 {
      pass(seconds: 1)
      remote.tellTime(SnapshotVersion(microseconds: Int64(8 + second)))
    }
    #expect(notifiedStates == [])
    pass(seconds: 2)
    #expect(notifiedStates == [.failed(.unavailable)])
  }

  @Test(arguments: [true, false]) func withoutANetworkReadsDoNotWait(isWaiting: Bool) {
    if isWaiting { askAndWait() }
    client.send(.disableNetwork)
    scheduler.play(for: 0)
    if !isWaiting { ask() }
    expect(.failed(.unavailable))
  }

  @Test func stoppingTheClientEndsTheWaitOfARead() {
    askAndWait()
    client.stop()
    expect(.failed(.cancelled))
  }

  /// A set replaces the whole document, so the unknown changes of other clients no longer matter.
  @Test func aLocalSetEndsTheWaitOfARead() {
    askAndWait()
    client.write([.set(note, Self.fields(4))], .local) { _ in }
    scheduler.play(for: 0)
    expect(.rank(.integer(4), .none))
  }
}

/// A remote that follows a test's script. It accepts batches at once and assigns versions from 8 on. Each
/// batch is applied to the previous version.
private final class ScriptedRemote: Remote {
  private typealias WatchHandler = @Sendable (WatchStreamEvent) -> Void

  private struct State {
    var user: String?
    var handler: WatchHandler?
    var target: TargetID?
    var version: Int64 = 7
  }

  private let scheduler: VirtualScheduler
  private let state = Locked(State())

  init(_ scheduler: VirtualScheduler) { self.scheduler = scheduler }

  let documentsName = "documents"

  /// The user of the open watch stream.
  var user: String? { state.withLock { $0.user } }

  // MARK: Scripted messages

  private func say(_ change: WatchChange, _ version: SnapshotVersion = .none) {
    state.withLock { $0.handler }?(.changed(change, version))
  }

  func tell(_ path: DocumentPath, _ fields: StoredMap, at version: SnapshotVersion) {
    guard let target = state.withLock({ $0.target }) else { return }
    let document = RemoteDocument(
      path, fields, version: version, createTime: SnapshotVersion(microseconds: 5))
    say(.document(path, document, updated: [target], removed: []))
    say(.target(.current, [target], resumeToken: [1]))
    tellTime(version)
  }

  /// Reports that the remote has sent everything up to this version.
  func tellTime(_ version: SnapshotVersion) { say(.target(.noChange, [], resumeToken: [1]), version) }

  func refuse(_ error: RemoteError) {
    guard let target = state.withLock({ $0.target }) else { return }
    say(.target(.removed, [target], cause: error))
  }

  // MARK: The protocol

  func openWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream {
    state.withLock { ($0.user, $0.handler) = (user, handler) }
    scheduler.run { handler(.opened) }
    return Watching { [self] target in
      state.withLock { $0.target = target }
      if let target { scheduler.run { handler(.changed(.target(.added, [target]), .none)) } }
    }
  }

  func openWriteStream(
    as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream {
    scheduler.run { handler(.opened) }
    return Writing { [self] write in
      guard let write else { return scheduler.run { handler(.handshakeComplete(token: [1])) } }
      let (before, version) = state.withLock { state in
        state.version += 1
        return (
          SnapshotVersion(microseconds: state.version - 1), SnapshotVersion(microseconds: state.version)
        )
      }
      let results = write.mutations.map { _ in WriteResult(version: version, versionBefore: before) }
      scheduler.run { handler(.answered(version, results, token: [1])) }
    }
  }

  private struct Watching: WatchStream {
    let follow: @Sendable (TargetID?) -> Void

    func watch(_ target: WatchTarget) { follow(target.id) }
    func unwatch(_ id: TargetID) { follow(nil) }
    func close() { follow(nil) }
  }

  private struct Writing: WriteStream {
    /// Called with each write, and with nil for the handshake.
    let take: @Sendable (RemoteWrite?) -> Void

    func handshake(_ token: [UInt8], runs: [RunRegistration]) { take(nil) }
    func write(_ write: RemoteWrite) { take(write) }
    func close() {}
  }

  private static let away = RemoteError(.unavailable)

  func documents(
    at paths: [DocumentPath], as user: String?,
    _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void
  ) {
    scheduler.run { answer(.failure(Self.away)) }
  }

  func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
  ) {
    scheduler.run { answer(.failure(Self.away)) }
  }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
  ) {
    scheduler.run { answer(.failure(Self.away)) }
  }
}
