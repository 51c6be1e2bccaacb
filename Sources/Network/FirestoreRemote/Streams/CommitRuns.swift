// The runs under which a remote commits outside the queue.
//
//   - The remote is a queue of its own, with one run for each user. Each commit is a batch.
//   - A server of Dugout registers the run when a write stream opens, and applies each batch once. A commit
//     whose answer was lost is therefore sent again.
//   - A few commits run at a time, and the others wait in their order. Each one has a session of its own, and
//     a connection would have none left for the other streams.
//   - It is found out with the first commit whether the server is one of Dugout. Another one may have stood
//     in for it for a while, so a server that registers nothing is asked again after ten minutes.

internal import DocumentStore
internal import OfflineSync

/// It is only accessed on the scheduler of its remote.
final class CommitRuns: @unchecked Sendable {
  // The conformance is unchecked, because all work runs on the serial scheduler.
  private struct Run {
    let id = RunID(.random(in: 0...UInt64.max))
    var token: [UInt8] = []
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
  /// Whether the server registers runs; nil if that is not known.
  private(set) var registers: Bool?
  private var runningCount = 0
  private var waiting: [CommitOnce] = []

  init(_ scheduler: any SyncScheduler) { self.scheduler = scheduler }

  // MARK: The server

  func noteRegistration() { registers = true }

  /// Notes that the server registers nothing.
  func noteNoRegistration() {
    guard registers != false else { return }
    registers = false
    scheduler.run(after: Self.retryTime) { [weak self] in self?.registers = nil }
  }

  // MARK: The line

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
    // Not within this call, because the next one may end at once, and the line may be long.
    scheduler.run { next.run() }
  }

  // MARK: Batches

  /// Adds a batch to the run of a user.
  func add(_ mutations: [Mutation], of user: String?) -> RemoteWrite {
    var run = runs[user, default: Run()]
    run.last += 1
    run.open.insert(run.last)
    runs[user] = run
    return RemoteWrite(
      id: WriteID(queue: queue, run: run.id, batch: BatchID(run.last)), mutations: mutations,
      firstOpen: BatchID(1))
  }

  /// Removes a batch, which will not be sent again.
  func remove(_ write: RemoteWrite, of user: String?) { runs[user]?.open.remove(write.id.batch.value) }

  func registration(of user: String?) -> RunRegistration {
    let run = runs[user, default: Run()]
    runs[user] = run
    return RunRegistration(queue: queue, run: run.id, token: run.token)
  }

  /// Keeps the token of the run of a user. Returns false if there is none.
  func take(_ tokens: [RunID: [UInt8]], of user: String?) -> Bool {
    guard let run = runs[user], let token = tokens[run.id] else { return false }
    runs[user]?.token = token
    return true
  }

  /// The batch as it is sent now.
  func sent(_ write: RemoteWrite, of user: String?) -> RemoteWrite {
    guard let run = runs[user] else { return write }
    var write = write
    write.firstOpen = BatchID(run.open.min() ?? write.id.batch.value)
    if write.registration.isEmpty { write.registration = run.token }
    return write
  }
}
