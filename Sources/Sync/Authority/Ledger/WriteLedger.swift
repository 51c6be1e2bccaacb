// The authority's record of the batches that it has accepted, so that it applies each batch once, however
// often it arrives.
//
//   1. turn        concurrent calls about one run wait for each other (RunTurns)
//   2. find        the run: in its own document, among the finished runs of its queue, or in the form of
//                  earlier releases (WriteLedger+Runs)
//   3. recognise   a batch that was accepted is answered with its outcome, and other writes under its number
//                  are refused
//   4. admit       a batch without the token of its run is refused. So is a batch of a run that was forgotten
//                  if it may have been accepted, and a delayed duplicate of a batch that was rejected
//   5. commit      the batch together with the run's document, which then has the outcome (+Commit)
//
// A client whose request was lost can close the batch instead of sending it again (+Closing).
//
// A run that was not seen for the lifetime of runs is forgotten (+Expiry). Registration tokens tell its
// batches from those of a new run. Usable from any thread.

internal import ByteStore
internal import Dispatch
internal import DocumentStore
package import OfflineSync

package final class WriteLedger: Sendable {
  package struct Options: Sendable {
    /// A run that was not seen for this number of microseconds is forgotten. Whole days count.
    package var runLifetime: Int64 = 90 * day
    /// The time in microseconds since 1970; nil for the clock of the store.
    package var now: (@Sendable () -> Int64)?

    /// The number of microseconds in a day.
    static let day: Int64 = 86_400_000_000

    package init() {}
  }

  /// The time of the commit, and the result of each mutation.
  package typealias Answer = (version: SnapshotVersion, results: [WriteResult])

  let backend: any DocumentBackend
  let life: AuthorityLife
  let options: Options
  private let rules: @Sendable () -> AuthorityRules
  let turns = RunTurns()
  /// Whether the store has records in the form of earlier releases.
  let hasEarlierRecords: Locked<Bool>
  /// The day on which expired runs were last removed.
  let lastRemoval: Locked<Int64>
  /// Runs removals of expired runs.
  let removal = DispatchQueue(label: "dugout.authority.expiry", qos: .utility)

  /// Opens the ledger of the life's backend, and removes what has expired. The rules are not applied to
  /// batches that were accepted before.
  package init(
    of life: AuthorityLife, options: Options = Options(),
    rules: @escaping @Sendable () -> AuthorityRules = { AuthorityRules() }
  ) throws(RemoteError) {
    backend = life.backend
    self.life = life
    self.options = options
    self.rules = rules
    hasEarlierRecords = Locked(true)
    lastRemoval = Locked(.min)
    try removeExpired()
  }

  /// The current day.
  var today: Int64 { Day.of(options.now?() ?? backend.clock.wallMicroseconds()) }

  /// Applies a batch once, however often it arrives, and returns its outcome. Returns nil if a guard does
  /// not hold.
  package func take(_ write: RemoteWrite, as user: String?) throws(RemoteError) -> Answer? {
    let run = try checked(write, as: user)
    let answer = try inTurn([run.path]) { () throws(RemoteError) in try step(write, run) }
    removeExpiredDaily()
    return answer
  }

  /// Applies a batch like `take(_:as:)` without waiting. `done` is called within this call, or later on
  /// another thread.
  package func take(
    _ write: RemoteWrite, as user: String?, connection: UInt64? = nil,
    done: @escaping @Sendable (Result<Answer?, RemoteError>) -> Void
  ) {
    let run: RunName
    do throws(RemoteError) { run = try checked(write, as: user) } catch { return done(.failure(error)) }
    inTurn(
      [run.path], { [self] () throws(RemoteError) in try step(write, run) },
      client: CommitClient(user: user, connection: connection), done: done)
    removeExpiredLater()
  }

  func checked(_ write: RemoteWrite, as user: String?) throws(RemoteError) -> RunName {
    let run = RunName(user: user, queue: write.id.queue, run: write.id.run)
    try run.check()
    try Self.checkPaths(of: write)
    return run
  }

  /// Clients neither write nor guard the documents of the store itself.
  private static func checkPaths(of write: RemoteWrite) throws(RemoteError) {
    for path in write.mutations.map(\.path) + write.guards.keys {
      do throws(PathError) { try path.check() } catch {
        throw RemoteError(.invalidArgument, error.description)
      }
    }
  }

  private func step(_ write: RemoteWrite, _ run: RunName) throws(RemoteError) -> LedgerStep<Answer?> {
    let known = try record(of: run)
    let digest = KeptOutcome.digest(of: write.mutations)
    if let known, known.accepted.contains(write.id.batch) {
      return .finished(try recognised(write, run, known: known, digest: digest))
    }
    let open = try admitted(write, run, known: known)
    if let refusal = rules().refusal(of: write.mutations, guards: write.guards, as: run.user) {
      throw refusal
    }
    return commit(write, run, continuing: open, digest: digest)
  }

  // MARK: Batches that were accepted

  private func recognised(
    _ write: RemoteWrite, _ run: RunName, known: RunRecord, digest: [UInt8]
  ) throws(RemoteError) -> Answer {
    if let accepted = known.digest(of: write.id.batch) {
      guard accepted == digest else {
        throw RemoteError(
          .invalidArgument, "Batch \(write.id.batch) was accepted before, with other writes than these.")
      }
      guard let outcome = known.outcome(of: write.id.batch) else {
        return Self.droppedOutcome(of: write, known)
      }
      return raised((version: outcome.time, results: outcome.results))
    }
    if hasEarlierRecords.withLock({ $0 }) {
      let kept = try EarlierLedger.outcome(
        of: write.id.batch, run, mutations: write.mutations, in: backend)
      if let kept { return raised(kept) }
    }
    // A batch under this number was accepted. It is not known whether it had these writes.
    throw .outcomeUnknown
  }

  /// The answer with the versions that clients receive in this life.
  func raised(_ answer: Answer) -> Answer {
    let results = answer.results.map { result in
      WriteResult(
        version: life.raised(result.version), transformResults: result.transformResults,
        versionBefore: result.versionBefore.map { life.raised($0) })
    }
    return (life.raised(answer.version), results)
  }

  /// Returns the answer to an accepted batch whose outcome was dropped because its client had received it.
  /// Only a copy of that client sends the batch again. The answer says nothing about the documents: its
  /// version is just before the run, so that the watch stream overrides it. `versionBefore` is that version,
  /// too, and no document ever had it. The result of a patch therefore counts as assumed until the watch
  /// stream delivers the document, and batches that follow are refused.
  static func droppedOutcome(of write: RemoteWrite, _ known: RunRecord) -> Answer {
    let start = known.registered?.microseconds ?? 0
    let placeholder = SnapshotVersion(microseconds: max(start - 1, SnapshotVersion.first.microseconds))
    let results = write.mutations.map { mutation in
      WriteResult(
        version: placeholder, transformResults: mutation.transforms.map { _ in .null },
        versionBefore: placeholder)
    }
    return (placeholder, results)
  }

  // MARK: Batches that were not accepted

  /// The error for a batch without the token of its run.
  static let unregistered = RemoteError(
    .failedPrecondition, "A write with an identity needs the registration token of its run.")

  /// Returns the record that the batch continues. Throws if the batch may have been accepted before, or was
  /// rejected before.
  func admitted(
    _ write: RemoteWrite, _ run: RunName, known: RunRecord?
  ) throws(RemoteError) -> RunRecord {
    // Without a date, a batch of a run that was forgotten looks like a new one.
    guard !write.registration.isEmpty else { throw Self.unregistered }
    switch try life.check(write.registration, of: run) {
    // A run that is registered again after it was forgotten has another date.
    case .registered(let time): guard known?.registered == time else { throw .outcomeUnknown }
    case .lost: break
    case .unknown: throw .outcomeUnknown
    }
    guard let known else { return RunRecord(lastDay: today) }
    guard known.accepted.isOpen(write.id.batch) else {
      // The batch is a delayed duplicate of a batch that was rejected or cancelled.
      throw RemoteError(.failedPrecondition, "Batch \(write.id.batch) was answered before.")
    }
    return known
  }
}
