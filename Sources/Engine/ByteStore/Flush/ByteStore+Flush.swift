// A flush: moves commits from the WAL to segments, reclaims dead space, and shortens the next open.
//
//   1. Load: load every key directory page that exists only in the last checkpoint. Rebuild lost pages from
//      the segments (SharedKeyDirectory+Rebuild.swift).
//   2. Freeze: rotate the WAL, and copy the key directory as of the last commit in the old log.
//   3. Write: write the memtable and the live entries of the compaction inputs to segments, then write a
//      checkpoint (FlushJob).
//   4. Directory: sync the directory, which makes the file names durable.
//   5. Manifest: write a manifest that lists the new files, and omits the compaction inputs and the logs
//      before the new log (C5).
//   6. Move: change the locations in the live key directory, except for keys that were changed since step 2.
//   7. Delete: delete the files that no durable manifest names. One of the logs becomes the recycled log
//      file.
//
// Commits and reads continue during a flush. Step 2 waits for its turn as a commit does. The log file for the
// rotation is prepared before step 2, and step 2 does not directly follow another rotation. Step 5 holds the
// writer's lock for two syncs. Step 6 takes the key directory's lock for one short batch at a time. A crash
// before step 5 leaves unused new files, and a crash after step 5 leaves unused old files. In both cases, the
// next open removes the files.

import Libc
import Synchronization

extension ByteStore {
  package enum FlushScope: Sendable {
    /// Compacts only the segments whose garbage ratio requires it.
    case asNeeded
    /// Compacts every segment that has dead bytes.
    case everything
  }

  /// Moves all existing commits from the WAL to segments, and returns when they have been moved. A failure
  /// loses nothing: a later flush does the remaining work.
  package func flush(_ scope: FlushScope = .asNeeded) throws(ByteStoreError) {
    try flush(scope, isOfClose: false)
  }

  /// Runs a flush. If `isOfClose` is true, the flush runs even though the store refuses new writes.
  func flush(_ scope: FlushScope, isOfClose: Bool) throws(ByteStoreError) {
    guard !isForked else { throw .forked(directory: path) }
    try state.withLock(when: { !$0.isFlushing || $0.end != nil }) { state throws(ByteStoreError) in
      if let end = isOfClose ? state.end : writeRefusal(state) { throw end }
      if options.isReadOnly { throw .readOnly(directory: path) }
      state.isFlushing = true
    }
    if scope == .everything { waitForRecycledLog() }
    let start = platform.clock.monotonicNanoseconds()
    let result = Result { () throws(ByteStoreError) in try runFlushWithinSpace(scope) }
    let end = platform.clock.monotonicNanoseconds()
    state.withLock { state in
      state.isFlushing = false
      switch result {
      case .success:
        state.failedFlush = nil
      case .failure(let error):
        let logBytes = logBytesToFlush.load(ordering: .relaxed)
        let since = state.failedFlush?.since ?? platform.clock.wallMicroseconds()
        state.failedFlush = FailedFlush(
          error: error, logBytes: logBytes,
          retryNanoseconds: end &+ retryDelayNanoseconds(logBytes, took: end &- start), since: since)
        state.flushCounts.failed += 1
        if case .system(let cause) = error, cause.isSync { fail([], .unknown(cause), state: &state) }
        if case .outcomeUnknown(let cause) = error { fail([], .unknown(cause), state: &state) }
      }
    }
    state.wakeAll()
    balanceMemory(trimsHeap: true)
    if case .failure(let error) = result { sendFailure(ofFlush: error) }
    try result.get()
  }

  /// Waits until a recycled log file that is being prepared is complete. Otherwise a file of an outdated size
  /// could appear after the compaction. This flush is already marked as running, so other callers of `flush`
  /// wait for it and no further flush is scheduled.
  private func waitForRecycledLog() {
    // A test that schedules all threads itself must not wait for another thread here.
    guard !options.maintenance.isSimulated else { return }
    state.withLock(when: { !$0.isPreparingRecycledLog || $0.end != nil }) { _ in }
  }

  /// The work that a flush would do.
  struct FlushDebt {
    var logBytes: UInt64
    var logs: Int
    var wouldFreeSpace: Bool
  }

