// A commit, from the call to the acknowledgement.
//
//   1. enqueue    the batch joins the queue
//   2. lead       the first thread that finds no leader waits a moment for company (Gathering.swift); it, or the one
//                 who completes the company, takes the whole queue as one group
//   3. prepare    what applying it to the table will need is read: behind the log nothing may fail
//   4. log        the group is written (LogWriter), in a new log first if it does not fit
//   5. sync       unless all of the group asked for no more than to survive the process, and none before it has
//                 waited long for a sync
//   6. publish    readers see the group
//   7. acknowledge every thread of the group returns; the next one leads
//
// While a leader syncs, others queue up: the group grows with the load, the syncs do not.

import Synchronization

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
  let note: (any CommitNote)?
  let body: CommitBody
  /// That there is an outcome, or that nobody leads.
  let signal = Signal()
  /// Some thread is in `finish` with it.
  var isAwaited = false
  /// Which of its keys were there before.
  var targets: [Table.Target] = []
  var outcome: Result<SequenceNumber, ByteStoreError>?
  /// Earlier commits without which this one may not happen; they are let go of when it has its outcome.
  var foundation: [Ticket]
  private let mark = Atomic(false)

  init(
    _ batch: Batch, _ durability: Durability, _ note: (any CommitNote)?, foundation: [Ticket] = []
  ) {
    self.batch = batch
    self.note = note
    self.durability = durability
    self.foundation = foundation
    body = CommitBody(trusted: batch.body)
  }

  /// It will not happen.
  var isRefused: Bool { mark.load(ordering: .acquiring) }

  func refuse() { mark.store(true, ordering: .releasing) }

  var hasLostFoundation: Bool { foundation.contains(where: \.isRefused) }
}

extension Ticket {
  fileprivate var applied: AppliedCommit { AppliedCommit(body: body, targets: targets, note: note) }
}

extension ByteStore {
  /// Larger groups would make everyone wait for one write.
  private static let groupBytesMax = 4 << 20

  /// Returns when the batch is as durable as asked for and readers see it. The layer above is told `note`
  /// again when they do.
  @discardableResult
  package func commit(
    _ batch: Batch, durability: Durability = .synced, note: (any CommitNote)? = nil
  ) throws(ByteStoreError) -> SequenceNumber {
    guard !isForked else { throw .forked(directory: path) }
    pace(forBytes: batch.body.count)
    return try finish(try enqueue(batch, durability: durability, note: note))
  }

  /// The first half of a commit: it has its place in the order of all commits, and a later call of `finish`
  /// with it does the rest. If one of `foundation` does not happen, this one does not either, and its error is
  /// `foundationRefused`. Whoever commits in two halves calls `pace` first, while it holds no lock.
  package func enqueue(
    _ batch: Batch, durability: Durability = .synced, note: (any CommitNote)? = nil,
    foundation: [PendingCommit] = []
  ) throws(ByteStoreError) -> PendingCommit {
    guard !isForked else { throw .forked(directory: path) }
    let ticket = Ticket(batch, durability, note, foundation: foundation.map(\.ticket))
    let refusal = try state.withLock { state throws(ByteStoreError) -> ByteStoreError? in
      if let end = endOfWriting(state) { throw end }
      if options.isReadOnly { throw .readOnly(directory: path) }
      if let refusal = refusalOfGrowth(by: batch, state) { return refusal }
      state.queue.append(ticket)
      state.wakeHostOfCompany()
      return nil
    }
    if let refusal {
      // Whoever commits in two halves may hold a lock here: whether a flush is due is found out elsewhere.
      scheduleMaintenance()
      throw refusal
    }
    return PendingCommit(ticket: ticket)
  }

  /// The second half: returns when the commit is as durable as asked for and readers see it.
  @discardableResult
  package func finish(_ pending: PendingCommit) throws(ByteStoreError) -> SequenceNumber {
    guard !isForked else { throw .forked(directory: path) }
    let ticket = pending.ticket
    state.withLock { _ in ticket.isAwaited = true }
    while true {
      let turn = state.withLock(
        wokenBy: ticket.signal, when: { ticket.outcome != nil || $0.needsLeader }
      ) { state in takeTurn(ticket, &state) }
      switch turn {
      case .done(let outcome): return try outcome.get()
      case .lead: lead(nextGroup())
      case .waitForCompany(let patience):
        if waitForCompany(ticket, patience) { lead(nextGroup()) }
      }
    }
  }

