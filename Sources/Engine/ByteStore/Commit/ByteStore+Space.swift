// Full disks (docs/reliability.md, C11): puts are refused, and operations that free space continue.
//
//   - A put may need a new log, and the reserve is completed before that log is created. If the disk has no
//     room, a smaller log is tried before the put is refused. If much of the reserve is missing, for example
//     because the open did not find a reserve, a small log and a part of the reserve suffice. If the disk has
//     no room for any log, and the put would fit in the current log without the context, the put is written
//     there and the context is dropped.
//   - A removal may use the last pages of the log, which are reserved for removals. After that, it may use a
//     small log that takes its space from the reserve.
//   - A flush is retried without the recycled log file and the reserve. The retry writes as little as
//     possible.
//   - A close takes the space for its manifest from the reserve.
//   - An open takes the space for its clean-up from the reserve.
//
// After a refused put, a flush is due as soon as enough data has been removed. A flush is due at once if
// removals have used so much of the reserve that a flush might soon have too little space.

import Libc

extension ByteStore {
  /// The reason for a rotation.
  enum LogNeed {
    /// For puts, which must not use the reserve.
    case growth
    /// For removals, which eventually free space.
    case removal
  }

  /// Rotates to a log with room for `group`, as large as the disk allows.
  func rotate(
    for group: [Batch], _ need: LogNeed, writer: inout Writer
  ) throws(WriteFailure) {
    switch need {
    case .growth: try rotateForPuts(group, &writer)
    case .removal: try rotateForRemovals(group, &writer)
    }
  }

  /// Makes room for a group: rotates, or drops the context of the current log if there is no space.
  func makeRoom(for group: [Batch], _ writer: inout Writer) throws(WriteFailure) {
    do throws(WriteFailure) { try rotate(for: group, .growth, writer: &writer) } catch {
      guard case .refused(let cause) = error, cause.isOutOfSpace,
        writer.log?.dropContext(for: group) == true
      else { throw error }
    }
  }

  private func rotateForPuts(_ group: [Batch], _ writer: inout Writer) throws(WriteFailure) {
    do throws(WriteFailure) {
      guard !writer.isFreeingSpace else {
        throw .refused(SystemFailure(operation: "create", path: path, code: ENOSPC))
      }
      let isSmall = lacksMuchReserve(for: group, writer)
      try rotateToAnySize(for: group, isSmall: isSmall, writer: &writer) {
        capacity, isLeast, writer throws(WriteFailure) in
        try completeReserve(
          for: capacity, exactly: isLeast, within: Self.growthMax(for: group), writer: &writer)
      }
      writer.liveBytesWhenFull = nil
    } catch {
      if case .refused(let cause) = error, cause.isOutOfSpace { noteDiskFull(&writer) }
      throw error
    }
  }

  private func rotateForRemovals(_ group: [Batch], _ writer: inout Writer) throws(WriteFailure) {
    do throws(WriteFailure) {
      try rotateToAnySize(for: group, writer: &writer)
    } catch {
      guard case .refused(let cause) = error, cause.isOutOfSpace else { throw error }
      let least = LogWriter.capacity(for: group)
      let preferred = max(least, options.logBytesMin.roundedUpToPages)
      // A log of the preferred size should leave enough space for a flush. If it would not, the log gets the
      // least size, because the removal has priority over the flush.
      let leavesEnough = writer.reserve.bytes >= flushBytes(writer, after: 0) + preferred
      guard deleteReserve(&writer) else { throw error }
      defer { restoreReserve(&writer) }
      // Only a flush frees the space that this log takes from the reserve. A flush becomes due now, while
      // there is enough space for it.
      if !leavesEnough { writer.liveBytesWhenFull = .max }
      try rotate(for: group, capacity: leavesEnough ? preferred : least, writer: &writer)
    }
  }

  /// Rotates to a log of the preferred size, or of the least size if the disk is full. Calls `prepare` with
  /// the size before each attempt.
  func rotateToAnySize(
    for group: [Batch], isSmall: Bool = false, previousLengthMin: UInt64 = 0, writer: inout Writer,
    _ prepare: (UInt64, _ isLeast: Bool, inout Writer) throws(WriteFailure) -> Void = { _, _, _ in }
  ) throws(WriteFailure) {
    // A small log is used while a recycled log file is being prepared. It is quickly filled with zeros and
    // holds a few more groups. If this commit must also write a part of the reserve, the log is only a little
    // larger than the first log of a store.
    let isRecycledLogInProgress = if case .inProgress = writer.recycledLog { true } else { false }
    let lengthMax = isSmall ? options.logBytesMin : isRecycledLogInProgress ? Self.quickLogBytesMax / 4 : .max
    let previousLength = min(max(writer.log?.end ?? writer.last.length, previousLengthMin), lengthMax)
    let preferred = capacity(for: group, previousLength: previousLength)
    do throws(WriteFailure) {
      try prepare(preferred, false, &writer)
      try rotate(for: group, capacity: preferred, writer: &writer)
    } catch {
      let least = max(capacityNeeded(for: group), options.logBytesMin.roundedUpToPages)
      guard case .refused(let cause) = error, cause.isOutOfSpace, least < preferred || isSmall
      else { throw error }
      // The recycled log file is deleted to make room, because it only saves time.
      discardRecycledLog(&writer)
      try prepare(least, true, &writer)
      try rotate(for: group, capacity: least, writer: &writer)
    }
  }

