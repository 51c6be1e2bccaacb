// A flush: commits go from logs to segments, dead space comes back, and what an open reads becomes short.
//
//   1. load       every page of the table that is still in the last checkpoint alone; what it has lost is found
//                 again in the segments (SharedTable+Rebuild.swift)
//   2. freeze     turn to a new log; the table as of the last commit of the old one
//   3. write      the tail and what lives in the victims to segments, then a checkpoint (FlushJob)
//   4. directory  is synced, so that the files have names
//   5. manifest   names the new files and neither the victims nor the logs before the new one (C5)
//   6. move       the locations in the table in use, except of keys that were changed meanwhile
//   7. delete     what no durable manifest names any more; a log becomes the spare instead
//
// Commits and reads go on all the while: step 2 takes a turn as a commit does, with a spare that is made before it
// and not right behind another turn, step 5 two syncs under the writer's lock, step 6 a moment at a time. A crash
// before step 5 leaves files that the next open removes, one after it leaves old ones that it removes.

import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension ByteStore {
  package enum FlushScope: Sendable {
    /// As much as there is need for.
    case asNeeded
    /// Every segment with dead bytes as well.
    case everything
  }

  /// Moves all commits so far from logs to segments, and returns once that is done. Nothing is lost if it
  /// fails: what it did not get done, a later one does.
  package func flush(_ scope: FlushScope = .asNeeded) throws(ByteStoreError) {
    try flush(scope, isOfClose: false)
  }

  /// That of a close comes when nothing else may begin to write any more.
  func flush(_ scope: FlushScope, isOfClose: Bool) throws(ByteStoreError) {
    guard !isForked else { throw .forked(directory: path) }
    try state.withLock(when: { !$0.isFlushing || $0.end != nil }) { state throws(ByteStoreError) in
      if let end = isOfClose ? state.end : endOfWriting(state) { throw end }
      if options.isReadOnly { throw .readOnly(directory: path) }
      state.isFlushing = true
    }
    if scope == .everything { waitForSpare() }
    let start = platform.clock.monotonicNanoseconds()
    let result = Result { () throws(ByteStoreError) in try runFlushWithinSpace(scope) }
    let end = platform.clock.monotonicNanoseconds()
    state.withLock { state in
      state.isFlushing = false
      switch result {
      case .success:
        state.failedFlush = nil
      case .failure(let error):
        let logBytes = logBytesBehind.load(ordering: .relaxed)
        state.failedFlush = FailedFlush(
          error: error, logBytes: logBytes,
          retryNanoseconds: end &+ nanosecondsToRetry(logBytes, took: end &- start))
        if case .system(let cause) = error, cause.isSync { fail([], .unknown(cause), &state) }
        if case .outcomeUnknown(let cause) = error { fail([], .unknown(cause), &state) }
      }
    }
    state.wakeAll()
    try result.get()
  }

  /// A compaction is not to be followed by the spare of the time before it. The turn of a flush is taken already: others
  /// wait for one flush, and plan no more.
  private func waitForSpare() {
    // Who plays all threads in an order of their own waits for none of them.
    guard !options.maintenance.isPlayed else { return }
    state.withLock(when: { !$0.isPreparingSpare || $0.end != nil }) { _ in }
  }

  /// What a flush would see to.
  struct FlushDebt {
    var logBytes: UInt64
    var logs: Int
    var canGiveSpaceBack: Bool
  }

  func flushDebt(_ writer: Writer) -> FlushDebt {
    FlushDebt(
      logBytes: writer.logBytes, logs: writer.manifest.logs.count,
      canGiveSpaceBack: hasSpaceToGiveBack(writer))
  }

  /// So much log has come together that a flush is worth while.
  var isFlushDue: Bool { isFlushDue(for: writer.withLock { flushDebt($0) }) }

  /// Does not wait for the writer.
  func isFlushDue(for debt: FlushDebt) -> Bool {
    let due = logBytesDue.load(ordering: .relaxed)
    let isDue =
      debt.canGiveSpaceBack || debt.logBytes >= due || debt.logs > Self.logsMax || needsCheckpoint
    guard isDue, let failed = state.withLock({ $0.failedFlush }) else { return isDue }
    // What was removed since may be what it lacked.
    if debt.canGiveSpaceBack, failed.error.asksForSpace { return true }
    // One that failed is not tried again with every commit, only when as much again has come together, or some time
    // later: the cause may be gone.
    return debt.logBytes >= failed.logBytes + due
      || platform.clock.monotonicNanoseconds() >= failed.retryNanoseconds
  }

  /// There is one with pages that cannot be read: a commit needed one, or they were found again, in memory. Or one
  /// without what the layer above has changed since.
  private var needsCheckpoint: Bool { hasUnreadablePages || state.withLock { $0.hasChangesAbove } }

  private var hasUnreadablePages: Bool { table.isRebuilt.withLock { $0 } || state.withLock { $0.lacksPage } }

  private static let logsMax = 16

  /// So many times the bytes that start a flush may come together while flushes fail: each open reads all of them,
  /// and all of them are in memory.
  private static let logPartMax: UInt64 = 4
  /// At least. One that took long before it failed is tried less often, so that it costs a twentieth of the time; but
  /// not much less, and not where writes are refused.
  private static let nanosecondsBetweenRetries: UInt64 = 2_000_000_000
  private static let nanosecondsBetweenRetriesMax: UInt64 = 30_000_000_000

  private func nanosecondsToRetry(_ logBytes: UInt64, took nanoseconds: UInt64) -> UInt64 {
    if isTooMuch(logBytes) { return Self.nanosecondsBetweenRetries }
    let (often, isLong) = nanoseconds.multipliedReportingOverflow(by: 20)
    let most = Self.nanosecondsBetweenRetriesMax
    return isLong ? most : min(max(Self.nanosecondsBetweenRetries, often), most)
  }

  /// Of log that a flush was tried with, and failed.
  private func isTooMuch(_ logBytes: UInt64) -> Bool {
    logBytes >= Self.logPartMax * logBytesDue.load(ordering: .relaxed)
  }

  /// A flush that failed, and no other has succeeded since.
  struct FailedFlush {
    var error: ByteStoreError
    /// How many bytes of log there were then.
    var logBytes: UInt64
    /// When it is tried again, on the monotonic clock, if anybody commits or is refused.
    var retryNanoseconds: UInt64
  }

  /// Why no commit may be added to the logs any more: they would grow without end, for a flush has been tried with
  /// that much. One that succeeds takes this back, and now and then the refusal of a commit has one tried.
  func refusalOfGrowth(by batch: Batch, _ state: borrowing State) -> ByteStoreError? {
    // One without operations makes those before it durable, which adds nothing.
    guard batch.count > 0, let failed = state.failedFlush, isTooMuch(failed.logBytes) else { return nil }
    return refusal(because: failed.error, of: batch)
  }

  /// Whether a commit that waits for a flush may happen then. On a full disk it may, though flushes fail.
  func isWorthWaiting(_ state: borrowing State) -> Bool {
    guard endOfWriting(state) == nil else { return false }
    guard let failed = state.failedFlush, isTooMuch(failed.logBytes) else { return true }
    return failed.error.asksForSpace
  }

  private func refusal(because error: ByteStoreError, of batch: Batch) -> ByteStoreError? {
    switch error {
    case .full: return error
    case .system(let cause) where !error.isDamageOrUnreadable:
      // A full disk bounds the logs by itself (C11), and what is deleted gives space back.
      if cause.code == ENOSPC || cause.code == EDQUOT || cause.meansFull && batch.isRemovalOnly { return nil }
      return .flushImpossible(directory: path, cause: "\(cause).", failure: cause)
    default: return .flushImpossible(directory: path, cause: error.description)
    }
  }

  // MARK: Steps

  /// If there is no room for a flush, one that needs the least comes first, out of the reserve (C11).
  private func runFlushWithinSpace(_ scope: FlushScope) throws(ByteStoreError) {
    do throws(ByteStoreError) {
      return try runFlush(.scope(scope))
    } catch {
      guard error.asksForSpace else { throw error }
      if !needsReserve(for: scope) {
        if scope == .everything || state.withLock({ $0.hasChangesAbove }) { throw error }
        // Pages of the layer above that a later flush writes.
        return
      }
    }
    let isReserveWhole = try runFlushOutOfReserve(scope)
    // What came back may do for the pages of the layer above as well. If not, a later flush has them.
    guard scope == .everything, isReserveWhole else { return }
    do throws(ByteStoreError) { try runFlush(.scope(.asNeeded)) } catch {
      // What was asked for is done.
      if error.isPoison { throw error }
      if case .system(let cause) = error, cause.isSync { throw error }
    }
  }

  /// Whether a flush that writes the least brings commits out of the logs, or space back. Else the checkpoint that is there
  /// is the better one: it has pages of the layer above.
  private func needsReserve(for scope: FlushScope) -> Bool {
    let (published, total, dead) = table.withTable { table in
      let uses = table.segments.compactMap { $0 }
      let total = uses.reduce(0) { $0 + UInt64($1.segment.pages * SegmentFormat.pageBytes) }
      return (table.published, total, total - min(total, uses.reduce(0) { $0 + $1.liveBytes }))
    }
    if published > writer.withLock({ $0.flushedThrough }) { return true }
    if hasUnreadablePages { return true }
    // Pages are never quite full, and what is dead in them comes with more commits.
    return scope == .everything && dead >= max(total / 20, 256 << 10)
  }

  /// Whether the reserve is whole again.
  private func runFlushOutOfReserve(_ scope: FlushScope) throws(ByteStoreError) -> Bool {
    writer.withLock { writer in
      giveUpReserve(&writer)
      writer.isFreeingSpace = true
    }
    let result = Result { () throws(ByteStoreError) in
      try runFlush(.leastSpace)
      writer.withLock { $0.liveBytesWhenFull = nil }
      if scope == .everything { try compactWithinSpace() }
    }
    let isReserveWhole = writer.withLock { writer in
      writer.isFreeingSpace = false
      // Not again before more was removed.
      if writer.liveBytesWhenFull != nil { writer.liveBytesWhenFull = liveBytes }
      return restoreReserve(&writer)
    }
    try result.get()
    return isReserveWhole
  }

  /// Writes every segment with dead bytes anew, as many at a time as there is room for: the emptiest give
  /// the room for the others.
  private func compactWithinSpace() throws(ByteStoreError) {
    var budget = liveBytes
    while true {
      let left = victims(of: table.frozen(), .upTo(.max)).count
      guard left > 0 else { return }
      do throws(ByteStoreError) {
        try runFlush(.upTo(budget))
        // Too little for any of them.
        guard victims(of: table.frozen(), .upTo(.max)).count < left else { return }
        budget *= 2
      } catch {
        guard error.asksForSpace, budget > 0 else { throw error }
        budget /= 4
      }
    }
  }

  /// What a flush takes on.
  private enum Extent {
    case scope(FlushScope)
    /// The tail, and of the segments only those in which nothing lives.
    case leastSpace
    /// Of the segments with dead bytes the emptiest, with so much that lives in them.
    case upTo(UInt64)

    /// Its checkpoint has only those of the layer above.
    var hasLeastPages: Bool { if case .scope = self { false } else { true } }
  }

  private func runFlush(_ extent: Extent) throws(ByteStoreError) {
    try table.loadOrRebuildAll()
    options.maintenance.pause(.flushStarts)
    makeSpareReady(for: extent)
    guard let start = try start(extent) else {
      if case .scope(let scope) = extent { settleSpace(after: scope) }
      return
    }
    pause(.frozen)
    var job = FlushJob(start.frozen.table, target)
    let victims = victims(of: start.frozen.table, extent)
    let checkpoint: Manifest.Checkpoint
    do throws(ByteStoreError) {
      try job.writeTail()
      for victim in victims { try job.rewrite(victim) }
      try job.endSegments()
      let pages = start.frozen.pages
      checkpoint = try job.writeCheckpoint(
        position: start.position, extent.hasLeastPages ? pages?.least : pages)
      try syncDirectory()
    } catch {
      job.discard()
      throw error
    }
    pause(.checkpointWritten)
    note(job.damaged)
    let dropped: Dropped
    do throws(WriteFailure) {
      dropped = try replaceManifest(job.segmentsLeft, checkpoint, start)
    } catch {
      switch error {
      case .refused(let cause):
        job.discard()
        try? directory.remove(StoreFile.checkpoint(checkpoint.number))
        throw .system(cause)
      case .unknown(let cause):
        // Whether the manifest names the files, only the next open knows.
        throw .outcomeUnknown(cause)
      }
    }
    pause(.manifestReplaced)
    table.isRebuilt.withLock { $0 = false }
    state.withLock { state in
      state.lacksPage = false
      state.changesAboveWritten = start.changesAbove
      state.lacksPagesAbove = extent.hasLeastPages && start.frozen.pages != nil
    }
    move(job.moves, job.segments)
    pause(.entriesMoved)
    guard case .scope(let scope) = extent else { return delete(dropped, recycles: false) }
    delete(dropped, recycles: scope == .asNeeded)
    settleSpace(after: scope)
    growReserveForNextLog()
  }

  /// There was room for all of it. A compaction leaves nothing that was kept for later and is not needed.
  private func settleSpace(after scope: FlushScope) {
    writer.withLock { writer in
      writer.liveBytesWhenFull = nil
      if scope == .everything { discardSpare(&writer) }
    }
    if scope == .everything { shrinkReserve() }
  }

  /// The checkpoint that is kept room for has grown with this flush. It is part of the flush, for which a close waits.
  private func growReserveForNextLog() {
    guard case .inBackground = options.maintenance else { return }
    growReserveAhead(for: logBytesAfterThis)
  }

  package func pause(_ step: FlushStep) { options.betweenFlushSteps?(step) }

  /// What a flush starts from.
  private struct Start {
    var frozen: Frozen
    var position: LogHeader.LogEnd
    /// The first log that holds commits which are not in the table.
    var firstLog: LogNumber
    /// Of the layer above, as many changes as are in its pages at least.
    var changesAbove: UInt64
  }

  /// Nil if there is nothing to do.
  private func start(_ extent: Extent) throws(ByteStoreError) -> Start? {
    let groups = state.withLock { $0.groups }
    // Who plays all threads in an order of their own waits for none of them.
    let isPlayed = options.maintenance.isPlayed
    return try betweenCommits(when: { isPlayed ? !$0.isLeading : $0.letsFlushTurn(since: groups) }) {
      writer throws(WriteFailure) in
      // Counted before: what comes in between is in the pages, and written once more.
      let changesAbove = state.withLock { $0.changesAbove }
      let frozen = freeze()
      // A checkpoint with pages that nobody can read is replaced even if there are no new commits.
      let hasNews =
        frozen.table.published > writer.flushedThrough || needsCheckpoint
        || !extent.hasLeastPages && state.withLock { $0.lacksPagesAbove }
      let hasLargeLog = hasLargeLog(writer, for: extent)
      guard hasNews || hasLargeLog || !victims(of: frozen.table, extent).isEmpty else { return nil }
      // An empty log is as good as a new one.
      if let log = writer.log, !log.isEmpty || hasLargeLog { try turnToNewLog(for: extent, &writer) }
      let first = writer.log?.header.number ?? writer.manifest.nextLogNumber
      return Start(frozen: frozen, position: writer.last, firstLog: first, changesAbove: changesAbove)
    }
  }

  /// Commits wait while the flush has its turn: they are not to wait for the zeros of a log as well.
  private func makeSpareReady(for extent: Extent) {
    // Whoever compacts a store wants its space.
    switch extent {
    case .leastSpace, .scope(.everything): return
    case .scope(.asNeeded), .upTo: break
    }
    let wanted = writer.withLock { writer -> UInt64? in
      guard case .none = writer.spare, let log = writer.log, !log.isEmpty, !writer.isFreeingSpace else {
        return nil
      }
      let capacity = capacity(for: [], previousLength: log.end)
      guard capacity > Self.logBytesOfAMoment else { return nil }
      writer.spare = .underWay
      return capacity
    }
    guard let wanted else { return }
    state.withLock { $0.isPreparingSpare = true }
    prepareSpare(wanted)
  }

  private func turnToNewLog(for extent: Extent, _ writer: inout Writer) throws(WriteFailure) {
    switch extent {
    case .scope(.everything):
      discardSpare(&writer)
      try turnToNewLog(for: [], capacity: capacity(for: [], previousLength: 0), &writer)
    case .scope(.asNeeded), .upTo:
      // The one in use may have just begun, and says little of how much is committed then.
      let used = min(writer.log?.header.capacity ?? 0, Self.logBytesOfAMoment) / 4
      try turnToLogOfAnySize(for: [], previousLengthMin: used, &writer)
    case .leastSpace: try turnToNewLog(for: [], capacity: LogWriter.capacity(for: []), &writer)
    }
  }

  /// Whoever compacts a store wants the space of its logs as well, whatever is in them.
  private func hasLargeLog(_ writer: borrowing Writer, for extent: Extent) -> Bool {
    guard case .scope(.everything) = extent else { return false }
    let least = capacity(for: [], previousLength: 0)
    return writer.manifest.logs.contains { $0.capacity > least }
  }

  /// The segments to write anew, in the order of their numbers.
  private func victims(of table: Table, _ extent: Extent) -> [Segment] {
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
      slots = FlushPlan.victims(
        of: candidates, segmentBytesMax: options.segmentBytesMax,
        budgetBytes: 4 * logBytesDue.load(ordering: .relaxed))
    case .leastSpace:
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

  /// What a durable manifest does not name any more.
  private struct Dropped {
    var logs: [Manifest.Log] = []
    var segments: [Manifest.Segment] = []
    var checkpoint: Manifest.Checkpoint?
  }

  private func replaceManifest(
    _ segments: [Segment], _ checkpoint: Manifest.Checkpoint, _ start: Start
  ) throws(WriteFailure) -> Dropped {
    try writer.withLock { writer throws(WriteFailure) in
      if let end = state.withLock({ $0.end }) {
        // Poisoned meanwhile: nothing is written any more. Closing waits for a flush.
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
      logBytesBehind.store(writer.logBytes, ordering: .relaxed)
      return Dropped(
        logs: old.logs.filter { $0.number < start.firstLog },
        segments: old.segments.filter { !manifest.segments.contains($0) }, checkpoint: old.checkpoint)
    }
  }

  // MARK: Moving and deleting

  /// A part at a time, between which those go on who wait for the table: commits, reads and snapshots.
  private func move(_ moves: [FlushJob.Move], _ segments: [Segment]) {
    table.withTable { table in
      for segment in segments { table.add(segment, at: segment.slot) }
    }
    let movesAtOnce = 256
    for start in stride(from: 0, to: moves.count, by: movesAtOnce) {
      table.withTable { table in
        for move in moves[start..<min(start + movesAtOnce, moves.count)] {
          let now = table.location(of: move.ordinal)
          let isBroken = !platform.keeps(.keepLaterCommits) && now != .none
          table.move(move.ordinal, from: isBroken ? now : move.old, to: move.new)
        }
      }
      letOthersIn()
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
      // It is about to lose its name, and a snapshot or a read under way may not have opened it yet.
      if (try? segment.open()) != nil, snapshots.count > 0 { snapshots.noteDeleted(segment) }
      table.cache.removePages(ofFile: segment.number.value)
    }
    // A name that cannot be removed is removed by the next open.
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

  /// Makes the largest log the spare, if there is none and it has the size. Its space on disk stays where it
  /// is, which is faster to write to than new space.
  private func recycle(_ logs: [Manifest.Log]) -> LogNumber? {
    guard let log = logs.max(by: { $0.capacity < $1.capacity }) else { return nil }
    let isWanted = writer.withLock { writer in
      guard case .none = writer.spare, let current = writer.log,
        log.capacity >= capacity(for: [], previousLength: current.header.capacity)
      else { return false }
      writer.spare = .underWay
      return true
    }
    guard isWanted else { return nil }
    state.withLock { $0.isPreparingSpare = true }
    prepareSpare(log.capacity, from: StoreFile.log(log.number))
    return log.number
  }
}
