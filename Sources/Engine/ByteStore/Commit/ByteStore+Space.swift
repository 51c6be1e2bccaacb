// A full disk (docs/reliability.md, C11): puts are refused, and what gives space back goes on.
//
//   put       needs a new log: a smaller one will do, and the reserve is whole first; else it is refused. Where much
//             of the reserve is missing, as after an open without one, a small log does with some of it. Where there is no
//             space for a log, the one in use takes the put without the context, if that is all it lacks room for
//   removal   the last pages of the log are for removals; after that, a small log out of the reserve
//   flush     is tried once more without spare and reserve, in the way that takes the least space
//   close     gets the space of its manifest from the reserve
//   open      so does an open that has to clean up
//
// Once a put was refused, a flush is due as soon as enough has been removed since; and at once when removals have taken so
// much of the reserve that it would soon be too small for one.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension ByteStore {
  /// Why a new log is wanted.
  enum LogNeed {
    /// For puts: not at the cost of the reserve.
    case growth
    /// For removals, which give space back in the end.
    case removal
  }

  /// Turns to a new log that has room for `group`, as large as there is space for.
  func turnToNewLog(
    for group: [Batch], _ need: LogNeed, _ writer: inout Writer
  ) throws(WriteFailure) {
    switch need {
    case .growth: try turnToLogForPuts(group, &writer)
    case .removal: try turnToLogForRemovals(group, &writer)
    }
  }

  /// Makes room for a group: a new log, or for want of space the log in use without its context.
  func makeRoom(for group: [Batch], _ writer: inout Writer) throws(WriteFailure) {
    do throws(WriteFailure) { try turnToNewLog(for: group, .growth, &writer) } catch {
      guard case .refused(let cause) = error, cause.meansFull,
        writer.log?.giveUpContext(for: group) == true
      else { throw error }
    }
  }

  private func turnToLogForPuts(_ group: [Batch], _ writer: inout Writer) throws(WriteFailure) {
    do throws(WriteFailure) {
      guard !writer.isFreeingSpace else {
        throw .refused(SystemFailure(operation: "create", path: path, code: ENOSPC))
      }
      let isSmall = isMuchOfReserveMissing(for: group, writer)
      try turnToLogOfAnySize(for: group, isSmall: isSmall, &writer) {
        capacity, isLeast, writer throws(WriteFailure) in
        try completeReserve(for: capacity, exactly: isLeast, within: Self.growthMax(for: group), &writer)
      }
      writer.liveBytesWhenFull = nil
    } catch {
      if case .refused(let cause) = error, cause.meansFull { noteFull(&writer) }
      throw error
    }
  }

  private func turnToLogForRemovals(_ group: [Batch], _ writer: inout Writer) throws(WriteFailure) {
    do throws(WriteFailure) {
      try turnToLogOfAnySize(for: group, &writer)
    } catch {
      guard case .refused(let cause) = error, cause.meansFull else { throw error }
      let least = LogWriter.capacity(for: group)
      let preferred = max(least, options.logBytesMin.roundedUpToPages)
      // What is left should do for a flush; but a removal comes first.
      let leavesEnough = writer.reserve.bytes >= flushBytes(writer, after: 0) + preferred
      guard giveUpReserve(&writer) else { throw error }
      defer { restoreReserve(&writer) }
      // Only a flush gives back what this takes of the reserve; it comes while there is enough for it.
      if !leavesEnough { writer.liveBytesWhenFull = .max }
      try turnToNewLog(for: group, capacity: leavesEnough ? preferred : least, &writer)
    }
  }

  /// As large as it should be, or as small as the first one. `prepare` is told the size before.
  func turnToLogOfAnySize(
    for group: [Batch], isSmall: Bool = false, previousLengthMin: UInt64 = 0, _ writer: inout Writer,
    _ prepare: (UInt64, _ isLeast: Bool, inout Writer) throws(WriteFailure) -> Void = { _, _, _ in }
  ) throws(WriteFailure) {
    // A large spare that is not ready yet is soon: until then a log does that is made in a moment, and has room for more
    // than the next group. Where a part of the reserve is made as well, one does that is a little larger than the first.
    let isSpareUnderWay = if case .underWay = writer.spare { true } else { false }
    let lengthMax = isSmall ? options.logBytesMin : isSpareUnderWay ? Self.logBytesOfAMoment / 4 : .max
    let previousLength = min(max(writer.log?.end ?? writer.last.length, previousLengthMin), lengthMax)
    let preferred = capacity(for: group, previousLength: previousLength)
    do throws(WriteFailure) {
      try prepare(preferred, false, &writer)
      try turnToNewLog(for: group, capacity: preferred, &writer)
    } catch {
      let least = max(leastCapacity(for: group), options.logBytesMin.roundedUpToPages)
      guard case .refused(let cause) = error, cause.meansFull, least < preferred || isSmall
      else { throw error }
      // A large log is a comfort.
      discardSpare(&writer)
      try prepare(least, true, &writer)
      try turnToNewLog(for: group, capacity: least, &writer)
    }
  }

  // MARK: The reserve

  /// What a flush will take at most that writes the least, once a log of this size is full of puts.
  private func flushBytes(_ writer: Writer, after capacity: UInt64) -> UInt64 {
    let (table, tail) = table.withTable { ($0.checkpointBytes, UInt64($0.tail.bytes)) }
    let above = options.layerAbove?.leastPageBytes ?? 0
    return SpaceReserve.flushBytes(checkpointBytes: table + above, tailBytes: tail + capacity)
  }

  /// And beside it, there is to be a log for removals.
  private func bytesWanted(_ writer: Writer, after capacity: UInt64) -> UInt64 {
    guard platform.keeps(.keepReserve), !writer.reserve.isBlocked else { return 0 }
    return (flushBytes(writer, after: capacity) + options.logBytesMin).roundedUp(toMultipleOf: 64 << 10)
  }

  /// Once a log of this size follows the one in use, which is full by then.
  private func bytesWantedAhead(_ writer: Writer, for capacity: UInt64) -> UInt64 {
    bytesWanted(writer, after: capacity + (writer.log.map { $0.header.capacity - $0.end } ?? 0))
  }

  /// What a commit may write of the reserve, so that it does not wait long; and more than its log has, so that a
  /// reserve gets whole even if nobody else sees to it.
  private static func growthMax(for group: [Batch]) -> UInt64 {
    4 << 20 + group.reduce(0) { $0 + 2 * UInt64($1.body.count) }
  }

  private func isMuchOfReserveMissing(for group: [Batch], _ writer: Writer) -> Bool {
    let capacity = capacity(for: group, previousLength: writer.log?.end ?? writer.last.length)
    return bytesWanted(writer, after: capacity) > writer.reserve.bytes + Self.growthMax(for: group)
  }

  /// At least as large as wanted, or larger by `growthMax`; if `exactly`, no larger either, for the log may need that
  /// space.
  private func completeReserve(
    for capacity: UInt64, exactly: Bool, within growthMax: UInt64, _ writer: inout Writer
  ) throws(WriteFailure) {
    let wanted = bytesWanted(writer, after: capacity)
    if exactly, writer.reserve.bytes > wanted { _ = writer.reserve.giveUp(in: directory) }
    let now = exactly ? wanted : min(wanted, writer.reserve.bytes + growthMax)
    if now < wanted, writer.reserveGrowth == .none { writer.reserveGrowth = .wanted }
    do throws(SystemFailure) {
      try writer.reserve.grow(to: now, in: directory, platform)
    } catch {
      throw .refused(error)
    }
  }

  /// What a commit has left for the background.
  enum ReserveGrowth {
    case none
    case wanted
    case underWay
  }

  /// Has the reserve made whole that a log was begun with a part of. A close does not wait for it.
  func scheduleReserve() { runInBackground(.spare) { [weak self] in self?.growReserve() } }

  /// For whoever got `true` from `takeReserveOrder`.
  func growReserve() {
    // A compaction may begin a smaller log meanwhile.
    while growReserveByStep(for: logBytesAfterThis) { letOthersIn() }
    writer.withLock { $0.reserveGrowth = .none }
  }

  /// Of the log after the one in use, if that gets full.
  var logBytesAfterThis: UInt64 {
    writer.withLock { capacity(for: [], previousLength: $0.log?.header.capacity ?? 0) }
  }

  /// Has the reserve grow for a log of this size before there is one, so that no commit has to wait for it. In
  /// steps, and commits come in between.
  func growReserveAhead(for capacity: UInt64) {
    while growReserveByStep(for: capacity) { letOthersIn() }
  }

  /// False when there is nothing more to do: the file is as large as wanted, or the disk is full, in which case
  /// the commit that needs the log finds out.
  private func growReserveByStep(for capacity: UInt64) -> Bool {
    writer.withLock { writer in
      // A close takes the writer after it has said so, and whoever opens the store then has the directory.
      guard !isClosing, !writer.isFreeingSpace, writer.liveBytesWhenFull == nil else { return false }
      let wanted = bytesWantedAhead(writer, for: capacity)
      let step = min(wanted, writer.reserve.bytes + SpaceReserve.stepBytes)
      guard (try? writer.reserve.grow(to: step, in: directory, platform)) != nil else { return false }
      return step < wanted
    }
  }

  /// Gives spare and reserve to the disk; false if there is nothing to give.
  @discardableResult
  func giveUpReserve(_ writer: inout Writer) -> Bool {
    let hadSpare = discardSpare(&writer)
    return writer.reserve.giveUp(in: directory) || hadSpare
  }

  @discardableResult
  func discardSpare(_ writer: inout Writer) -> Bool {
    guard case .ready(let spare) = writer.spare else { return false }
    writer.spare = .failed
    discard(spare)
    return true
  }

  /// As large as there is room for; true if it is as large as wanted.
  @discardableResult
  func restoreReserve(_ writer: inout Writer) -> Bool {
    let capacity = writer.log?.header.capacity ?? options.logBytesMin
    let wanted = bytesWanted(writer, after: capacity)
    try? writer.reserve.grow(to: wanted, in: directory, platform)
    return writer.reserve.bytes >= wanted
  }

  /// What it was made for may be gone: it is made anew if it is more than twice as large as the next log wants it.
  /// Commits wait for that, so that none of them finds no reserve.
  func shrinkReserve() {
    let capacity = logBytesAfterThis
    writer.withLock { writer in
      let wanted = bytesWantedAhead(writer, for: capacity)
      guard writer.reserve.bytes > 2 * wanted, writer.reserve.giveUp(in: directory) else { return }
      try? writer.reserve.grow(to: wanted, in: directory, platform)
    }
  }

  // MARK: When to flush

  /// Of all that is the value of some key, as far as is counted.
  var liveBytes: UInt64 {
    table.withTable { table in
      table.segments.reduce(UInt64(table.tail.bytes)) { $0 + ($1?.liveBytes ?? 0) }
    }
  }

  /// A put was refused. What is in the logs takes less space in a segment; if that is worth the checkpoint,
  /// a flush is due at once, else after removals.
  private func noteFull(_ writer: inout Writer) {
    // The first try is of a whole one.
    let cost = max(flushBytes(writer, after: 0), writer.manifest.checkpoint?.bytes ?? 0)
    let isWorthIt = 8 * writer.logBytes >= cost
    if isWorthIt { writer.liveBytesWhenFull = .max }
    if writer.liveBytesWhenFull == nil { writer.liveBytesWhenFull = liveBytes }
  }

  /// So much was removed since the disk was full that a flush will give space back.
  func hasSpaceToGiveBack(_ writer: Writer) -> Bool {
    guard let before = writer.liveBytesWhenFull else { return false }
    let now = liveBytes
    return now < before && before - now >= min(before / 4, 1 << 20)
  }
}

extension ByteStore.Writer {
  /// True if the reserve is to grow, and nobody else has it grow already.
  mutating func takeReserveOrder() -> Bool {
    guard reserveGrowth == .wanted else { return false }
    reserveGrowth = .underWay
    return true
  }
}

extension UInt64 {
  fileprivate var roundedUpToPages: UInt64 { roundedUp(toMultipleOf: UInt64(LogFormat.pageBytes)) }
}

extension Table {
  /// What a checkpoint of the table takes, were all keys removed from it, and without the pages of the layer
  /// above: an ordinal that is free takes more than one in use.
  var checkpointBytes: UInt64 {
    let words = ordinals + 3 * segments.count + slots.overflow.count
    let pages =
      4 + slots.directory.pageCount + slots.pages.pageCount + locations.pageCount
      + words / PagedWords.wordsPerPage
    return UInt64(pages * CheckpointFormat.pageBytes)
  }
}

extension ByteStoreError {
  /// The disk is full, and nothing has been begun that is not known to have failed.
  var asksForSpace: Bool {
    if case .system(let cause) = self { cause.meansFull && !cause.isSync } else { false }
  }
}
