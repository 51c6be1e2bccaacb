// Commits of many clients without a thread for each.
//
//   1. admit    a commit joins the line of its client, or is refused
//   2. begin    one queue begins the first commit of each line in turn, up to a number of commits
//   3. finish   another queue finishes them in the same order
//
// While the first commit of the second queue waits for the disk, the first queue begins the next ones, so the
// store writes them as one group. A commit with a check reads documents first, on one of a few queues of its
// own. If another commit changes a document that it has read, it is repeated there, and waits there.
//
// A client is admitted while it uses no more space than is free. The lane is therefore never full: one client
// gets at most one half of it, two get a third each, and there is room for another one.
//
// Clients that are not known may be many. Together they have the space of one client. But each of their
// commits has a turn of its own, and they are not refused because one of them waits for long.

internal import ByteStore
internal import Dispatch
internal import DocumentStore
internal import OfflineSync

final class CommitLane: Sendable {
  typealias Done = @Sendable (Result<CommitOutcome, RemoteError>) -> Void
  /// Commits after a check, and returns when the commit is durable.
  typealias Checked = @Sendable (BackendCommit, BackendCheck) -> Result<CommitOutcome, RemoteError>

  struct Limits {
    /// A commit takes as much space as it has mutations, and one more.
    var space = 1 << 16
    /// The maximum number of commits that have begun and not ended. One with a check counts several times.
    var inProgress = 1024
    /// While the first commit in the line of a client is older than this, the client is refused.
    var waitNanoseconds: UInt64 = 1_000_000_000
  }

  private struct Entry: Sendable {
    let commit: BackendCommit
    let time: UInt64
    let done: Done

    var space: Int { commit.mutations.count + 1 }
    /// A commit with a check reads, and may wait for others and read again. Few of them begin at once, so
    /// that commits of other clients soon have their turn.
    var places: Int { commit.check == nil ? 1 : 16 }
  }

  private let store: DocumentStore
  private let limits: Limits
  private let checked: Checked
  private let beginning = DispatchQueue(label: "dugout.authority.beginning")
  private let finishing = DispatchQueue(label: "dugout.authority.finishing")
  private let checking = (0..<4).map { DispatchQueue(label: "dugout.authority.checking.\($0)") }
  private let refusing = DispatchQueue(label: "dugout.authority.refusing")
  private let state = Locked(State())

  init(_ store: DocumentStore, limits: Limits = Limits(), checked: @escaping Checked) {
    self.store = store
    self.limits = limits
    self.checked = checked
  }

  func commit(_ commit: BackendCommit, _ done: @escaping Done) {
    let entry = Entry(commit: commit, time: store.clock.monotonicNanoseconds(), done: done)
    guard state.withLock({ [limits] in $0.admit(entry, limits) }) else {
      return refusing.async {
        done(.failure(.overloaded))
      }
    }
    beginning.async { [self] in beginNext() }
  }

  // MARK: Steps

  private func beginNext() {
    guard let (entry, number) = state.withLock({ [limits] in $0.begin(limits) }) else { return }
    if let check = entry.commit.check {
      let queue = checking[number % checking.count]
      return queue.async { [self] in begin(entry, after: check, on: queue) }
    }
    let begun = Result { () throws(DocumentStoreError) in try begin(entry.commit) }
    finish(begun.mapError { RemoteError(ofCommit: $0) }) { [self] in end(entry, $0) }
  }

  private func begin(_ commit: BackendCommit) throws(DocumentStoreError) -> OutcomeInProgress {
    guard let transaction = commit.transaction else {
      return try store.beginCommit(commit.mutations, recording: commit.recording)
    }
    guard let transaction = transaction as? EmbeddedTransaction else {
      throw .invalidArgument("The transaction is one of another backend.")
    }
    return try transaction.begin(commit.mutations, recording: commit.recording, in: store)
  }

  private func begin(_ entry: Entry, after check: BackendCheck, on queue: DispatchQueue) {
    let begun = Result { () throws(RemoteError) in
      try EmbeddedBackend.begin(entry.commit, after: check, in: store)
    }
    finish(begun) { [self] outcome in
      guard case .failure(let error) = outcome, error.code == .aborted else { return end(entry, outcome) }
      queue.async { [self] in end(entry, checked(entry.commit, check)) }
    }
  }

  private func finish(_ begun: Result<OutcomeInProgress, RemoteError>, _ done: @escaping Done) {
    finishing.async { [self] in
      done(
        begun.flatMap { begun in
          let outcome = Result { () throws(DocumentStoreError) in try store.finishCommit(begun) }
          return outcome.mapError { RemoteError(ofCommit: $0) }
        })
    }
  }

  private func end(_ entry: Entry, _ outcome: Result<CommitOutcome, RemoteError>) {
    if state.withLock({ $0.end(entry) }) { beginning.async { [self] in beginNext() } }
    entry.done(outcome)
  }

  // MARK: Lines

  private struct State {
    private var lines: [CommitClient: Line] = [:]
    /// The clients with commits that wait to begin, in the order of their turns.
    private var clients: [CommitClient] = []
    private var firstClient = 0
    private var usedSpace = 0
    private var inProgress = 0
    private var begunCount = 0

    mutating func admit(_ entry: Entry, _ limits: Limits) -> Bool {
      let client = entry.commit.client
      let line = lines[client] ?? Line()
      if client.isKnown, let oldest = line.first?.time, entry.time > oldest,
        entry.time - oldest > limits.waitNanoseconds
      {
        return false
      }
      // A commit that is larger than the lane is admitted when the lane is empty.
      guard usedSpace == 0 || line.usedSpace + entry.space <= limits.space - usedSpace else { return false }
      usedSpace += entry.space
      if line.first == nil || !client.isKnown { clients.append(client) }
      lines[client, default: Line()].add(entry)
      return true
    }

    /// Takes the first commit of the next client.
    mutating func begin(_ limits: Limits) -> (entry: Entry, number: Int)? {
      guard inProgress < limits.inProgress, firstClient < clients.count else { return nil }
      let client = clients[firstClient]
      firstClient += 1
      if firstClient > 64, firstClient > clients.count / 2 {
        clients.removeFirst(firstClient)
        firstClient = 0
      }
      guard let entry = lines[client]?.removeFirst() else { return nil }
      if lines[client]?.first != nil, client.isKnown { clients.append(client) }
      inProgress += entry.places
      begunCount &+= 1
      return (entry, begunCount & 0xFF)
    }

    /// Returns whether another commit waits to begin.
    mutating func end(_ entry: Entry) -> Bool {
      inProgress -= entry.places
      usedSpace -= entry.space
      let client = entry.commit.client
      lines[client]?.usedSpace -= entry.space
      if lines[client]?.usedSpace == 0 { lines[client] = nil }
      return firstClient < clients.count
    }
  }

  /// The commits of one client.
  private struct Line {
    /// The space of all commits that have not ended.
    var usedSpace = 0
    private var waiting: [Entry] = []
    private var start = 0

    var first: Entry? { start < waiting.count ? waiting[start] : nil }

    mutating func add(_ entry: Entry) {
      usedSpace += entry.space
      waiting.append(entry)
    }

    mutating func removeFirst() -> Entry? {
      guard let entry = first else { return nil }
      start += 1
      if start == waiting.count || start > 64 && start > waiting.count / 2 {
        waiting.removeFirst(start)
        start = 0
      }
      return entry
    }
  }
}