  // MARK: The reserve

  /// Returns an upper bound for the space that a minimal flush needs after a log of this capacity has filled
  /// up with puts.
  private func flushBytes(_ writer: Writer, after capacity: UInt64) -> UInt64 {
    let (table, memtable) = table.withTable { ($0.checkpointBytes, UInt64($0.memtable.bytes)) }
    let above = options.upperLayer?.essentialPageBytes ?? 0
    return SpaceReserve.flushBytes(checkpointBytes: table + above, memtableBytes: memtable + capacity)
  }

  ///  Returns the wanted size of the reserve. It must hold a minimal flush, and a log that records removals.
  private func bytesWanted(_ writer: Writer, after capacity: UInt64) -> UInt64 {
    guard platform.keeps(.keepReserve), !writer.reserve.isBlocked else { return 0 }
    return (flushBytes(writer, after: capacity) + options.logBytesMin).roundedUp(toMultipleOf: 64 << 10)
  }

  /// Returns the size that the reserve should have when the current log is full and a log of this capacity
  /// follows it.
  private func bytesWantedAhead(_ writer: Writer, for capacity: UInt64) -> UInt64 {
    bytesWanted(writer, after: capacity + (writer.log.map { $0.header.capacity - $0.end } ?? 0))
  }

  /// The most that one commit adds to the reserve, so that the commit does not wait long. The limit exceeds
  /// the size that the commit adds to the log, so the reserve becomes complete even if no background task
  /// grows it.
  private static func growthMax(for group: [Batch]) -> UInt64 {
    4 << 20 + group.reduce(0) { $0 + 2 * UInt64($1.bodyBytes) }
  }

  private func lacksMuchReserve(for group: [Batch], _ writer: Writer) -> Bool {
    let capacity = capacity(for: group, previousLength: writer.log?.end ?? writer.last.length)
    return bytesWanted(writer, after: capacity) > writer.reserve.bytes + Self.growthMax(for: group)
  }

  /// Grows the reserve towards the wanted size, by at most `growthMax`. If `exactly` is true, the reserve
  /// gets exactly the wanted size instead, and a larger reserve shrinks, because the log may need the space.
  private func completeReserve(
    for capacity: UInt64, exactly: Bool, within growthMax: UInt64, writer: inout Writer
  ) throws(WriteFailure) {
    let wanted = bytesWanted(writer, after: capacity)
    if exactly, writer.reserve.bytes > wanted { _ = writer.reserve.deleteFile(in: directory) }
    let now = exactly ? wanted : min(wanted, writer.reserve.bytes + growthMax)
    if now < wanted, writer.reserveGrowth == .none { writer.reserveGrowth = .wanted }
    do throws(SystemFailure) {
      try writer.reserve.grow(to: now, in: directory, platform: platform)
    } catch {
      throw .refused(error)
    }
  }

  /// The progress of reserve growth that a commit left to a background task.
  enum ReserveGrowth {
    case none
    case wanted
    case inProgress
  }

  /// Completes the reserve in the background after a log was created with only a part of the reserve. A close
  /// does not wait for the background task.
  func scheduleReserve() { runInBackground(.recycledLog) { [weak self] in self?.growReserve() } }

  /// Grows the reserve to its wanted size. Call this only after `claimReserveGrowth` returned true.
  func growReserve() {
    // A compaction may create a smaller log meanwhile.
    while growReserveByStep(for: nextLogBytes) { yieldToOthers() }
    writer.withLock { $0.reserveGrowth = .none }
  }

  /// The size of the next log if the current one fills up.
  var nextLogBytes: UInt64 {
    writer.withLock { capacity(for: [], previousLength: $0.log?.header.capacity ?? 0) }
  }

  /// Grows the reserve for a log of this size before the log exists, so that no commit has to wait for the
  /// growth. Commits can run between the steps.
  func growReserveAhead(for capacity: UInt64) {
    while growReserveByStep(for: capacity) { yieldToOthers() }
  }

