// A commit, from the call to the acknowledgement.
//
//   1. enqueue    the batch joins the queue
//   2. lead       the first thread that finds no leader takes the whole queue as one group
//   3. log        the group is written (LogWriter), in a new log first if it does not fit
//   4. sync       unless all of the group asked for no more than to survive the process
//   5. publish    readers see the group
//   6. acknowledge every thread of the group returns; the next one leads
//
// While a leader syncs, others queue up: the group grows with the load, the syncs do not.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What a commit survives once it is acknowledged.
package enum Durability: Sendable {
  /// Everything: on stable storage.
  case synced
  /// The death of the process; a power loss may drop the last commits, synced within 100 ms.
  case buffered
}

/// A commit on its way; protected by the lock of the state that it is queued in.
final class Ticket {
  let batch: Batch
  let durability: Durability
  var outcome: Result<SequenceNumber, ByteStoreError>?

  init(_ batch: Batch, _ durability: Durability) {
    self.batch = batch
    self.durability = durability
  }
}

extension ByteStore {
  /// Larger groups would make everyone wait for one write.
  private static let groupBytesMax = 4 << 20

  /// Returns when the batch is as durable as asked for and readers see it.
  @discardableResult
  package func commit(
    _ batch: Batch, durability: Durability = .synced
  ) throws(ByteStoreError) -> SequenceNumber {
    guard !isForked else { throw .forked(directory: path) }
    let ticket = Ticket(batch, durability)
    try state.withLock { state throws(ByteStoreError) in
      if let end = state.end { throw end }
      state.queue.append(ticket)
    }
    while true {
      let turn = state.withLock(when: { ticket.outcome != nil || !$0.isLeading }) { state in
        takeTurn(ticket, &state)
      }
      switch turn {
      case .done(let outcome): return try outcome.get()
      case .lead(let group): lead(group)
      }
    }
  }

  private enum Turn {
    case done(Result<SequenceNumber, ByteStoreError>)
    case lead([Ticket])
  }

  private func takeTurn(_ ticket: Ticket, _ state: inout State) -> Turn {
    if let outcome = ticket.outcome { return .done(outcome) }
    state.isLeading = true
    var bytes = 0
    let group = state.queue.prefix { ticket in
      bytes += ticket.batch.body.count
      return bytes <= Self.groupBytesMax
    }
    let count = max(group.count, 1)
    defer { state.queue.removeFirst(count) }
    return .lead(Array(state.queue.prefix(count)))
  }

  private func lead(_ group: [Ticket]) {
    let needsSync = group.contains { $0.durability == .synced }
    let (result, wanted) = writer.withLock { writer in
      let result = Result { () throws(WriteFailure) in
        try log(group.map(\.batch), needsSync: needsSync, &writer)
      }
      return (result, wantedSpare(writer))
    }
    let spare = state.withLock { state in
      switch result {
      case .success: publish(group, &state)
      case .failure(let failure): fail(group, failure, &state)
      }
      state.isLeading = false
      guard case .inBackground = options.maintenance else { return nil as UInt64? }
      return claimSpare(wanted, &state)
    }
    state.wakeAll()
    scheduleMaintenance()
    if let spare { scheduleSpare(spare) }
  }

  private func log(
    _ group: [Batch], needsSync: Bool, _ writer: inout Writer
  ) throws(WriteFailure) {
    if writer.log?.hasRoom(for: group) != true { try turnToNewLog(for: group, &writer) }
    do throws(SystemFailure) {
      try writer.log!.append(group)
      if needsSync, platform.keeps(.syncBeforeAcknowledging) { try writer.log!.sync() }
    } catch {
      throw .unknown(error)
    }
  }

  /// Seals the log in use, if there is one, and opens the next: its file first, then the manifest that
  /// names it. A log is never appended to after an open (C12), so the first commit comes here as well.
  private func turnToNewLog(for group: [Batch], _ writer: inout Writer) throws(WriteFailure) {
    if let end = try settledEnd(&writer) { writer.last = end }
    let spare = takeSpare(for: group, &writer)
    let header = LogHeader(
      fileID: platform.random.randomID(), storeID: storeID, number: writer.manifest.nextLogNumber,
      capacity: spare?.capacity ?? capacity(for: group, previousLength: writer.last.length),
      previous: writer.last)
    // No store gets there, but a made-up manifest may say so.
    guard let nextNumber = header.number.next else {
      throw .refused(SystemFailure(operation: "numbering a log", path: path, code: EOVERFLOW))
    }
    var manifest = writer.manifest.successor()
    manifest.nextLogNumber = nextNumber
    manifest.sealLastLog(at: writer.last)
    manifest.logs.append(
      Manifest.Log(number: header.number, fileID: header.fileID, capacity: header.capacity, end: nil))

    let next = try LogWriter.create(header, from: spare, in: directory, platform)
    do {
      try manifest.replace(in: directory, platform)
    } catch {
      next.closeFile()
      if case .refused = error { try? directory.remove(next.name) }
      throw error
    }
    writer.log?.closeFile()
    writer.log = next
    writer.manifest = manifest
  }

