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

/// A map from bytes to bytes that never loses an acknowledged commit. It can be used from any thread.
package final class ByteStore: Sendable {
  package struct Options: Sendable {
    /// The size of the first log file. Each later log file is four times as large as the length that the
    /// previous log reached.
    package var logBytesMin: UInt64 = 64 << 10
    package var logBytesMax: UInt64 = 32 << 20
    /// The number of WAL bytes that starts a flush, which limits how much an open has to replay. A large
    /// checkpoint raises the number (`FlushPlan.logBytes`).
    package var flushBytes: UInt64 = 64 << 20
    package var segmentBytesMax = 64 << 20
    /// The budget of the page cache in bytes; nil means a share of the machine's memory.
    package var cacheBytesMax: Int?
    /// The limit for the store's memory; nil means that only the parts have limits.
    package var memoryBudget: MemoryBudget?
    /// Creates the store if the directory has none.
    package var createsIfMissing = true
    /// Opens the store without changing anything in the directory. Commits and flushes throw `readOnly`. The
    /// directory is still locked, so other openers are excluded.
    package var isReadOnly = false
    /// Opens the store beside a writer, which may be another process or this one. Takes no lock that a writer
    /// waits for, and changes nothing in the directory. The store shows commits that are known to be on
    /// stable storage; `follow` adds those that the writer has made since.
    package var isReader = false
    /// Determines how `performMaintenance()` is called.
    package var maintenance = Maintenance.inBackground(afterMilliseconds: 50)
    /// The upper layer. Its pages are part of checkpoints.
    package var upperLayer: (any UpperLayer)?
    package var blobs = BlobStore.Options()
    /// Receives the store's events and measurements.
    package var instruments: (any Instruments)?
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
  /// Reports the store's events.
  package let recorder: Recorder
  /// Reports the store's measurements; nil if there are no instruments. A hot path reads only this reference.
  package let measures: Recorder?
  package let directory: any OpenDirectory
  package let lock: any DirectoryLock
  private let generation: UInt64
  private let refusesReads = Atomic(false)
  /// The number of WAL bytes that the next flush has to process, as of the last commit.
  let logBytesToFlush = Atomic<UInt64>(0)
  /// The number of WAL bytes at which a flush starts.
  let logBytesDue = Atomic<UInt64>(0)
  /// The size of the checkpoint.
  let checkpointBytes = Atomic<UInt64>(0)
  /// The number of WAL bytes that an open would replay. It can be read while the writer's lock is held.
  let walBytes = Atomic<UInt64>(0)
  /// The total size of the commits that are being throttled.
  let bytesThrottled = Atomic<Int>(0)
  private let hasBegunClosing = Atomic(false)
  let table: SharedKeyDirectory
  let state: Locked<State>
  let writer: Locked<Writer>
  let snapshots = SnapshotRegistry()
  /// The position in the writer's files; nil if this store is not a reader.
  let reader: Locked<ReaderState>?
  /// A copy for callers that must not wait for the disk, because the lock of `reader` is held during I/O. Nil
  /// if this store is not a reader.
  let lastLook: Locked<ReaderLook>?
  /// The readers' lock, by which a writer learns of readers before it recycles a log.
  let readerLock: (any ReaderLock)?
  /// Whether readers can see that this writer has the store open. Set by the leader.
  let isMarked: Atomic<Bool>
  /// Storage for contents that are too large for values. Each content has its own file.
  package let blobs: BlobStore
  /// The replayed commits that the upper layer has not processed yet.
  let recovered: Locked<Recovered?>

  struct State {
    /// Commits that wait for a leader.
    var queue: [Ticket] = []
    private(set) var isLeading = false
    /// The ticket of the thread that waits for the group to fill, if there is one.
    private(set) var waitingLeader: Ticket?
    /// The number of completed groups, now and at the last rotation.
    private(set) var groups: UInt64 = 0
    private var groupsAtRotation: UInt64 = 0
    var groupWaitPolicy = GroupWaitPolicy()
    var isMaintenanceScheduled = false
    var isFlushScheduled = false
    /// Whether a thread is preparing a recycled log file without holding a lock. The directory is not
    /// released in the meantime.
    var isPreparingRecycledLog = false
    /// Whether a flush is running. The directory is not released in the meantime.
    var isFlushing = false
    /// The number of running backups. A close ends them early.
    var backupsInProgress = 0
    /// The last flush if it failed; otherwise nil.
    var failedFlush: FailedFlush?
    var flushCounts = FlushCounts()
    /// The refusal of a write because of a full disk; nil once a later write has found room.
    var fullDisk: Obstacle?
    /// The failure that poisoned the store; nil if the store is not poisoned.
    var poison: Obstacle?
    /// Whether the event about the poisoned store still has to be sent.
    var owesPoisonEvent = false
    /// The times from the enqueueing of a commit to its place in the WAL, with the durability that it asked
    /// for.
    var latencies = LatencyHistogram()
    /// Whether a commit needed a checkpoint page that cannot be read.
    var needsLostPage = false
    /// The number of changes that the upper layer made without a commit. `upperLayerChangesWritten` counts
    /// those that the last checkpoint contains.
    var upperLayerChanges: UInt64 = 0
    var upperLayerChangesWritten: UInt64 = 0
    /// Whether the last checkpoint contains only the upper layer's essential pages, because the disk was
    /// full.
    var lacksUpperLayerPages = false
    /// Segments that a flush could not read, with the errors. Later flushes skip them.
    var damagedSegments: [FileNumber: ByteStoreError] = [:]
    /// At most one thread at a time leads. The leader uses the log and applies commits.
    mutating func startLeading() {
      isLeading = true
      waitingLeader = nil
    }

    mutating func waitForGroup(_ ticket: Ticket) { waitingLeader = ticket }

    mutating func stopWaitingForGroup() { waitingLeader = nil }

    /// Wakes the waiting thread if the group is full. If the thread whose commit filled the group reaches
    /// `finish` first, that thread leads instead.
    func wakeWaitingLeader() {
      if let waitingLeader, groupWaitPolicy.isComplete(queue.count) { waitingLeader.signal?.wake() }
    }

    /// Whether no thread is leading and no thread is about to lead.
    var needsLeader: Bool { !isLeading && (waitingLeader == nil || groupWaitPolicy.isComplete(queue.count)) }

    mutating func stopLeading() {
      isLeading = false
      // A thread that has not called `finish()` yet checks whether it should lead when it gets there.
      queue.first(where: \.isAwaited)?.signal?.wake()
    }

    mutating func groupEnded(hasRotated: Bool) {
      groups += 1
      if hasRotated { groupsAtRotation = groups }
    }

    /// Whether a flush that has been waiting since group `groupsBefore` may rotate the log. A commit that
    /// waited for a group with a rotation should not have to wait for a second rotation, so one more group
    /// goes first. The flush yields to at most two groups, because otherwise it would never run if every
    /// group rotated the log.
    func mayFlushRotate(since groupsBefore: UInt64) -> Bool {
      guard !isLeading else { return false }
      let isTooSoon = groups == groupsAtRotation && groups - groupsBefore < 2
      return !isTooSoon || end != nil || !queue.contains(where: \.isAwaited)
    }

    var isBusyWithFiles: Bool { isPreparingRecycledLog || isFlushing || backupsInProgress > 0 }

    var hasUpperLayerChanges: Bool { upperLayerChanges != upperLayerChangesWritten }

    /// The reason why no more writes are possible: the first failure with an unknown outcome, or a close.
    var end: ByteStoreError?

    /// A reason why the store cannot write.
    struct Obstacle {
      var cause: SystemFailure
      /// The wall-clock time of the first failure, in microseconds since 1970.
      var since: Int64
    }

    /// The flushes since the open.
    struct FlushCounts {
      var succeeded: UInt64 = 0
      var failed: UInt64 = 0
      /// The wall-clock time of the last success, in microseconds since 1970.
      var lastSuccess: Int64?
    }
  }

  /// The state that the leader uses: the manifest on disk, and the log if one is open for writing.
  struct Writer {
    var manifest: Manifest
    /// Whether the manifest is on stable storage. If not, it is written again before the first log is
    /// created, because a power loss could otherwise lose the manifest and keep the log.
    var isManifestDurable = true
    var log: LogWriter?
    var recycledLog = RecycledLogState.none
    var reserve = SpaceReserve()
    var reserveGrowth = ReserveGrowth.none
    /// Files that the open could not delete because the disk had no room for a new manifest. They are deleted
    /// after the next manifest is written.
    var leftovers: [String] = []
    /// Whether a flush is using the last free space, which no other operation may take.
    var isFreeingSpace = false
    /// The number of live bytes at the moment when a put was refused because the disk was full. It is nil
    /// again once a put has found room.
    var liveBytesWhenFull: UInt64?
    /// The end of the log at the last maintenance run.
    var endAtLastMaintenance: UInt64 = 0
    /// Whether readers can see that the last log may grow.
    var isMarkedForAppends = false
    /// The position after the last commit. The header of the next log records it.
    var last: LogHeader.LogEnd
    /// The last commit in the checkpoint.
    var flushedThrough: SequenceNumber

    /// The number of log bytes that an open would replay.
    var logBytes: UInt64 {
      var bytes = log?.end ?? lengthOfLastLog
      for index in manifest.logs.indices { bytes += manifest.logs[index].end?.length ?? 0 }
      return bytes
    }

    /// The length of the last log if that log was not closed cleanly. The manifest does not record where such
    /// a log ends, but the open found its end.
    private var lengthOfLastLog: UInt64 {
      guard let last = manifest.logs.last, last.end == nil, last.fileID == self.last.fileID else { return 0 }
      return self.last.length
    }
  }

  /// The state of the recycled log file. Before a thread starts to prepare the file, it sets `inProgress` and
  /// only then releases the writer's lock. If two threads prepared the file at once, one could delete a file
  /// that is already in use as a log.
  enum RecycledLogState {
    case none
    case inProgress
    case ready(RecycledLog)
    /// The disk had no room for the recycled log file. The preparation is not retried while the current log
    /// is in use.
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
    recorder = Recorder(opened.options.instruments, database: opened.directory.path)
    measures = recorder.measures
    directory = opened.directory
    lock = opened.lock
    blobs = BlobStore(store: opened.directory.path, opened.options.blobs, platform: opened.platform)
    generation = ProcessGeneration.current
    table = opened.table
    recovered = Locked(opened.recovered)
    reader = opened.reader.map { Locked($0) }
    lastLook = opened.reader.map { Locked($0.lastLook) }
    readerLock = opened.readerLock
    isMarked = Atomic(opened.isMarked)
    state = Locked(State())
    writer = Locked(
      Writer(
        manifest: opened.manifest, isManifestDurable: opened.isManifestDurable, log: opened.oldLog,
        reserve: opened.reserve,
        leftovers: opened.leftovers, last: opened.last,
        flushedThrough: opened.checkpoint?.header.position.sequence ?? .none))
    walBytes.store(writer.withLock { $0.logBytes }, ordering: .relaxed)
    noteLogBytesDue(opened.manifest.checkpoint)
  }

  /// The number of WAL bytes at which a flush starts.
  package var walBytesDue: UInt64 { logBytesDue.load(ordering: .relaxed) }

  func noteLogBytesDue(_ checkpoint: Manifest.Checkpoint?) {
    checkpointBytes.store(checkpoint?.bytes ?? 0, ordering: .relaxed)
    noteLogBytesDue()
  }

  /// Sets the number of WAL bytes at which a flush starts, from the size of the checkpoint and the memory
  /// budget.
  func noteLogBytesDue() {
    let bytes = FlushPlan.logBytes(
      flushBytes: options.flushBytes, checkpointBytes: checkpointBytes.load(ordering: .relaxed))
    logBytesDue.store(min(bytes, options.memoryBudget?.logBytesMax ?? .max), ordering: .relaxed)
  }

  /// Whether this process was forked from the process that opened the store.
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

  /// Reads the value of a key into `buffer`; returns false if the key does not exist. The caller can reuse
  /// the buffer for further reads, which saves an allocation and a copy per read.
  package func read(
    _ key: [UInt8], into buffer: inout ReadBuffer
  ) throws(ByteStoreError) -> Bool {
    try checkReadable()
    return try table.read(key, into: &buffer)
  }

  /// Takes a buffer from the pool for `read`. Return it with `recycle`.
  package func takeBuffer() -> PooledBuffer { table.buffers.take() }

  package func recycle(_ pooled: PooledBuffer) { table.buffers.recycle(pooled) }

  package func value(for key: [UInt8]) throws(ByteStoreError) -> [UInt8]? {
    try withValue(for: key) { Array(copying: $0) }
  }

  /// Returns the values of several keys. Reads all missing key directory pages together, so that the disk
  /// latency is paid once.
  package func values(for keys: [[UInt8]]) throws(ByteStoreError) -> [[UInt8]?] {
    try checkReadable()
    table.loadPages(for: keys)
    return try keys.map { key throws(ByteStoreError) in try value(for: key) }
  }

  /// The hash function of the keys in `lookUp`.
  package var keyHash: KeyHash { table.hash }

  /// Looks up keys and reads their values. A commit that changes these keys can reuse the lookups.
  package func lookUp(_ keys: [KeyRequest]) throws(ByteStoreError) -> KeyLookups {
    try checkReadable()
    return try table.lookUp(keys)
  }

  /// Calls `body` with the borrowed value of a key; returns nil if the key does not exist.
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

  /// The largest stamp of all commits; 0 before the first commit.
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
