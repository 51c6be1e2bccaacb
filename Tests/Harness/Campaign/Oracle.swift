// The reference model of the crash campaigns: the expected contents of the store after every commit, and the
// commits that may or must be visible after a crash at any disk call.

internal import ByteStore

/// Records for each disk call which commits had been acknowledged before the call and which had begun.
///
/// Law: after a crash at a given call, the reopened store has the contents that result from a prefix of the
/// commits. The prefix contains every acknowledged commit and no commit that had not begun (P1 to P3). After
/// a power loss, only commits with an acknowledged sync count as acknowledged.
struct Oracle: Sendable {
  /// The expected state of the store after one commit.
  struct Point: Sendable {
    var contents: Contents
    var stamp: UInt64
    /// The number of disk calls when the commit began and when it was acknowledged.
    var beganAt: Int
    var acknowledgedAt: Int?
    /// The number of disk calls when a sync that covers the commit was acknowledged.
    var durableAt: Int?
  }

  /// The commits as they are known between one open and the next, starting with the empty store. An open
  /// determines the outcome of the commits that were in progress; earlier commits do not change.
  private struct Session: Sendable {
    var start: Int
    var points: [Point]
  }

  private var sessions: [Session]
  /// The backups of each directory, oldest first.
  private var backups: [String: [BackupAttempt]] = [:]

  init() {
    let empty = Point(contents: [:], stamp: 0, beganAt: -1, acknowledgedAt: -1, durableAt: -1)
    sessions = [Session(start: 0, points: [empty])]
  }

  // MARK: Commits

  mutating func begin(_ edit: Edit, at operation: Int) {
    var contents = points[points.count - 1].contents
    edit.apply(to: &contents)
    let stamp = max(points[points.count - 1].stamp, edit.stamp)
    points.append(
      Point(contents: contents, stamp: stamp, beganAt: operation))
  }

  mutating func acknowledge(_ sequence: Int, _ durability: Durability, at operation: Int) {
    points[sequence].acknowledgedAt = operation
    if durability == .synced { acknowledgeSync(through: sequence, at: operation) }
  }

  /// Marks all commits up to `sequence` as durable from now on.
  mutating func acknowledgeSync(through sequence: Int, at operation: Int) {
    for index in points[...sequence].indices where points[index].durableAt == nil {
      points[index].durableAt = operation
    }
  }

  /// Removes the commits after `sequence`, which did not reach the disk.
  mutating func forget(after sequence: Int) { points.removeLast(points.count - 1 - sequence) }

  /// Records that the store was opened and showed the commits up to `sequence`. From then on, these commits
  /// must not disappear (P5).
  mutating func record(at sequence: Int, operation: Int) {
    sessions.append(Session(start: operation, points: Array(points[...sequence])))
    for index in points.indices where points[index].acknowledgedAt == nil {
      points[index].acknowledgedAt = operation
    }
    acknowledgeSync(through: sequence, at: operation)
  }

  private var points: [Point] {
    get { sessions[sessions.count - 1].points }
    _modify { yield &sessions[sessions.count - 1].points }
  }

  /// The last commit that is acknowledged now.
  var acknowledged: Int { points.lastIndex { $0.acknowledgedAt != nil }! }

  // MARK: Expectations

  /// The allowed states after a crash right before a call.
  struct Expectation: Sendable {
    /// The states after each commit that had begun, starting with the empty store.
    var points: [Point]
    /// The last commit that must exist.
    var required: Int
    ///  The last durable commit. The last durable commit. It must survive a power loss in the next life even
    ///  if this crash is only a kill.
    var durable: Int
    var backups: [String: [BackupAttempt]]
  }

  func expectation(at operation: Int, after crash: Crash) -> Expectation {
    let session = sessions.last { $0.start <= operation }!
    func last(_ reachedAt: (Point) -> Int?) -> Int {
      session.points.lastIndex { reachedAt($0).map { $0 <= operation } ?? false }!
    }
    let acknowledged = last(\.acknowledgedAt)
    let durable = last(\.durableAt)
    let begun = session.points.lastIndex { $0.beganAt < operation }!
    return Expectation(
      points: Array(session.points[...max(acknowledged, begun)]),
      required: crash == .kill ? acknowledged : durable, durable: durable,
      backups: backups.compactMapValues { attempts in
        let begun = attempts.filter { $0.beganAt < operation }.map { $0.state(at: operation) }
        return begun.isEmpty ? nil : begun
      })
  }

