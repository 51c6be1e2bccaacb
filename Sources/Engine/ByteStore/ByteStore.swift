// Keys and values that survive a crash. What a commit, an open or a flush does, step by step, is in
// ByteStore+Commit.swift, ByteStore+Open.swift and ByteStore+Flush.swift.
//
// Invariants:
//   - What a read answers was as durable as its commit asked for before it could be read.
//   - Only the thread that set `state.isLeading` touches the log of `writer` and applies commits to the
//     table; it holds no lock while it syncs but the writer's own. A spare may be put beside the log by the
//     thread that made it.
//   - Only the thread that set `state.isFlushing` adds and removes segments, and moves entries.
//   - Locks are taken in the order writer, state, table; none is held while another thread is waited for.

import Synchronization

/// A map from bytes to bytes whose acknowledged commits are never lost. Usable from any thread.
package final class ByteStore: Sendable {
  package struct Options: Sendable {
    /// The first log has this size, each later one four times what the one before needed.
    package var logBytesMin: UInt64 = 64 << 10
    package var logBytesMax: UInt64 = 32 << 20
    /// So many bytes of log are flushed to segments, more if the checkpoint is large (`FlushPlan.logBytes`); it bounds
    /// what an open replays.
    package var flushBytes: UInt64 = 64 << 20
    package var segmentBytesMax = 64 << 20
    /// For pages of segments; nil is a share of the machine's memory.
    package var cacheBytesMax: Int?
    /// Make the store if the directory has none.
    package var createsIfMissing = true
    /// Leave everything in the directory as it is: commits and flushes throw `readOnly`. Nobody else may have the
    /// store open meanwhile either.
    package var isReadOnly = false
    /// Who calls `performMaintenance()`.
    package var maintenance = Maintenance.inBackground(afterMilliseconds: 50)
    /// Whose pages go into the checkpoint beside the table's.
    package var layerAbove: (any LayerAbove)?
    package var blobs = BlobStore.Options()
    /// Called by a flush between its steps, while it holds no lock: tests let other things happen there.
    package var betweenFlushSteps: (@Sendable (FlushStep) -> Void)?

    package init() {}
  }

  package let path: String
  package let storeID: RandomID
  package let recoveryReport: RecoveryReport
  /// What a sync is worth where the store lies.
  package let durability: DurabilityReport
  /// What the last flush of an earlier opening left: the layer above finds its pages there.
  package let checkpoint: CheckpointFile?

  package let options: Options
  package let platform: Platform
  package let directory: any OpenDirectory
  package let lock: any DirectoryLock
  private let generation: UInt64
  private let isShut = Atomic(false)
  /// What a flush has before it, as of the last commit.
  let logBytesBehind = Atomic<UInt64>(0)
  /// With so many of them, one starts.
  let logBytesDue = Atomic<UInt64>(0)
  /// Of commits that wait because flushes do not keep up.
  let bytesPaced = Atomic<Int>(0)
  private let hasBegunToClose = Atomic(false)
  let table: SharedTable
  let state: Locked<State>
  let writer: Locked<Writer>
  let snapshots = SnapshotRegistry()
  /// Contents that are too large for values, in files of their own beside the log.
  package let blobs: BlobStore
  /// What the layer above has still to catch up with.
  let recovered: Locked<Recovered?>

  struct State {
    /// Commits that wait for a leader.
    var queue: [Ticket] = []
    private(set) var isLeading = false
    /// Of the thread that waits for company before it leads, if one does.
    private(set) var host: Ticket?
    /// How many have ended, and how many had when one last turned to a new log.
    private(set) var groups: UInt64 = 0
    private var groupsAtTurn: UInt64 = 0
    var gathering = Gathering()
    var isMaintenanceScheduled = false
    var isFlushScheduled = false
    /// Maintenance writes a file without holding a lock; the directory is not given back meanwhile.
    var isPreparingSpare = false
    /// The same for a flush.
    var isFlushing = false
    /// And for backups, which a close ends early.
    var backupsUnderWay = 0
    /// The last flush, if it failed.
    var failedFlush: FailedFlush?
    /// A commit needed a page of the checkpoint that cannot be read.
    var lacksPage = false
    /// How often the layer above has changed its pages without a commit, and how many of these changes the last
    /// checkpoint has.
    var changesAbove: UInt64 = 0
    var changesAboveWritten: UInt64 = 0
    /// The last checkpoint has only the least of the layer above: there was no room for all of its pages.
    var lacksPagesAbove = false
    /// Segments that a flush could not read, and why: it leaves them alone.
    var damagedSegments: [FileNumber: ByteStoreError] = [:]
    /// At any moment one thread at most has the log and the table to itself.
    mutating func startLeading() {
      isLeading = true
      host = nil
    }

    mutating func waitForCompany(_ ticket: Ticket) { host = ticket }

    mutating func stopWaitingForCompany() { host = nil }

    /// If it is complete. Whoever completed it leads it, if that thread comes to `finish` before the host is awake.
    func wakeHostOfCompany() {
      if let host, gathering.isComplete(queue.count) { host.signal.wake() }
    }

    /// Nobody leads, nor will soon.
    var needsLeader: Bool { !isLeading && (host == nil || gathering.isComplete(queue.count)) }

    mutating func stopLeading() {
      isLeading = false
      // Others look for themselves when they come to wait.
      queue.first(where: \.isAwaited)?.signal.wake()
    }

    mutating func groupEnded(turnedToNewLog: Bool) {
      groups += 1
      if turnedToNewLog { groupsAtTurn = groups }
    }

    /// Whether a flush that came after so many groups may turn to a new log. Whoever waited for a group that did is not
    /// to wait for another turn: one group more comes first. Two do at most, for where each of them turns, the flush
    /// would never have its turn.
    func letsFlushTurn(since groupsBefore: UInt64) -> Bool {
      guard !isLeading else { return false }
      let isTooSoon = groups == groupsAtTurn && groups - groupsBefore < 2
      return !isTooSoon || end != nil || !queue.contains(where: \.isAwaited)
    }

    var isBusyWithFiles: Bool { isPreparingSpare || isFlushing || backupsUnderWay > 0 }

    var hasChangesAbove: Bool { changesAbove != changesAboveWritten }

    /// Set by the first failure whose outcome is unknown, and by closing; ends all writing.
    var end: ByteStoreError?
  }

  /// What the leader works with: the manifest as it is on disk, and the log if one is open for writing.
  struct Writer {
    var manifest: Manifest
    /// If not, it is written again before there is a log: a power loss may take it, and must not leave a log.
    var isManifestSure = true
    var log: LogWriter?
    var spare = Spare.none
    var reserve = SpaceReserve()
    var reserveGrowth = ReserveGrowth.none
    /// Files that an open found no space to delete; they go once a manifest is written.
    var leftovers: [String] = []
    /// A flush works with the last space there is, and nobody else may take it.
    var isFreeingSpace = false
    /// How much lived when a put was refused because the disk was full; nil once there was room.
    var liveBytesWhenFull: UInt64?
    /// Where the log ended when maintenance last looked.
    var endAtLastLook: UInt64 = 0
    /// Where the commits so far end, for the header of the next log.
    var last: LogHeader.LogEnd
    /// The last commit that the checkpoint has.
    var flushedThrough: SequenceNumber

    /// What an open would have to read.
    var logBytes: UInt64 {
      manifest.logs.reduce(log?.end ?? lengthOfLastLog) { $0 + ($1.end?.length ?? 0) }
    }

    /// Of a log that was not closed cleanly the manifest has no end; the open found one.
    private var lengthOfLastLog: UInt64 {
      guard let last = manifest.logs.last, last.end == nil, last.fileID == self.last.fileID else { return 0 }
      return self.last.length
    }
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
        manifest: opened.manifest, isManifestSure: opened.isManifestSure, log: opened.oldLog,
        reserve: opened.reserve,
        leftovers: opened.leftovers, last: opened.last,
        flushedThrough: opened.checkpoint?.header.position.sequence ?? .none))
    noteLogBytesDue(opened.manifest.checkpoint)
  }

  func noteLogBytesDue(_ checkpoint: Manifest.Checkpoint?) {
    let bytes = FlushPlan.logBytes(flushBytes: options.flushBytes, checkpointBytes: checkpoint?.bytes ?? 0)
    logBytesDue.store(bytes, ordering: .relaxed)
  }

  /// This process is a child of the one that opened the store.
  package var isForked: Bool { generation != ProcessGeneration.current }

  /// Whoever works long looks at this now and then, and gives up.
  package var isClosing: Bool { hasBegunToClose.load(ordering: .acquiring) }

  func beginToClose() { hasBegunToClose.store(true, ordering: .releasing) }

  func shut() { isShut.store(true, ordering: .releasing) }

  package func checkReadable() throws(ByteStoreError) {
    guard !isForked else { throw .forked(directory: path) }
    guard !isShut.load(ordering: .acquiring) else { throw .closed(directory: path) }
  }

  // MARK: Reading

  /// The value of a key into `buffer`, or false if there is none. The buffer serves for the next read again:
  /// nothing is allocated and nothing copied twice.
  package func read(
    _ key: [UInt8], into buffer: inout ReadBuffer
  ) throws(ByteStoreError) -> Bool {
    try checkReadable()
    return try table.read(key, into: &buffer)
  }

  package func value(for key: [UInt8]) throws(ByteStoreError) -> [UInt8]? {
    try withValue(for: key) { Array(copying: $0) }
  }

  /// The values of a few keys. For where they are the disk is waited for together.
  package func values(for keys: [[UInt8]]) throws(ByteStoreError) -> [[UInt8]?] {
    try checkReadable()
    table.loadPages(for: keys)
    return try keys.map { key throws(ByteStoreError) in try value(for: key) }
  }

  /// Calls `body` with the value of a key, borrowed for as long as the call takes; nil if there is none.
  package func withValue<Result>(
    for key: [UInt8], _ body: (RawSpan) -> Result
  ) throws(ByteStoreError) -> Result? {
    try table.buffers.withBuffer { buffer throws(ByteStoreError) in
      try read(key, into: &buffer) ? body(buffer.bytes) : nil
    }
  }

  /// The number of keys.
  package var count: Int { table.withTable { $0.keys } }

  /// Commits that wait for the group before them; tests form groups by it.
  package var commitsWaiting: Int { state.withLock { $0.queue.count } }

  /// The last commit that readers see.
  package var lastCommit: SequenceNumber { table.withTable { $0.published } }

  /// The largest stamp of any commit; 0 before the first.
  package var lastStamp: UInt64 { table.withTable { $0.lastStamp } }
}

extension ByteStore {
  /// Stops the process if the table or the cache breaks one of its own rules; reads the whole table for it.
  package func checkInvariants() throws(ByteStoreError) {
    try table.loadAll()
    if let broken = table.frozen().invariantBroken() { preconditionFailure(broken) }
    table.cache.checkInvariants()
  }
}