  /// Where the log in use ends for good. It is synced first: a recorded end that a power loss undercuts
  /// would be taken for damage.
  private func settledEnd(_ writer: inout Writer) throws(WriteFailure) -> LogHeader.LogEnd? {
    guard var log = writer.log else { return nil }
    if !log.isSyncedThroughout, platform.keeps(.syncBeforeRecordingEnd) {
      do throws(SystemFailure) { try log.sync() } catch { throw .unknown(error) }
      writer.log = log
    }
    return log.recordedEnd
  }

  /// The spare, if it has room for the group; one that is too small goes back to the disk.
  private func takeSpare(for group: [Batch], _ writer: inout Writer) -> SpareLog? {
    guard let spare = writer.spare else { return nil }
    writer.spare = nil
    if spare.capacity >= LogWriter.capacity(for: group) { return spare }
    discard(spare)
    return nil
  }

  /// What is left of it, the next open removes.
  func discard(_ spare: SpareLog) {
    spare.file.close()
    try? directory.remove(StoreFile.spare)
  }

  func capacity(for group: [Batch], previousLength: UInt64) -> UInt64 {
    let preferred = min(max(options.logBytesMin, 4 * previousLength), options.logBytesMax)
    return max(LogWriter.capacity(for: group), preferred)
      .roundedUp(toMultipleOf: UInt64(LogFormat.pageBytes))
  }

  private func publish(_ group: [Ticket], _ state: inout State) {
    for ticket in group {
      state.table.apply(CommitBody(trusted: ticket.batch.body))
      state.lastStamp = max(state.lastStamp, ticket.batch.stamp)
      state.published = state.published.next
      ticket.outcome = .success(state.published)
    }
  }

  func fail(_ group: [Ticket], _ failure: WriteFailure, _ state: inout State) {
    switch failure {
    case .refused(let cause):
      for ticket in group { ticket.outcome = .failure(.system(cause)) }
    case .unknown(let cause):
      guard platform.keeps(.poison) else { return fail(group, .refused(cause), &state) }
      let end = ByteStoreError.outcomeUnknown(cause)
      state.end = end
      for ticket in group + state.queue { ticket.outcome = .failure(end) }
      state.queue = []
    }
  }

  /// Lets go of the directory and leaves everything as it is, as the death of the process would.
  package func abandon() {
    state.withLock(when: { !$0.isLeading && !$0.isPreparingSpare }) { state in
      state.end = .closed(directory: path)
    }
    writer.withLock { writer in
      writer.log?.closeFile()
      writer.log = nil
    }
    lock.release()
  }

  private enum CloseTurn {
    case clean
    case afterFailure
    case alreadyClosed

    init(endBefore end: ByteStoreError?) {
      switch end {
      case nil: self = .clean
      case .closed: self = .alreadyClosed
      default: self = .afterFailure
      }
    }
  }

  /// Waits for the commits under way, marks the log as cleanly closed and lets go of the directory.
  /// After a failure the log gets no marker. Further calls do nothing.
  package func close() throws(ByteStoreError) {
    // Before any lock: what the parent's threads held at the fork, nobody gives back here.
    guard !isForked else { return }
    let turn = state.withLock(
      when: { !$0.isLeading && $0.queue.isEmpty && !$0.isPreparingSpare }
    ) { state in
      defer { state.end = .closed(directory: path) }
      return CloseTurn(endBefore: state.end)
    }
    guard turn != .alreadyClosed else { return }
    defer { lock.release() }
    try writer.withLock { writer throws(ByteStoreError) in
      if let spare = writer.spare { discard(spare) }
      writer.spare = nil
      guard var log = writer.log else { return }
      writer.log = nil
      defer { log.closeFile() }
      guard turn == .clean else { return }
      do throws(SystemFailure) {
        try log.appendCloseMarker()
      } catch {
        throw .system(error)
      }
      guard platform.keeps(.recordEndWhenClosing) else { return }
      writer.manifest = writer.manifest.successor()
      writer.manifest.sealLastLog(at: log.recordedEnd)
      do throws(WriteFailure) {
        try writer.manifest.replace(in: directory, platform)
      } catch {
        switch error {
        case .refused(let cause), .unknown(let cause): throw .system(cause)
        }
      }
    }
  }
}