  /// `writer` is not changed. As a value, it would be copied for every commit.
  func flushDebt(_ writer: inout Writer) -> FlushDebt {
    FlushDebt(
      logBytes: writer.logBytes, logs: writer.manifest.logs.count,
      wouldFreeSpace: flushWouldFreeSpace(liveBytesBefore: writer.liveBytesWhenFull))
  }

  /// Whether the store needs a flush, for example because enough log has accumulated.
  var isFlushDue: Bool { isFlushDue(for: writer.withLock { flushDebt(&$0) }) }

  /// Whether `debt` or the state of the checkpoint makes a flush due. Does not wait for the writer's lock.
  func isFlushDue(for debt: FlushDebt) -> Bool {
    let due = logBytesDue.load(ordering: .relaxed)
    let isDue =
      debt.wouldFreeSpace || debt.logBytes >= due || debt.logs > Self.logsMax || needsCheckpoint
    guard isDue, let failed = state.withLock({ $0.failedFlush }) else { return isDue }
    // Removals since the failure may have freed the space that the flush needs.
    if debt.wouldFreeSpace, failed.error.isRecoverableOutOfSpace { return true }
    // A failed flush is not retried with every commit. It is retried when the log has grown by another `due`
    // bytes since the failure. It is also retried after some time, because the cause of the failure may be
    // gone.
    return debt.logBytes >= failed.logBytes + due
      || platform.clock.monotonicNanoseconds() >= failed.retryNanoseconds
  }

  /// Whether a new checkpoint is needed even though the amount of log does not require it. The current
  /// checkpoint may have unreadable pages, which a commit needed or which were rebuilt in memory. It may also
  /// lack later changes of the upper layer.
  private var needsCheckpoint: Bool {
    table.isRebuilt.withLock { $0 } || state.withLock { $0.needsLostPage || $0.hasUpperLayerChanges }
  }

  private var hasUnreadablePages: Bool {
    table.isRebuilt.withLock { $0 } || state.withLock { $0.needsLostPage }
  }

  private static let logsMax = 16

  /// While flushes fail, the log may grow to this multiple of the size that starts a flush. Each open replays
  /// the whole log, and the memtable keeps all of its commits in memory.
  private static let logGrowthFactorMax: UInt64 = 4
  /// The minimum time between retries. If a failed flush took long, the next retry waits longer, so that
  /// retries take about a twentieth of the time. The wait has an upper limit. While writes are refused, it
  /// stays at the minimum.
  private static let nanosecondsBetweenRetries: UInt64 = 2_000_000_000
  private static let nanosecondsBetweenRetriesMax: UInt64 = 30_000_000_000

  private func retryDelayNanoseconds(_ logBytes: UInt64, took nanoseconds: UInt64) -> UInt64 {
    if hasReachedLogLimit(logBytes) { return Self.nanosecondsBetweenRetries }
    let (often, isLong) = nanoseconds.multipliedReportingOverflow(by: 20)
    let most = Self.nanosecondsBetweenRetriesMax
    return isLong ? most : min(max(Self.nanosecondsBetweenRetries, often), most)
  }

  /// Whether a WAL of `logBytes` bytes has reached its limit.
  private func hasReachedLogLimit(_ logBytes: UInt64) -> Bool {
    logBytes >= Self.logGrowthFactorMax * logBytesDue.load(ordering: .relaxed)
  }

  /// A failed flush that has not been followed by a successful flush.
  struct FailedFlush {
    var error: ByteStoreError
    /// The size of the WAL at the time of the failure.
    var logBytes: UInt64
    /// The earliest time of the next retry, on the monotonic clock. The next commit triggers the retry, even
    /// if that commit is refused.
    var retryNanoseconds: UInt64
    /// The wall-clock time of the first of these failures, in microseconds since 1970.
    var since: Int64
  }