  /// Grows the reserve by one step. Returns false when there is nothing left to do, because the file is large
  /// enough or the disk is full. If the disk is full, the commit that needs the log reports the error.
  private func growReserveByStep(for capacity: UInt64) -> Bool {
    writer.withLock { writer in
      // A close sets its flag before it takes the writer's lock. After the close, the directory belongs to
      // the next opener, so the reserve must not change any more.
      guard !isClosing, !writer.isFreeingSpace, writer.liveBytesWhenFull == nil else { return false }
      let wanted = bytesWantedAhead(writer, for: capacity)
      let step = min(wanted, writer.reserve.bytes + SpaceReserve.stepBytes)
      guard (try? writer.reserve.grow(to: step, in: directory, platform: platform)) != nil else {
        return false
      }
      return step < wanted
    }
  }

  /// Deletes the recycled log file and the reserve; returns false if neither exists.
  @discardableResult
  func deleteReserve(_ writer: inout Writer) -> Bool {
    let hadRecycledLog = discardRecycledLog(&writer)
    return writer.reserve.deleteFile(in: directory) || hadRecycledLog
  }

  @discardableResult
  func discardRecycledLog(_ writer: inout Writer) -> Bool {
    guard case .ready(let recycledLog) = writer.recycledLog else { return false }
    writer.recycledLog = .failed
    discard(recycledLog)
    return true
  }

  /// Grows the reserve as far as the disk allows; returns true if it has the wanted size.
  @discardableResult
  func restoreReserve(_ writer: inout Writer) -> Bool {
    let capacity = writer.log?.header.capacity ?? options.logBytesMin
    let wanted = bytesWanted(writer, after: capacity)
    try? writer.reserve.grow(to: wanted, in: directory, platform: platform)
    return writer.reserve.bytes >= wanted
  }

  /// Deletes the reserve and creates it at the wanted size if it is more than twice as large as needed.
  /// Commits wait in the meantime, so that no commit finds the reserve missing.
  func shrinkReserve() {
    let capacity = nextLogBytes
    writer.withLock { writer in
      let wanted = bytesWantedAhead(writer, for: capacity)
      guard writer.reserve.bytes > 2 * wanted, writer.reserve.deleteFile(in: directory) else { return }
      try? writer.reserve.grow(to: wanted, in: directory, platform: platform)
    }
  }

  // MARK: When to flush

  /// The size of the memtable plus the live bytes of all segments.
  var liveBytes: UInt64 {
    table.withTable { table in
      table.segments.reduce(UInt64(table.memtable.bytes)) { $0 + ($1?.liveBytes ?? 0) }
    }
  }

  /// Called on ENOSPC. Makes a flush due at once if the WAL is large compared with the space that the flush
  /// needs. Otherwise, a flush becomes due only when enough data has been removed.
  private func noteDiskFull(_ writer: inout Writer) {
    // The first attempt of a flush writes a full checkpoint, so the size of the last checkpoint counts too.
    let cost = max(flushBytes(writer, after: 0), writer.manifest.checkpoint?.bytes ?? 0)
    let isLogLarge = 8 * writer.logBytes >= cost
    if isLogLarge { writer.liveBytesWhenFull = .max }
    if writer.liveBytesWhenFull == nil { writer.liveBytesWhenFull = liveBytes }
  }

  /// Whether enough data has been removed since the disk became full that a flush would free space.
  func flushWouldFreeSpace(liveBytesBefore before: UInt64?) -> Bool {
    guard let before else { return false }
    let now = liveBytes
    return now < before && before - now >= min(before / 4, 1 << 20)
  }
}

extension ByteStore.Writer {
  /// Returns true if the reserve should grow and no other thread is growing it.
  mutating func claimReserveGrowth() -> Bool {
    guard reserveGrowth == .wanted else { return false }
    reserveGrowth = .inProgress
    return true
  }
}

extension UInt64 {
  fileprivate var roundedUpToPages: UInt64 { roundedUp(toMultipleOf: UInt64(LogFormat.pageBytes)) }
}

extension KeyDirectory {
  /// The largest size of a checkpoint without the upper layer's pages. It is reached when all keys are
  /// removed, because a free ordinal takes more space than a used one.
  var checkpointBytes: UInt64 {
    let words = ordinals + 3 * segments.count + slots.overflow.count
    let pages =
      4 + slots.directory.pageCount + slots.pages.pageCount + locations.pageCount
      + words / PagedWords.wordsPerPage
    return UInt64(pages * CheckpointFormat.pageBytes)
  }
}

extension ByteStoreError {
  /// Whether the error reports a full disk and no operation has an unknown outcome.
  var isRecoverableOutOfSpace: Bool {
    if case .system(let cause) = self { cause.isOutOfSpace && !cause.isSync } else { false }
  }
}
