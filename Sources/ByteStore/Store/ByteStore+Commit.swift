// A commit, from the call to the acknowledgement.
//
//   1. enqueue    the batch joins the queue
//   2. lead       the first thread that finds no leader takes the whole queue as one group
//   3. log        the group is written and synced (LogWriter), in a new log first if it does not fit
//   4. publish    readers see the group
//   5. acknowledge every thread of the group returns; the next one leads
//
// While a leader syncs, others queue up: the group grows with the load, the syncs do not.

/// A commit on its way; protected by the lock of the state that it is queued in.
final class Ticket {
  let batch: Batch
  var outcome: Result<SequenceNumber, ByteStoreError>?

  init(_ batch: Batch) { self.batch = batch }
}

extension ByteStore {
  /// Larger groups would make everyone wait for one write.
  private static let groupBytesMax = 4 << 20

  /// Returns when the batch is on stable storage and readers see it.
  @discardableResult
  package func commit(_ batch: Batch) throws(ByteStoreError) -> SequenceNumber {
    guard currentProcessID() == processID else { throw .forked(directory: path) }
    let ticket = Ticket(batch)
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
    let result = writer.withLock { writer in
      Result { () throws(WriteFailure) in try log(group.map(\.batch), &writer) }
    }
    state.withLock { state in
      switch result {
      case .success: publish(group, &state)
      case .failure(let failure): fail(group, failure, &state)
      }
      state.isLeading = false
    }
    state.wakeAll()
  }

  private func log(_ group: [Batch], _ writer: inout Writer) throws(WriteFailure) {
    if writer.log?.hasRoom(for: group) != true { try turnToNewLog(for: group, &writer) }
    do throws(SystemFailure) {
      try writer.log!.append(group)
    } catch {
      throw .unknown(error)
    }
  }

  /// Seals the log in use, if there is one, and opens the next: its file first, then the manifest that
  /// names it. A log is never appended to after an open (C12), so the first commit comes here as well.
  private func turnToNewLog(for group: [Batch], _ writer: inout Writer) throws(WriteFailure) {
    if let log = writer.log {
      writer.last = LogHeader.LogEnd(
        fileID: log.header.fileID, length: log.offset, sequence: log.lastSequence)
    }
    let header = LogHeader(
      fileID: platform.random.randomID(), storeID: storeID, number: writer.manifest.nextLogNumber,
      capacity: capacity(for: group, previousLength: writer.last.length), previous: writer.last)
    var manifest = writer.manifest
    manifest.generation += 1
    manifest.nextLogNumber = LogNumber(header.number.value + 1)
    manifest.sealLastLog(at: writer.last)
    manifest.logs.append(
      Manifest.Log(number: header.number, fileID: header.fileID, capacity: header.capacity, end: nil))

    let next = try LogWriter.create(header, in: directory)
    do {
      try manifest.replace(in: directory)
    } catch {
      next.closeFile()
      if case .refused = error { try? directory.remove(next.name) }
      throw error
    }
    writer.log?.closeFile()
    writer.log = next
    writer.manifest = manifest
  }

  private func capacity(for group: [Batch], previousLength: UInt64) -> UInt64 {
    let needed = UInt64(LogWriter.groupBytes(group) + 2 * LogFormat.pageBytes)
    let page = UInt64(LogFormat.pageBytes)
    let preferred = min(max(options.logBytesMin, 2 * previousLength), options.logBytesMax)
    return (max(needed, preferred) + page - 1) / page * page
  }

  private func publish(_ group: [Ticket], _ state: inout State) {
    for ticket in group {
      let body = ticket.batch.body
      guard let batch = Batch.decode(body.rawSpan) else {
        preconditionFailure("a batch decodes as it was encoded")
      }
      for operation in batch.operations { state.values.apply(operation) }
      state.lastStamp = max(state.lastStamp, batch.stamp)
      state.published = state.published.next
      ticket.outcome = .success(state.published)
    }
  }

  private func fail(_ group: [Ticket], _ failure: WriteFailure, _ state: inout State) {
    switch failure {
    case .refused(let cause):
      for ticket in group { ticket.outcome = .failure(.system(cause)) }
    case .unknown(let cause):
      // No retry: the system may have dropped what it failed to write, and the next sync would succeed.
      let end = ByteStoreError.outcomeUnknown(cause)
      state.end = end
      for ticket in group + state.queue { ticket.outcome = .failure(end) }
      state.queue = []
    }
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
    let turn = state.withLock(when: { !$0.isLeading && $0.queue.isEmpty }) { state in
      defer { state.end = .closed(directory: path) }
      return CloseTurn(endBefore: state.end)
    }
    guard turn != .alreadyClosed, currentProcessID() == processID else { return }
    defer { lock.release() }
    try writer.withLock { writer throws(ByteStoreError) in
      guard var log = writer.log else { return }
      writer.log = nil
      defer { log.closeFile() }
      guard turn == .clean else { return }
      do throws(SystemFailure) {
        try log.appendCloseMarker()
      } catch {
        throw .system(error)
      }
      writer.manifest.generation += 1
      writer.manifest.sealLastLog(
        at: LogHeader.LogEnd(
          fileID: log.header.fileID, length: log.offset, sequence: log.lastSequence))
      do throws(WriteFailure) {
        try writer.manifest.replace(in: directory)
      } catch {
        switch error {
        case .refused(let cause), .unknown(let cause): throw .system(cause)
        }
      }
    }
  }
}