  /// Returns the error that refuses a commit if flushes fail and the WAL has reached its limit; nil if the
  /// commit is accepted. A successful flush lifts the limit, and refused commits trigger retries from time to
  /// time.
  func refusalAtLogLimit(by batch: Batch, _ state: borrowing State) -> ByteStoreError? {
    // An empty batch only makes earlier commits durable and adds nothing.
    guard batch.count > 0, let failed = state.failedFlush, hasReachedLogLimit(failed.logBytes) else {
      return nil
    }
    return refusal(because: failed.error, isRemovalOnly: batch.isRemovalOnly)
  }

  /// The error with which puts are refused because flushes fail and the WAL has reached its limit, and the
  /// time since when flushes fail; nil if puts are not refused for this reason.
  func refusalOfPutsAtLogLimit(_ state: borrowing State) -> (error: ByteStoreError, since: Int64)? {
    guard let failed = state.failedFlush, hasReachedLogLimit(failed.logBytes) else { return nil }
    return refusal(because: failed.error, isRemovalOnly: false).map { ($0, failed.since) }
  }

  /// Whether a commit should wait for a flush instead of being refused. If the disk is full, the commit
  /// waits, because it may succeed even though flushes fail.
  func shouldWaitForFlush(_ state: borrowing State) -> Bool {
    guard writeRefusal(state) == nil else { return false }
    guard let failed = state.failedFlush, hasReachedLogLimit(failed.logBytes) else { return true }
    return failed.error.isRecoverableOutOfSpace
  }

  private func refusal(because error: ByteStoreError, isRemovalOnly: Bool) -> ByteStoreError? {
    switch error {
    case .full: return error
    case .system(let cause) where !error.isDamageOrUnreadable:
      // A full disk already limits the WAL (C11). Removals must be accepted, because they free space.
      if cause.code == ENOSPC || cause.code == EDQUOT || cause.isOutOfSpace && isRemovalOnly {
        return nil
      }
      return .flushImpossible(directory: path, cause: "\(cause).", failure: cause)
    default: return .flushImpossible(directory: path, cause: error.description)
    }
  }

  // MARK: Steps

  /// Runs a flush. If the disk has too little space for it, first runs a minimal flush, which uses the space
  /// of the reserve (C11).
  private func runFlushWithinSpace(_ scope: FlushScope) throws(ByteStoreError) {
    do throws(ByteStoreError) {
      return try runFlush(.scope(scope))
    } catch {
      guard error.isRecoverableOutOfSpace else { throw error }
      if !needsReserve(for: scope) {
        if scope == .everything || state.withLock({ $0.hasUpperLayerChanges }) { throw error }
        // The only work left is to write pages of the upper layer, and a later flush writes them.
        return
      }
    }
    let isReserveFull = try runFlushFromReserve(scope)
    // The space that the minimal flush freed may suffice for the upper layer's pages. If not, a later flush
    // writes them.
    guard scope == .everything, isReserveFull else { return }
    do throws(ByteStoreError) { try runFlush(.scope(.asNeeded)) } catch {
      // The work that the caller requested has succeeded, so only errors with an unknown outcome are thrown.
      if error.isPoison { throw error }
      if case .system(let cause) = error, cause.isSync { throw error }
    }
  }

  /// Whether a minimal flush would move commits out of the WAL or free space. If it would do neither, the
  /// existing checkpoint is better, because it has the upper layer's pages.
  private func needsReserve(for scope: FlushScope) -> Bool {
    let (published, total, dead) = table.withTable { table in
      let uses = table.segments.compactMap { $0 }
      let total = uses.reduce(0) { $0 + UInt64($1.segment.pages * SegmentFormat.pageBytes) }
      return (table.published, total, total - min(total, uses.reduce(0) { $0 + $1.liveBytes }))
    }
    if published > writer.withLock({ $0.flushedThrough }) { return true }
    if hasUnreadablePages { return true }
    // Pages are never quite full, so a small amount of dead bytes is normal.
    return scope == .everything && dead >= max(total / 20, 256 << 10)
  }

