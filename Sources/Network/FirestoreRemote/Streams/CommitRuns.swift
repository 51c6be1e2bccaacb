// The runs under which a remote commits outside the outbox.
//
//   - The remote is a queue of its own, with one run for each user. Each commit is a batch.
//   - A server of Dugout registers the run when a write stream opens, and applies each batch once. The
//     registration is kept until the server refuses it, so later commits need no stream.
//   - A few commits run at a time, and the others wait in their order. The server keeps the outcomes of a few
//     batches without an answer, and commits the batches of a run one after the other.
//   - It is found out with the first commit whether the server is one of Dugout. Another one may have stood
//     in for it for a while, so a server that takes no identities is asked again after ten minutes.

internal import FirestoreWire
internal import OfflineSync

/// It is only accessed on the scheduler of its remote.
final class CommitRuns: @unchecked Sendable {
  // The conformance is unchecked, because all work runs on the serial scheduler.
  private struct Run {
    let id = RunID(.random(in: 0...UInt64.max))
    var token: [UInt8] = []
    /// Whether the server has given the token, and has not refused it since.
    var isRegistered = false
    var last: Int64 = 0
    /// The batches without an answer.
    var open: Set<Int64> = []
  }

  /// Commits that run at a time.
  private static let runningMax = 4

  /// The time without another question to a server that registers nothing, in microseconds.
  private static let retryTime: Int64 = 600_000_000

  private let scheduler: any SyncScheduler
  private let queue = "commits-" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
  private var runs: [String?: Run] = [:]
  /// Whether the server takes identities of commits; nil if that is not known.
  private(set) var registers: Bool?
  private var runningCount = 0
  private var waiting: [CommitOnce] = []

  init(_ scheduler: any SyncScheduler) { self.scheduler = scheduler }

  // MARK: The server

  /// Notes that the server registers nothing, or ignores identities of commits.
  func noteNoRegistration() {
    for user in runs.keys { runs[user]?.isRegistered = false }
    guard registers != false else { return }
    registers = false
    scheduler.run(after: Self.retryTime) { [weak self] in self?.registers = nil }
  }

  // MARK: The queue of waiting commits

  /// Begins a commit now, or when one before it has ended.
  func begin(_ commit: CommitOnce) {
    guard runningCount < Self.runningMax else { return waiting.append(commit) }
    runningCount += 1
    commit.run()
  }

  /// Ends a commit, whether it has begun or not.
  func end(_ commit: CommitOnce, hasRun: Bool) {
    guard hasRun else { return waiting.removeAll { $0 === commit } }
    runningCount -= 1
    guard !waiting.isEmpty else { return }
    runningCount += 1
    let next = waiting.removeFirst()
    // Not within this call, because the next one may end at once, and the queue may be long.
    scheduler.run { next.run() }
  }

  // MARK: Registrations

  func isRegistered(_ user: String?) -> Bool { runs[user]?.isRegistered ?? false }

  func registration(of user: String?) -> RunRegistration {
    let run = runs[user, default: Run()]
    runs[user] = run
    return RunRegistration(queue: queue, run: run.id, token: run.token)
  }

  /// Keeps the token of the run of a user. Returns false if there is none.
  func take(_ tokens: [RunID: [UInt8]], of user: String?) -> Bool {
    guard let run = runs[user], let token = tokens[run.id] else { return false }
    registers = true
    runs[user]?.token = token
    runs[user]?.isRegistered = true
    return true
  }

  /// Notes that the server has refused a token. Another commit may have got a new one since.
  func refuse(_ token: [UInt8], of user: String?) {
    if runs[user]?.token == token { runs[user]?.isRegistered = false }
  }

  // MARK: Batches

  /// Adds a batch to the run of a user, which is registered.
  func add(of user: String?) -> RemoteWrite {
    var run = runs[user, default: Run()]
    run.last += 1
    run.open.insert(run.last)
    runs[user] = run
    let batch = BatchID(run.last)
    var write = RemoteWrite(
      id: WriteID(queue: queue, run: run.id, batch: batch), mutations: [], firstOpen: batch)
    write.registration = run.token
    return write
  }

  /// Removes a batch, which will not be sent again.
  func remove(_ batch: RemoteWrite, of user: String?) { runs[user]?.open.remove(batch.id.batch.value) }

  /// The identity of a batch as it is sent now.
  func identity(of batch: RemoteWrite, of user: String?) -> Wire.WriteIdentity {
    var batch = batch
    if let first = runs[user]?.open.min() { batch.firstOpen = BatchID(first) }
    return Wire.WriteIdentity(batch)
  }
}
