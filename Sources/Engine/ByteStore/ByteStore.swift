// A crash-safe key-value store.
//
// ByteStore+Commit.swift, ByteStore+Open.swift and ByteStore+Flush.swift describe the steps of a commit,
// an open and a flush.
//
// Invariants:
//   - A commit is visible to readers only after it has the durability that it asked for.
//   - Only the thread that set `state.isLeading` uses the log of `writer` and applies commits to the key
//     directory. It holds only the writer's lock while it syncs. The thread that prepared a recycled log
//     file may store it in `writer`.
//   - Only the thread that set `state.isFlushing` adds and removes segments, and moves entries.
//   - Locks are taken in the order writer, state, key directory. No lock is held while a thread waits
//     for another thread.

import Synchronization

/// A map from bytes to bytes whose acknowledged commits are never lost. Usable from any thread.
package final class ByteStore: Sendable {
  package struct Options: Sendable {
    /// The size of the first log. Each later log is four times as large as the length that the log
    /// before it reached.
    package var logBytesMin: UInt64 = 64 << 10
    package var logBytesMax: UInt64 = 32 << 20
    /// The amount of log that starts a flush; it is larger for a large checkpoint
    /// (`FlushPlan.logBytes`). It limits the replay of an open.
    package var flushBytes: UInt64 = 64 << 20
    package var segmentBytesMax = 64 << 20
    /// The budget of the page cache; nil for a share of the machine's memory.
    package var cacheBytesMax: Int?
    /// Creates the store if the directory has none.
    package var createsIfMissing = true
    /// Changes nothing in the directory: commits and flushes throw `readOnly`. Other openers are
    /// excluded all the same.
    package var isReadOnly = false
    /// Determines how `performMaintenance()` is called.
    package var maintenance = Maintenance.inBackground(afterMilliseconds: 50)
    /// The upper layer. Its pages are part of checkpoints.
    package var upperLayer: (any UpperLayer)?
    package var blobs = BlobStore.Options()
    /// Called between the steps of a flush with no lock held, so that tests can run other operations
    /// there.
    package var betweenFlushSteps: (@Sendable (FlushStep) -> Void)?

    package init() {}
  }

  package let path: String
  package let storeID: RandomID
  package let recoveryReport: RecoveryReport
  /// How durable a sync is in the store's directory.
  package let durability: DurabilityReport
  /// The checkpoint found by the open. The upper layer reads its pages from it.
  package let checkpoint: CheckpointFile?

  package let options: Options
  package let platform: Platform
  package let directory: any OpenDirectory
  package let lock: any DirectoryLock
  private let generation: UInt64
  private let refusesReads = Atomic(false)
  /// The size of the WAL at the last commit, which a flush has to process.
  let logBytesToFlush = Atomic<UInt64>(0)
  /// The size of the WAL that starts a flush.
  let logBytesDue = Atomic<UInt64>(0)
  /// The size of the commits that are being throttled.
  let bytesThrottled = Atomic<Int>(0)
  private let hasBegunClosing = Atomic(false)
  let table: SharedKeyDirectory
  let state: Locked<State>
  let writer: Locked<Writer>
  let snapshots = SnapshotRegistry()
  /// Contents that are too large for values, in separate files.
  package let blobs: BlobStore
  /// The replayed commits that the upper layer has not processed yet.
  let recovered: Locked<Recovered?>

  struct State {
    /// Commits that wait for a leader.
    var queue: [Ticket] = []
    private(set) var isLeading = false
    /// The ticket of the thread that waits for the group to fill, if there is one.
    private(set) var host: Ticket?
    /// The number of completed groups, now and at the last rotation.
    private(set) var groups: UInt64 = 0
    private var groupsAtRotation: UInt64 = 0
    var groupWaitPolicy = GroupWaitPolicy()
    var isMaintenanceScheduled = false
    var isFlushScheduled = false
    /// A thread prepares a recycled log file without holding a lock. The directory is not released
    /// meanwhile.
    var isPreparingRecycledLog = false
    /// A flush is running. The directory is not released meanwhile.
    var isFlushing = false
    /// The number of running backups. A close ends them early.
    var backupsInProgress = 0
    /// The last flush, if it failed.
    var failedFlush: FailedFlush?
    /// A commit needed a checkpoint page that cannot be read.
    var needsLostPage = false
    /// The number of changes that the upper layer made without a commit, and how many of them the last
    /// checkpoint contains.
    var upperLayerChanges: UInt64 = 0
    var upperLayerChangesWritten: UInt64 = 0
    /// The last checkpoint contains only the upper layer's essential pages, because the disk was full.
    var lacksUpperLayerPages = false
    /// Segments that a flush could not read, with the errors. Later flushes skip them.
    var damagedSegments: [FileNumber: ByteStoreError] = [:]
    /// At most one thread at a time leads. The leader uses the log and applies commits.
    mutating func startLeading() {
      isLeading = true
      host = nil
    }

    mutating func waitForGroup(_ ticket: Ticket) { host = ticket }

    mutating func stopWaitingForGroup() { host = nil }

    /// Wakes the waiting thread if the group is full. The thread that filled it leads if it reaches
    /// `finish` first.
    func wakeWaitingLeader() {
      if let host, groupWaitPolicy.isComplete(queue.count) { host.signal.wake() }
    }

    /// Whether no thread leads and none is about to.
    var needsLeader: Bool { !isLeading && (host == nil || groupWaitPolicy.isComplete(queue.count)) }

    mutating func stopLeading() {
      isLeading = false
      // Tickets not yet in `finish()` check for leadership when they get there.
      queue.first(where: \.isAwaited)?.signal.wake()
    }

    mutating func groupEnded(hasRotated: Bool) {
      groups += 1
      if hasRotated { groupsAtRotation = groups }
    }

    /// Whether a flush that has waited since group `groupsBefore` may rotate. A commit that waited for a
    /// group with a rotation should not wait for a second rotation, so one more group comes first. The
    /// flush yields at most twice, because otherwise it would never run if every group rotates.
    func mayFlushRotate(since groupsBefore: UInt64) -> Bool {
      guard !isLeading else { return false }
      let isTooSoon = groups == groupsAtRotation && groups - groupsBefore < 2
      return !isTooSoon || end != nil || !queue.contains(where: \.isAwaited)
    }

    var isBusyWithFiles: Bool { isPreparingRecycledLog || isFlushing || backupsInProgress > 0 }

    var hasUpperLayerChanges: Bool { upperLayerChanges != upperLayerChangesWritten }

    /// The reason why writing has ended: the first failure with an unknown outcome, or closing.
    var end: ByteStoreError?
  }

  /// The state that the leader uses: the manifest on disk, and the log if one is open for writing.
  struct Writer {
    var manifest: Manifest
    /// If false, the manifest is written again before the first log. A power loss could otherwise drop
    /// the manifest and keep the log.
    var isManifestDurable = true
    var log: LogWriter?
    var recycledLog = RecycledLogState.none
    var reserve = SpaceReserve()
    var reserveGrowth = ReserveGrowth.none
    /// Files that an open could not delete without space for a manifest. They are deleted after the next
    /// manifest is written.
    var leftovers: [String] = []
    /// A flush works with the last free space, which no other operation may take.
    var isFreeingSpace = false
    /// The live bytes when a put was refused because the disk was full; nil once there was room.
    var liveBytesWhenFull: UInt64?
    /// The end of the log at the last maintenance run.
    var endAtLastMaintenance: UInt64 = 0
    /// The position after the last commit, for the header of the next log.
    var last: LogHeader.LogEnd
    /// The last commit in the checkpoint.
    var flushedThrough: SequenceNumber

    /// The number of log bytes that an open would replay.
    var logBytes: UInt64 {
      manifest.logs.reduce(log?.end ?? lengthOfLastLog) { $0 + ($1.end?.length ?? 0) }
    }

    /// The length of a last log that was not closed cleanly. The manifest does not record its end, but
    /// the open found it.
    private var lengthOfLastLog: UInt64 {
      guard let last = manifest.logs.last, last.end == nil, last.fileID == self.last.fileID else { return 0 }
      return self.last.length
    }
  }

  /// The recycled log file. A thread that wants to prepare one sets `inProgress` before it releases the
  /// writer's lock. Two threads preparing one at once could delete a file that is already in use as a
  /// log.
  enum RecycledLogState {
    case none
    case inProgress
    case ready(RecycledLog)
    /// The disk had no room for it. Not retried while the current log is in use.
    case failed
  }

  init(_ opened: Opened) {
    path = opened.directory.path
    storeID = opened.manifest.storeID
    recoveryReport = opened.report
    durability = opened.durability
    checkpoint = opened.checkpoint
    options = opened.options
    platform = opened.platform
    directory = opened.directory
    lock = opened.lock
    blobs = BlobStore(store: opened.directory.path, opened.options.blobs, opened.platform)
    generation = ProcessGeneration.current
    table = opened.table
    recovered = Locked(opened.recovered)
    state = Locked(State())
    writer = Locked(
      Writer(
        manifest: opened.manifest, isManifestDurable: opened.isManifestDurable, log: opened.oldLog,
        reserve: opened.reserve,
        leftovers: opened.leftovers, last: opened.last,
        flushedThrough: opened.checkpoint?.header.position.sequence ?? .none))
    noteLogBytesDue(opened.manifest.checkpoint)
  }

  func noteLogBytesDue(_ checkpoint: Manifest.Checkpoint?) {
    let bytes = FlushPlan.logBytes(flushBytes: options.flushBytes, checkpointBytes: checkpoint?.bytes ?? 0)
    logBytesDue.store(bytes, ordering: .relaxed)
  }

  /// Whether this process is a forked child of the one that opened the store.
  package var isForked: Bool { generation != ProcessGeneration.current }

  /// Set when a close begins. Long operations check this regularly and stop.
  package var isClosing: Bool { hasBegunClosing.load(ordering: .acquiring) }

  func beginClosing() { hasBegunClosing.store(true, ordering: .releasing) }

  func refuseReads() { refusesReads.store(true, ordering: .releasing) }

  package func checkReadable() throws(ByteStoreError) {
    guard !isForked else { throw .forked(directory: path) }
    guard !refusesReads.load(ordering: .acquiring) else { throw .closed(directory: path) }
  }

  // MARK: Reading

  /// Reads the value of a key into `buffer`; returns false if there is none. The buffer can be reused
  /// for the next read, so that nothing is allocated or copied twice.
  package func read(
    _ key: [UInt8], into buffer: inout ReadBuffer
  ) throws(ByteStoreError) -> Bool {
    try checkReadable()
    return try table.read(key, into: &buffer)
  }

  package func value(for key: [UInt8]) throws(ByteStoreError) -> [UInt8]? {
    try withValue(for: key) { Array(copying: $0) }
  }

  /// The values of several keys. Waits for the disk once for all missing key directory pages.
  package func values(for keys: [[UInt8]]) throws(ByteStoreError) -> [[UInt8]?] {
    try checkReadable()
    table.loadPages(for: keys)
    return try keys.map { key throws(ByteStoreError) in try value(for: key) }
  }

  /// Calls `body` with the borrowed value of a key; returns nil if there is none.
  package func withValue<Result>(
    for key: [UInt8], _ body: (RawSpan) -> Result
  ) throws(ByteStoreError) -> Result? {
    try table.buffers.withBuffer { buffer throws(ByteStoreError) in
      try read(key, into: &buffer) ? body(buffer.bytes) : nil
    }
  }

  /// The number of keys.
  package var count: Int { table.withTable { $0.keys } }

  /// The number of queued commits. Tests use it to form groups.
  package var commitsWaiting: Int { state.withLock { $0.queue.count } }

  /// The last commit that is visible to readers.
  package var lastCommit: SequenceNumber { table.withTable { $0.published } }

  /// The largest stamp of all commits; 0 before the first.
  package var lastStamp: UInt64 { table.withTable { $0.lastStamp } }
}

extension ByteStore {
  /// Stops the process if the key directory or the page cache violates an invariant. Loads the whole key
  /// directory.
  package func checkInvariants() throws(ByteStoreError) {
    try table.loadAll()
    if let broken = table.frozen().invariantBroken() { preconditionFailure(broken) }
    table.cache.checkInvariants()
  }
}