  /// Runs a minimal flush with the space of the reserve. Returns whether the reserve has its full size again.
  private func runFlushFromReserve(_ scope: FlushScope) throws(ByteStoreError) -> Bool {
    writer.withLock { writer in
      deleteReserve(&writer)
      writer.isFreeingSpace = true
    }
    let result = Result { () throws(ByteStoreError) in
      try runFlush(.minimalSpace)
      writer.withLock { $0.liveBytesWhenFull = nil }
      if scope == .everything { try compactWithinSpace() }
    }
    let isReserveFull = writer.withLock { writer in
      writer.isFreeingSpace = false
      // The flush is not tried again before more data has been removed.
      if writer.liveBytesWhenFull != nil { writer.liveBytesWhenFull = liveBytes }
      return restoreReserve(&writer)
    }
    try result.get()
    return isReserveFull
  }

  /// Rewrites all segments that have dead bytes. The free space limits how many segments are rewritten at a
  /// time. The segments with the least live data come first, because rewriting them frees space for the
  /// others.
  private func compactWithinSpace() throws(ByteStoreError) {
    var budget = liveBytes
    while true {
      let left = compactionInputs(of: table.frozen(), .upTo(.max)).count
      guard left > 0 else { return }
      do throws(ByteStoreError) {
        try runFlush(.upTo(budget))
        // The budget is too small for any of the remaining segments.
        guard compactionInputs(of: table.frozen(), .upTo(.max)).count < left else { return }
        budget *= 2
      } catch {
        guard error.isRecoverableOutOfSpace, budget > 0 else { throw error }
        budget /= 4
      }
    }
  }

  /// The amount of work of a flush.
  private enum Extent {
    case scope(FlushScope)
    /// Writes the memtable and removes the segments that have no live entries.
    case minimalSpace
    /// Compacts segments with dead bytes, up to this many live bytes in total. The segments with the least
    /// live data come first.
    case upTo(UInt64)

    /// Whether the checkpoint contains only those upper-layer pages that cannot be rebuilt.
    var hasOnlyEssentialPages: Bool { if case .scope = self { false } else { true } }
  }

  private func runFlush(_ extent: Extent) throws(ByteStoreError) {
    try table.loadOrRebuildAll()
    options.maintenance.pause(.flushStarts)
    makeRecycledLogReady(for: extent)
    makeMemoryForFlush()
    guard let start = try start(extent) else {
      if case .scope(let scope) = extent { freeUnneededSpace(after: scope) }
      return
    }
    var report = sendStart(ofFlush: start.logBytes, newLog: start.newLog)
    pause(.frozen)
    var job = FlushJob(start.frozen.table, target)
    let compactionInputs = compactionInputs(of: start.frozen.table, extent)
    report.noteCompaction(of: compactionInputs, in: start.frozen.table)
    let checkpoint: Manifest.Checkpoint
    do throws(ByteStoreError) {
      try job.writeMemtable()
      for compactionInput in compactionInputs { try job.rewrite(compactionInput) }
      try job.endSegments()
      let pages = start.frozen.pages
      checkpoint = try job.writeCheckpoint(
        position: start.position, extent.hasOnlyEssentialPages ? pages?.least : pages)
      try syncDirectory()
    } catch {
      job.discard()
      throw error
    }
    pause(.checkpointWritten)
    note(job.damaged)
    let dropped: Dropped
    do throws(WriteFailure) {
      dropped = try replaceManifest(job.segmentsLeft, checkpoint, start: start)
    } catch {
      switch error {
      case .refused(let cause):
        job.discard()
        try? directory.remove(StoreFile.checkpoint(checkpoint.number))
        throw .system(cause)
      case .unknown(let cause):
        // Only the next open can find out whether the manifest names the files.
        throw .outcomeUnknown(cause)
      }
    }
    pause(.manifestReplaced)
    table.isRebuilt.withLock { $0 = false }
    state.withLock { state in
      state.needsLostPage = false
      state.upperLayerChangesWritten = start.upperLayerChanges
      state.lacksUpperLayerPages = extent.hasOnlyEssentialPages && start.frozen.pages != nil
      state.flushCounts.succeeded += 1
      state.flushCounts.lastSuccess = platform.clock.wallMicroseconds()
    }
    move(job.moves, job.segments)
    pause(.entriesMoved)
    report.commit = start.position.sequence
    report.bytes = checkpoint.bytes + job.segments.reduce(0) { $0 + $1.entry.bytes }
    release(dropped, after: extent)
    sendEnd(of: report)
  }