  /// Creates the oracle of the life after a crash.
  init(after expectation: Expectation) {
    var points = expectation.points
    for index in points.indices {
      points[index].beganAt = -1
      points[index].acknowledgedAt = index <= expectation.required ? -1 : nil
      points[index].durableAt = index <= expectation.durable ? -1 : nil
    }
    sessions = [Session(start: 0, points: points)]
    backups = expectation.backups.mapValues { $0.map(\.afterCrash) }
  }

  // MARK: Backups

  mutating func beginBackup(to directory: String, at operation: Int) {
    backups[directory, default: []].append(
      BackupAttempt(sequence: acknowledged, point: points[acknowledged], beganAt: operation))
  }

  mutating func completeBackup(to directory: String, at operation: Int) {
    guard let last = backups[directory]?.indices.last else { preconditionFailure("a backup begins first") }
    backups[directory]?[last].completedAt = operation
  }

  /// Removes the last backup, which was refused and left its directory unchanged.
  mutating func forgetBackup(to directory: String) { backups[directory]?.removeLast() }

  /// Checks the directories of all backups so far.
  func checkBackups(on image: DiskImage) throws(Finding) {
    for (directory, attempts) in backups.sorted(by: { $0.key < $1.key }) where !attempts.isEmpty {
      try BackupAttempt.check(attempts, in: directory, on: image)
    }
  }
}

/// A state that values can be read from: a store or a snapshot.
protocol ReadableState {
  func value(for key: [UInt8]) throws(ByteStoreError) -> [UInt8]?
  func read(_ key: [UInt8], into buffer: inout ReadBuffer) throws(ByteStoreError) -> Bool
  var count: Int { get }
}

extension ByteStore: ReadableState {}
extension Snapshot: ReadableState {}

/// Returns whether a read error is acceptable because of a fault or damage.
typealias ErrorPredicate = (ByteStoreError) -> Bool

extension Oracle.Expectation {
  /// Returns the last commit of the store. Throws unless that commit is allowed and the store has exactly
  /// its contents.
  func check(_ store: ByteStore, _ isAcceptable: ErrorPredicate) throws(Finding) -> Int {
    let found = Int(store.lastCommit.value)
    guard found >= required else {
      throw Finding(
        .lostCommit, "the store is at commit \(found), and \(required) was acknowledged")
    }
    guard found < points.count else {
      throw Finding(.ghost, "the store is at commit \(found), and only \(points.count - 1) began")
    }
    try points[found].compare(with: store, at: found, isAcceptable)
    return found
  }
}

extension Oracle.Point {
  func compare(with store: ByteStore, at sequence: Int, _ isAcceptable: ErrorPredicate) throws(Finding) {
    try compare(withState: store, at: sequence, isAcceptable)
    guard store.lastStamp == stamp else {
      throw Finding(.ghost, "after commit \(sequence) the stamp is \(store.lastStamp), not \(stamp)")
    }
  }

  func compare(
    withState state: some ReadableState, at sequence: Int, _ isAcceptable: ErrorPredicate
  ) throws(Finding) {
    // The keys are sorted, so that equal runs report equal findings.
    for (key, value) in contents.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      let found: [UInt8]?
      do throws(ByteStoreError) {
        found = try Self.value(for: key, in: state)
      } catch {
        guard !isAcceptable(error) else { continue }
        throw Finding(.dishonest, "after commit \(sequence), \(name(key)) cannot be read: \(error)")
      }
      guard found != value else { continue }
      let text = found.map { "\($0.count) other bytes" } ?? "no value"
      throw Finding(
        .tornBatch,
        "after commit \(sequence), \(name(key)) has \(text), not the \(value.count) bytes that were put")
    }
    guard state.count == contents.count else {
      throw Finding(
        .ghost, "after commit \(sequence) there are \(state.count) keys, and only \(contents.count) were left"
      )
    }
  }

  /// Reads the value, and retries once after a system error, because a one-time fault must not occur again.
  private static func value(
    for key: [UInt8], in state: some ReadableState
  ) throws(ByteStoreError) -> [UInt8]? {
    do throws(ByteStoreError) {
      return try state.value(for: key)
    } catch {
      guard case .system = error else { throw error }
      return try state.value(for: key)
    }
  }
}