  /// Waits, if flushes do not keep up with the commits: a little for a small commit, and as long as it takes to flush
  /// about as much for a large one.
  package func pace(forBytes bytes: Int) {
    guard case .inBackground = options.maintenance else { return }
    let flushBytes = logBytesDue.load(ordering: .relaxed)
    let logBytes = logBytesBehind.load(ordering: .relaxed)
    guard Pace.isBehind(logBytes: logBytes, flushBytes: flushBytes) else { return }
    // What it takes of a log.
    let bytes = max(bytes, LogFormat.pageBytes)
    bytesPaced.wrappingAdd(bytes, ordering: .relaxed)
    defer { bytesPaced.wrappingSubtract(bytes, ordering: .relaxed) }
    var waited = 0.0
    // In steps: a flush that ends meanwhile lets everyone go on, and so does a failure that ends all writing. Who will
    // be refused is told so at once.
    while state.withLock({ isWorthWaiting($0) }) {
      let delay = Pace.delay(
        forBytes: bytes, ofAll: bytesPaced.load(ordering: .relaxed),
        logBytes: logBytesBehind.load(ordering: .relaxed), flushBytes: flushBytes)
      let step = min(delay - waited, Pace.secondsOfStep)
      guard step > 0 else { return }
      usleep(UInt32(step * 1e6))
      waited += step
    }
  }

  /// Whether writers wait for flushes.
  var isBehind: Bool {
    Pace.isBehind(
      logBytes: logBytesBehind.load(ordering: .relaxed), flushBytes: logBytesDue.load(ordering: .relaxed))
  }

  private enum Turn {
    case done(Result<SequenceNumber, ByteStoreError>)
    case lead
    /// For so many nanoseconds at most.
    case waitForCompany(UInt64)
  }

  private func takeTurn(_ ticket: Ticket, _ state: inout State) -> Turn {
    if let outcome = ticket.outcome { return .done(outcome) }
    // Who plays all threads in an order of their own waits for none of them.
    let waits = state.host == nil && !options.maintenance.isPlayed
    let patience = waits ? state.gathering.patience(with: state.queue.count) : 0
    guard patience == 0 else {
      state.waitForCompany(ticket)
      return .waitForCompany(patience)
    }
    if state.host != nil { state.gathering.waited(andGot: state.queue.count) }
    state.startLeading()
    return .lead
  }

  /// True if this thread leads now: else another one does, or has.
  private func waitForCompany(_ ticket: Ticket, _ patience: UInt64) -> Bool {
    state.withLock(
      wokenBy: ticket.signal, within: patience,
      when: { $0.host !== ticket || $0.gathering.isComplete($0.queue.count) || $0.queue.isEmpty }
    ) { state in
      guard state.host === ticket else { return false }
      // A failure elsewhere has answered everyone.
      guard ticket.outcome == nil else {
        state.stopWaitingForCompany()
        return false
      }
      state.gathering.waited(andGot: state.queue.count)
      state.startLeading()
      return true
    }
  }

  /// As many commits as go into one write.
  private func nextGroup() -> [Ticket] {
    state.withLock { state in
      // A failure elsewhere has answered everyone.
      guard !state.queue.isEmpty else { return [] }
      var bytes = 0
      let group = state.queue.prefix { ticket in
        bytes += ticket.batch.body.count
        return bytes <= Self.groupBytesMax
      }
      let count = max(group.count, 1)
      defer { state.queue.removeFirst(count) }
      return Array(state.queue.prefix(count))
    }
  }

  /// For a thread that leads and has no commit of its own.
  func leadWithoutWaiting() { lead(nextGroup()) }

  private func lead(_ tickets: [Ticket]) {
    var (group, refused) = prepare(tickets)
    let needsSync = group.contains { $0.durability == .synced }
    let start = platform.clock.monotonicNanoseconds()
    var turned = false
    let (result, wanted, growsReserve, debt) = writer.withLock { writer in
      let before = writer.log?.header.number
      let result = log(&group, &refused, &writer)
      turned = writer.log?.header.number != before
      logBytesBehind.store(writer.logBytes, ordering: .relaxed)
      let debt = flushDebt(writer)
      guard options.maintenance.isAutomatic else { return (result, nil as UInt64?, false, debt) }
      return (result, orderSpare(&writer), writer.takeReserveOrder(), debt)
    }
    options.maintenance.pause(.commitLogged)
    var sequence = lastCommit
    let logNanoseconds = platform.clock.monotonicNanoseconds() &- start
    if case .success = result { table.apply(group.map(\.applied), options.layerAbove) }
    let spare = state.withLock { state in
      for (ticket, error) in refused { ticket.outcome = .failure(error) }
      switch result {
      case .success:
        for ticket in group {
          sequence = sequence.next
          ticket.outcome = .success(sequence)
        }
      case .failure(let failure): fail(group, failure, &state)
      }
      state.gathering.groupEnded(
        tickets.count, queued: state.queue.count, syncNanoseconds: needsSync ? logNanoseconds : nil)
      state.groupEnded(turnedToNewLog: turned)
      state.stopLeading()
      return startSpare(wanted, &state)
    }
    for ticket in tickets {
      ticket.foundation = []
      ticket.signal.wake()
    }
    state.wakeAll()
    scheduleMaintenance()
    if let spare { scheduleSpare(spare) }
    if growsReserve { scheduleReserve() }
    // The next group has the writer by now.
    if isFlushDue(for: debt) { planFlush() }
  }