  /// Deletes the files that the flush has replaced, and adapts the reserved space to the new state.
  private func release(_ dropped: Dropped, after extent: Extent) {
    guard case .scope(let scope) = extent else { return delete(dropped, recycles: false) }
    delete(dropped, recycles: scope == .asNeeded)
    freeUnneededSpace(after: scope)
    growReserveForNextLog()
  }

  /// Frees unneeded space after a flush that had enough room. After a full compaction, this includes the
  /// recycled log file and a reserve that is too large.
  private func freeUnneededSpace(after scope: FlushScope) {
    writer.withLock { writer in
      writer.liveBytesWhenFull = nil
      if scope == .everything { discardRecycledLog(&writer) }
    }
    if scope == .everything { shrinkReserve() }
  }

  /// Grows the reserve, because the flush has changed the size of the checkpoint that the reserve must have
  /// room for. The growth is part of the flush, so a close waits for it.
  private func growReserveForNextLog() {
    guard case .inBackground = options.maintenance else { return }
    growReserveAhead(for: nextLogBytes)
  }

  package func pause(_ step: FlushStep) { options.betweenFlushSteps?(step) }

  /// The frozen key directory and log position from which a flush starts.
  private struct Start {
    var frozen: FrozenState
    var position: LogHeader.LogEnd
    /// The first log whose commits are not in the frozen key directory.
    var firstLog: LogNumber
    /// The number of upper-layer changes that the frozen pages are certain to contain. The pages may contain
    /// a few later changes.
    var upperLayerChanges: UInt64
    /// The size of the WAL before the flush.
    var logBytes: UInt64
    /// The log to which the flush rotated; nil if it did not rotate.
    var newLog: LogHeader?
  }

  /// Freezes the key directory and rotates the log. Returns nil if the flush has nothing to do.
  private func start(_ extent: Extent) throws(ByteStoreError) -> Start? {
    let groups = state.withLock { $0.groups }
    // A test that schedules all threads itself must not make the flush wait for further groups.
    let isSimulated = options.maintenance.isSimulated
    return try betweenCommits(when: { isSimulated ? !$0.isLeading : $0.mayFlushRotate(since: groups) }) {
      writer throws(WriteFailure) in
      // The changes are counted before the freeze. A change between the count and the freeze is already in
      // the frozen pages, and the next flush writes it again.
      let upperLayerChanges = state.withLock { $0.upperLayerChanges }
      let frozen = freeze()
      // A checkpoint with unreadable pages is replaced even without new commits.
      let hasNewCommits =
        frozen.table.published > writer.flushedThrough || needsCheckpoint
        || !extent.hasOnlyEssentialPages && state.withLock { $0.lacksUpperLayerPages }
      let hasLargeLog = hasLargeLog(writer, for: extent)
      guard hasNewCommits || hasLargeLog || !compactionInputs(of: frozen.table, extent).isEmpty else {
        return nil
      }
      let logBytes = writer.logBytes
      // If the current log is empty, it serves as the new log.
      let rotates = writer.log.map { !$0.isEmpty || hasLargeLog } ?? false
      if rotates { try rotate(for: extent, &writer) }
      let first = writer.log?.header.number ?? writer.manifest.nextLogNumber
      return Start(
        frozen: frozen, position: writer.last, firstLog: first, upperLayerChanges: upperLayerChanges,
        logBytes: logBytes, newLog: rotates ? writer.log?.header : nil)
    }
  }

  /// Prepares a recycled log file before the rotation. Commits wait during the rotation and should not also
  /// have to wait until a log is filled with zeros.
  private func makeRecycledLogReady(for extent: Extent) {
    // These flushes are meant to free space, so they prepare no recycled log file.
    switch extent {
    case .minimalSpace, .scope(.everything): return
    case .scope(.asNeeded), .upTo: break
    }
    let wanted = writer.withLock { writer -> UInt64? in
      guard case .none = writer.recycledLog, let log = writer.log, !log.isEmpty, !writer.isFreeingSpace else {
        return nil
      }
      let capacity = capacity(for: [], previousLength: log.end)
      guard capacity > Self.quickLogBytesMax else { return nil }
      writer.recycledLog = .inProgress
      return capacity
    }
    guard let wanted else { return }
    state.withLock { $0.isPreparingRecycledLog = true }
    prepareRecycledLog(wanted)
  }

