// Keys and values that survive a crash. What a commit or an open does, step by step, is in
// ByteStore+Commit.swift and ByteStore+Open.swift.
//
// Invariants:
//   - What `value(for:)` answers was as durable as its commit asked for before it could be read.
//   - `state.published` counts exactly the commits that are in `state.table`.
//   - Only the thread that set `state.isLeading` touches the log of `writer`; it holds no lock while it
//     syncs but the writer's own. A spare may be put beside the log by the thread that made it.

/// A map from bytes to bytes whose acknowledged commits are never lost. Usable from any thread.
package final class ByteStore: Sendable {
  package struct Options: Sendable {
    /// The first log has this size, each later one four times what the one before needed.
    package var logBytesMin: UInt64 = 64 << 10
    package var logBytesMax: UInt64 = 32 << 20
    /// Make the store if the directory has none.
    package var createsIfMissing = true
    /// Who calls `performMaintenance()`.
    package var maintenance = Maintenance.inBackground(afterMilliseconds: 50)

    package init() {}
  }

  package let path: String
  package let storeID: RandomID
  package let recoveryReport: RecoveryReport

  let options: Options
  let platform: Platform
  let directory: any OpenDirectory
  let lock: any DirectoryLock
  private let generation: UInt64
  let state: Locked<State>
  let writer: Locked<Writer>

  struct State {
    var table: Memtable
    var published: SequenceNumber
    var lastStamp: UInt64
    /// Commits that wait for a leader.
    var queue: [Ticket] = []
    var isLeading = false
    var isMaintenanceScheduled = false
    /// Maintenance writes a file without holding a lock; the directory is not given back meanwhile.
    var isPreparingSpare = false
    /// Set by the first failure whose outcome is unknown, and by closing; ends all writing.
    var end: ByteStoreError?
  }

  /// What the leader works with: the manifest as it is on disk, and the log if one is open for writing.
  struct Writer {
    var manifest: Manifest
    var log: LogWriter?
    var spare = Spare.none
    /// Where the log ended when maintenance last looked.
    var endAtLastLook: UInt64 = 0
    /// Where the commits so far end, for the header of the next log.
    var last: LogHeader.LogEnd
  }

  /// The file for the next log. Whoever finds none and wants one says so here before letting go of the
  /// writer: two that make it at once would take the file from under a log.
  enum Spare {
    case none
    case underWay
    case ready(SpareLog)
    /// There was no room for it; not tried again while this log is in use.
    case failed
  }

  init(_ opened: Opened) {
    path = opened.directory.path
    storeID = opened.manifest.storeID
    recoveryReport = opened.report
    options = opened.options
    platform = opened.platform
    directory = opened.directory
    lock = opened.lock
    generation = ProcessGeneration.current
    state = Locked(
      State(table: opened.table, published: opened.last.sequence, lastStamp: opened.lastStamp))
    writer = Locked(Writer(manifest: opened.manifest, last: opened.last))
  }

  /// This process is a child of the one that opened the store.
  package var isForked: Bool { generation != ProcessGeneration.current }

  // MARK: Reading

  package func value(for key: [UInt8]) throws(ByteStoreError) -> [UInt8]? {
    guard !isForked else { throw .forked(directory: path) }
    return try state.withLock { state throws(ByteStoreError) in
      if case .closed = state.end { throw .closed(directory: path) }
      return state.table.value(for: key)
    }
  }

  /// The number of keys.
  package var count: Int { state.withLock { $0.table.count } }

  /// Commits that wait for the group before them; tests form groups by it.
  package var commitsWaiting: Int { state.withLock { $0.queue.count } }

  /// The last commit that readers see.
  package var lastCommit: SequenceNumber { state.withLock { $0.published } }

  /// The largest stamp of any commit; 0 before the first.
  package var lastStamp: UInt64 { state.withLock { $0.lastStamp } }

  package func checkInvariants() { state.withLock { $0.table.checkInvariants() } }
}