  /// The commits that can be applied, and those that cannot: damage to a page costs the commits that need
  /// it, and no other.
  private func prepare(
    _ tickets: [Ticket]
  ) -> (group: [Ticket], refused: [(Ticket, ByteStoreError)]) {
    var group: [Ticket] = []
    var refused: [(Ticket, ByteStoreError)] = []
    var newKeys = 0
    for ticket in tickets {
      guard !ticket.hasLostFoundation else {
        ticket.refuse()
        refused.append((ticket, .foundationRefused))
        continue
      }
      do throws(ByteStoreError) {
        ticket.targets = try table.prepare(ticket.body, newKeys: &newKeys)
        try table.checkSpread(newKeys: newKeys)
        if let note = ticket.note { options.layerAbove?.prepare(note) }
        group.append(ticket)
      } catch {
        ticket.refuse()
        refused.append((ticket, error))
        if isOfCheckpoint(error) { state.withLock { $0.lacksPage = true } }
      }
    }
    return (group, refused)
  }

  /// A page of it is lost; a flush may find again what was in it.
  private func isOfCheckpoint(_ error: ByteStoreError) -> Bool {
    guard let checkpoint = table.withTable({ $0.source?.path }) else { return false }
    return error.isOfReading(checkpoint)
  }

  /// Logs the group. On a full disk, those of it that only remove; the others are refused.
  private func log(
    _ group: inout [Ticket], _ refused: inout [(Ticket, ByteStoreError)], _ writer: inout Writer
  ) -> Result<Void, WriteFailure> {
    guard !group.isEmpty else { return .success(()) }
    let all = group.map(\.batch)
    let result = Result { () throws(WriteFailure) in
      if writer.log?.hasRoom(for: all) != true { try makeRoom(for: all, &writer) }
      try append(group, &writer)
    }
    guard case .failure(.refused(let cause)) = result, cause.meansFull,
      group.contains(where: { $0.batch.isRemovalOnly })
    else { return result }
    keepRemovals(of: &group, &refused, cause)
    let removals = group.map(\.batch)
    return Result { () throws(WriteFailure) in
      if writer.log?.hasRoom(for: removals, usingReserve: true) != true {
        try turnToNewLog(for: removals, .removal, &writer)
      }
      try append(group, &writer)
    }
  }

  private func keepRemovals(
    of group: inout [Ticket], _ refused: inout [(Ticket, ByteStoreError)], _ cause: SystemFailure
  ) {
    var kept: [Ticket] = []
    for ticket in group {
      if ticket.batch.isRemovalOnly, !ticket.hasLostFoundation {
        kept.append(ticket)
      } else {
        let error: ByteStoreError = ticket.batch.isRemovalOnly ? .foundationRefused : .system(cause)
        ticket.refuse()
        refused.append((ticket, error))
      }
    }
    group = kept
  }

  private func append(_ group: [Ticket], _ writer: inout Writer) throws(WriteFailure) {
    let needsSync = group.contains { $0.durability == .synced }
    do throws(SystemFailure) {
      try writer.log!.append(group.map(\.batch))
      // Maintenance syncs too; but it waits for its turn, and where one leader follows the other that may take long.
      let isDue = needsSync || writer.log!.isSyncDue
      if isDue, platform.keeps(.syncBeforeAcknowledging) { try writer.log!.sync() }
    } catch {
      throw .unknown(error)
    }
  }

  func fail(_ group: [Ticket], _ failure: WriteFailure, _ state: inout State) {
    switch failure {
    case .refused(let cause):
      for ticket in group {
        ticket.refuse()
        ticket.outcome = .failure(.system(cause))
      }
    case .unknown(let cause):
      guard platform.keeps(.poison) else { return fail(group, .refused(cause), &state) }
      let end = ByteStoreError.outcomeUnknown(cause)
      state.end = end
      for ticket in group + state.queue {
        ticket.refuse()
        ticket.outcome = .failure(end)
        // One after the other: the last of a long chain would let go of all others at once, each within the next.
        ticket.foundation = []
        ticket.signal.wake()
      }
      state.queue = []
    }
  }
}