  private func rotate(for extent: Extent, _ writer: inout Writer) throws(WriteFailure) {
    switch extent {
    case .scope(.everything):
      discardRecycledLog(&writer)
      try rotate(for: [], capacity: capacity(for: [], previousLength: 0), writer: &writer)
    case .scope(.asNeeded), .upTo:
      // The current log may have just begun. Its length then says little about the rate of commits.
      let used = min(writer.log?.header.capacity ?? 0, Self.quickLogBytesMax) / 4
      try rotateToAnySize(for: [], previousLengthMin: used, writer: &writer)
    case .minimalSpace: try rotate(for: [], capacity: LogWriter.capacity(for: []), writer: &writer)
    }
  }

  /// Whether a compaction should replace a large log to free its space, even if the log is empty.
  private func hasLargeLog(_ writer: borrowing Writer, for extent: Extent) -> Bool {
    guard case .scope(.everything) = extent else { return false }
    let least = capacity(for: [], previousLength: 0)
    return writer.manifest.logs.contains { $0.capacity > least }
  }

  /// The compaction inputs, in the order of their file numbers.
  private func compactionInputs(of table: KeyDirectory, _ extent: Extent) -> [Segment] {
    let damaged = state.withLock { $0.damagedSegments }
    let uses = table.segments.compactMap { $0 }.filter { damaged[$0.segment.number] == nil }
    let candidates = uses.map { use in
      FlushPlan.Segment(
        slot: use.segment.slot, dataBytes: UInt64(use.segment.pages * SegmentFormat.pageBytes),
        liveBytes: use.liveBytes)
    }
    let slots: [Int]
    switch extent {
    case .scope(.asNeeded):
      slots = FlushPlan.compactionInputs(
        of: candidates, segmentBytesMax: options.segmentBytesMax,
        budgetBytes: 4 * logBytesDue.load(ordering: .relaxed))
    case .minimalSpace:
      slots = uses.filter { $0.liveEntries == 0 }.map(\.segment.slot)
    case .upTo(let budget):
      var cost: UInt64 = 0
      slots = uses.filter(\.hasDeadBytes).sorted { $0.liveBytes < $1.liveBytes }
        .prefix { use in
          cost += use.liveBytes
          return cost <= budget
        }.map(\.segment.slot)
    case .scope(.everything):
      slots = uses.filter { $0.hasDeadBytes }.map(\.segment.slot)
    }
    return slots.compactMap { table.segments[$0]?.segment }.sorted { $0.number < $1.number }
  }

  private func note(_ damaged: [(segment: Segment, error: ByteStoreError)]) {
    state.withLock { state in
      for (segment, error) in damaged { state.damagedSegments[segment.number] = error }
    }
  }

  private var target: FlushJob.Target {
    FlushJob.Target(
      directory: directory, platform: platform, storeID: storeID, segmentBytesMax: options.segmentBytesMax,
      nextNumber: { [self] () throws(ByteStoreError) in try nextFileNumber() },
      pause: { [self] in pause($0) })
  }

  private func nextFileNumber() throws(ByteStoreError) -> FileNumber {
    try writer.withLock { writer throws(ByteStoreError) in
      let number = writer.manifest.nextFileNumber
      guard let next = number.next else {
        throw .system(SystemFailure(operation: "numbering a segment", path: path, code: EOVERFLOW))
      }
      writer.manifest.nextFileNumber = next
      return number
    }
  }

  private func syncDirectory() throws(ByteStoreError) {
    guard platform.keeps(.syncDirectoryAfterCreating) else { return }
    do throws(SystemFailure) { try directory.sync() } catch { throw .system(error) }
  }

  // MARK: The manifest

  /// Files that a durable manifest no longer names.
  private struct Dropped {
    var logs: [Manifest.Log] = []
    var segments: [Manifest.Segment] = []
    var checkpoint: Manifest.Checkpoint?
  }

  private func replaceManifest(
    _ segments: [Segment], _ checkpoint: Manifest.Checkpoint, start: Start
  ) throws(WriteFailure) -> Dropped {
    try writer.withLock { writer throws(WriteFailure) in
      if let end = state.withLock({ $0.end }) {
        // The store was poisoned in the meantime, so nothing may be written. A close cannot be the reason,
        // because a close waits for flushes.
        guard case .outcomeUnknown(let cause) = end else { preconditionFailure("a flush is under way") }
        throw .refused(cause)
      }
      let old = writer.manifest
      var manifest = old.successor()
      manifest.logs.removeAll { $0.number < start.firstLog }
      manifest.segments = segments.map(\.entry).sorted { $0.number < $1.number }
      manifest.checkpoint = checkpoint
      if !platform.keeps(.deleteAfterManifest) {
        for log in old.logs where log.number < start.firstLog {
          try? directory.remove(StoreFile.log(log.number))
        }
      }
      try manifest.replace(in: directory, platform)
      writer.manifest = manifest
      writer.flushedThrough = start.position.sequence
      noteLogBytesDue(checkpoint)
      noteLogBytes(writer.logBytes)
      return Dropped(
        logs: old.logs.filter { $0.number < start.firstLog },
        segments: old.segments.filter { !manifest.segments.contains($0) }, checkpoint: old.checkpoint)
    }
  }

  // MARK: Moving and deleting

  /// Moves the locations in batches. Between batches, commits, reads and snapshots can take the lock.
  private func move(_ moves: [FlushJob.Move], _ segments: [Segment]) {
    table.withTable { table in
      for segment in segments { table.add(segment, at: segment.slot) }
    }
    let movesPerBatch = 256
    for start in stride(from: 0, to: moves.count, by: movesPerBatch) {
      table.withTable { table in
        for move in moves[start..<min(start + movesPerBatch, moves.count)] {
          let now = table.location(of: move.ordinal)
          let isBroken = !platform.keeps(.keepLaterCommits) && now != .none
          table.move(move.ordinal, from: isBroken ? now : move.old, to: move.new)
        }
      }
      yieldToOthers()
    }
  }

  private func delete(_ dropped: Dropped, recycles: Bool) {
    let gone = table.withTable { table in
      dropped.segments.compactMap { entry in
        defer { table.removeSegment(entry) }
        return table.segments[entry.slot]?.segment
      }
    }
    for segment in gone {
      // The file is opened before it is deleted, because a snapshot or a running read may not have opened it
      // yet.
      if (try? segment.open()) != nil, snapshots.count > 0 { snapshots.noteDeleted(segment) }
      table.cache.removePages(ofFile: segment.number.value)
    }
    // If a file cannot be deleted now, the next open deletes it.
    for segment in dropped.segments { try? directory.remove(StoreFile.segment(segment.number)) }
    if let checkpoint = dropped.checkpoint {
      try? directory.remove(StoreFile.checkpoint(checkpoint.number))
    }
    options.maintenance.pause(.segmentsDeleted)
    let recycled = recycles ? recycle(dropped.logs) : nil
    for log in dropped.logs where log.number != recycled {
      try? directory.remove(StoreFile.log(log.number))
    }
  }

  /// Recycles the largest log if no recycled log file exists and the log is large enough. Overwriting
  /// allocated space is faster than allocating new space.
  private func recycle(_ logs: [Manifest.Log]) -> LogNumber? {
    guard let log = logs.max(by: { $0.capacity < $1.capacity }) else { return nil }
    // A reader may still read the log. If it is deleted instead, its bytes stay until the reader closes it.
    // A reader that comes later finds a manifest that does not name the log.
    guard readerLock?.isShared() == false else { return nil }
    let isWanted = writer.withLock { writer in
      guard case .none = writer.recycledLog, let current = writer.log,
        log.capacity >= capacity(for: [], previousLength: current.header.capacity)
      else { return false }
      writer.recycledLog = .inProgress
      return true
    }
    guard isWanted else { return nil }
    state.withLock { $0.isPreparingRecycledLog = true }
    prepareRecycledLog(log.capacity, from: StoreFile.log(log.number))
    return log.number
  }
}
