// A commit, from the call to the acknowledgement.
//
//   1. enqueue      append the batch to the queue
//   2. lead         the first thread that finds no leader waits for the group to fill (GroupWaitPolicy);
//                   this thread, or the one that fills the group, takes the whole queue as one group
//   3. prepare      read the pages that applying the commits needs; after the WAL write nothing may fail
//   4. log          write the group to the WAL (LogWriter), rotating first if it does not fit
//   5. sync         skipped if all commits of the group are buffered and no earlier commit has waited too
//                   long
//   6. publish      make the group visible to readers
//   7. acknowledge  return from every thread of the group; one of the waiting threads leads next
//
// While a leader syncs, other commits queue up. A higher load makes the groups larger, not the syncs more
// frequent.

import Libc
import Synchronization

/// The failures that an acknowledged commit survives.
package enum Durability: Sendable {
  /// Everything: the commit is on stable storage.
  case synced
  /// The death of the process. A power loss may drop the last commits; they are synced within 100 ms.
  case buffered
}

/// A queued commit. Protected by the lock of the state whose queue it is in.
final class Ticket {
  let batch: Batch
  let durability: Durability
  let note: (any CommitNote)?
  let body: CommitBody
  /// Signalled when the outcome is known, or when a leader is needed.
  let signal = Signal()
  /// Whether a thread waits for the ticket in `finish`.
  var isAwaited = false
  /// The ordinals of those of its keys that existed before.
  var targets: [KeyDirectory.Target] = []
  var outcome: Result<SequenceNumber, ByteStoreError>?
  /// The commit dependencies: earlier commits that must succeed first. Released when the outcome is
  /// known.
  var dependencies: [Ticket]
  private let mark = Atomic(false)

  init(
    _ batch: Batch, _ durability: Durability, _ note: (any CommitNote)?, dependencies: [Ticket] = []
  ) {
    self.batch = batch
    self.note = note
    self.durability = durability
    self.dependencies = dependencies
    body = CommitBody(trusted: batch.body)
  }

  /// Whether the commit failed for good.
  var isRefused: Bool { mark.load(ordering: .acquiring) }

  func refuse() { mark.store(true, ordering: .releasing) }

  var hasRefusedDependency: Bool { dependencies.contains(where: \.isRefused) }
}

extension Ticket {
  fileprivate var applied: AppliedCommit { AppliedCommit(body: body, targets: targets, note: note) }
}

extension ByteStore {
  /// Larger groups would make all followers wait for one long write.
  private static let groupBytesMax = 4 << 20

  /// Commits a batch. Returns when the batch has the requested durability and is visible to readers. The
  /// upper layer gets `note` back when the commit is applied.
  @discardableResult
  package func commit(
    _ batch: Batch, durability: Durability = .synced, note: (any CommitNote)? = nil
  ) throws(ByteStoreError) -> SequenceNumber {
    guard !isForked else { throw .forked(directory: path) }
    pace(forBytes: batch.body.count)
    return try finish(try enqueue(batch, durability: durability, note: note))
  }

  /// The first half of a commit: puts it into the total order. A later call of `finish` does the rest.
  /// If a commit in `dependencies` fails, this one fails with `dependencyRefused`. Callers of `enqueue`
  /// call `pace` first, while they hold no lock.
  package func enqueue(
    _ batch: Batch, durability: Durability = .synced, note: (any CommitNote)? = nil,
    dependencies: [PendingCommit] = []
  ) throws(ByteStoreError) -> PendingCommit {
    guard !isForked else { throw .forked(directory: path) }
    let ticket = Ticket(batch, durability, note, dependencies: dependencies.map(\.ticket))
    let refusal = try state.withLock { state throws(ByteStoreError) -> ByteStoreError? in
      if let end = writeRefusal(state) { throw end }
      if options.isReadOnly { throw .readOnly(directory: path) }
      if let refusal = refusalAtLogLimit(by: batch, state) { return refusal }
      state.queue.append(ticket)
      state.wakeWaitingLeader()
      return nil
    }
    if let refusal {
      // The caller may hold a lock here, so the check whether a flush is due is left to maintenance.
      scheduleMaintenance()
      throw refusal
    }
    return PendingCommit(ticket: ticket)
  }

  /// The second half of a commit: returns when it has the requested durability and is visible to
  /// readers.
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
      case .waitForGroup(let waitNanoseconds):
        if waitForGroup(ticket, waitNanoseconds) { lead(nextGroup()) }
      }
    }
  }

  /// Write throttling: waits if flushes do not keep up with commits. A small commit waits briefly, a
  /// large one about as long as flushing its bytes takes.
  package func pace(forBytes bytes: Int) {
    guard case .inBackground = options.maintenance else { return }
    let flushBytes = logBytesDue.load(ordering: .relaxed)
    let logBytes = logBytesToFlush.load(ordering: .relaxed)
    guard WriteThrottle.isThrottling(logBytes: logBytes, flushBytes: flushBytes) else { return }
    // The space that the commit uses in the log.
    let bytes = max(bytes, LogFormat.pageBytes)
    bytesThrottled.wrappingAdd(bytes, ordering: .relaxed)
    defer { bytesThrottled.wrappingSubtract(bytes, ordering: .relaxed) }
    var waitEnded = 0.0
    // Waits in steps, because a flush that ends meanwhile lets all writers resume. A failure that ends
    // all writing does so too, and commits that will be refused are refused at once.
    while state.withLock({ shouldWaitForFlush($0) }) {
      let delay = WriteThrottle.delay(
        forBytes: bytes, ofAll: bytesThrottled.load(ordering: .relaxed),
        logBytes: logBytesToFlush.load(ordering: .relaxed), flushBytes: flushBytes)
      let step = min(delay - waitEnded, WriteThrottle.stepSeconds)
      guard step > 0 else { return }
      usleep(UInt32(step * 1e6))
      waitEnded += step
    }
  }

  /// Whether writers are throttled.
  var isThrottling: Bool {
    WriteThrottle.isThrottling(
      logBytes: logBytesToFlush.load(ordering: .relaxed), flushBytes: logBytesDue.load(ordering: .relaxed))
  }

  private enum Turn {
    case done(Result<SequenceNumber, ByteStoreError>)
    case lead
    /// The longest wait in nanoseconds.
    case waitForGroup(UInt64)
  }

  private func takeTurn(_ ticket: Ticket, _ state: inout State) -> Turn {
    if let outcome = ticket.outcome { return .done(outcome) }
    // A test that schedules all threads itself never waits for one.
    let waits = state.host == nil && !options.maintenance.isSimulated
    let waitNanoseconds = waits ? state.groupWaitPolicy.waitNanoseconds(with: state.queue.count) : 0
    guard waitNanoseconds == 0 else {
      state.waitForGroup(ticket)
      return .waitForGroup(waitNanoseconds)
    }
    if state.host != nil { state.groupWaitPolicy.waitEnded(groupSize: state.queue.count) }
    state.startLeading()
    return .lead
  }

  /// Waits for the group to fill. Returns true if this thread is the leader now, and false if another
  /// thread leads or led.
  private func waitForGroup(_ ticket: Ticket, _ waitNanoseconds: UInt64) -> Bool {
    state.withLock(
      wokenBy: ticket.signal, within: waitNanoseconds,
      when: { $0.host !== ticket || $0.groupWaitPolicy.isComplete($0.queue.count) || $0.queue.isEmpty }
    ) { state in
      guard state.host === ticket else { return false }
      // A failure in another thread has completed all commits.
      guard ticket.outcome == nil else {
        state.stopWaitingForGroup()
        return false
      }
      state.groupWaitPolicy.waitEnded(groupSize: state.queue.count)
      state.startLeading()
      return true
    }
  }

  /// Takes as many commits from the queue as fit in one write.
  private func nextGroup() -> [Ticket] {
    state.withLock { state in
      // A failure in another thread has completed all commits.
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

  /// Leads a group for a thread without a commit of its own.
  func leadWithoutWaiting() { lead(nextGroup()) }

  private func lead(_ tickets: [Ticket]) {
    var (group, refused) = prepare(tickets)
    let needsSync = group.contains { $0.durability == .synced }
    let start = platform.clock.monotonicNanoseconds()
    var hasRotatedLog = false
    let (result, wanted, growsReserve, debt) = writer.withLock { writer in
      let before = writer.log?.header.number
      let result = log(&group, &refused, &writer)
      hasRotatedLog = writer.log?.header.number != before
      logBytesToFlush.store(writer.logBytes, ordering: .relaxed)
      let debt = flushDebt(writer)
      guard options.maintenance.isAutomatic else { return (result, nil as UInt64?, false, debt) }
      return (result, orderRecycledLog(&writer), writer.claimReserveGrowth(), debt)
    }
    options.maintenance.pause(.commitLogged)
    var sequence = lastCommit
    let logNanoseconds = platform.clock.monotonicNanoseconds() &- start
    if case .success = result { table.apply(group.map(\.applied), options.upperLayer) }
    let recycledLog = state.withLock { state in
      for (ticket, error) in refused { ticket.outcome = .failure(error) }
      switch result {
      case .success:
        for ticket in group {
          sequence = sequence.next
          ticket.outcome = .success(sequence)
        }
      case .failure(let failure): fail(group, failure, &state)
      }
      state.groupWaitPolicy.groupEnded(
        tickets.count, queued: state.queue.count, syncNanoseconds: needsSync ? logNanoseconds : nil)
      state.groupEnded(hasRotated: hasRotatedLog)
      state.stopLeading()
      return startRecycledLog(wanted, &state)
    }
    for ticket in tickets {
      ticket.dependencies = []
      ticket.signal.wake()
    }
    state.wakeAll()
    scheduleMaintenance()
    if let recycledLog { scheduleRecycledLog(recycledLog) }
    if growsReserve { scheduleReserve() }
    // By now, the next group may hold the writer's lock.
    if isFlushDue(for: debt) { scheduleDueFlush() }
  }

  /// Splits the commits into those that can be applied and those that cannot. A damaged page only fails
  /// the commits that need it.
  private func prepare(
    _ tickets: [Ticket]
  ) -> (group: [Ticket], refused: [(Ticket, ByteStoreError)]) {
    var group: [Ticket] = []
    var refused: [(Ticket, ByteStoreError)] = []
    var newKeys = 0
    for ticket in tickets {
      guard !ticket.hasRefusedDependency else {
        ticket.refuse()
        refused.append((ticket, .dependencyRefused))
        continue
      }
      do throws(ByteStoreError) {
        ticket.targets = try table.prepare(ticket.body, newKeys: &newKeys)
        try table.checkHashDistribution(newKeys: newKeys)
        if let note = ticket.note { options.upperLayer?.prepare(note) }
        group.append(ticket)
      } catch {
        ticket.refuse()
        refused.append((ticket, error))
        if concernsCheckpoint(error) { state.withLock { $0.needsLostPage = true } }
      }
    }
    return (group, refused)
  }

  /// Whether the error concerns the checkpoint. A flush may be able to rebuild the lost page.
  private func concernsCheckpoint(_ error: ByteStoreError) -> Bool {
    guard let checkpoint = table.withTable({ $0.source?.path }) else { return false }
    return error.isReadFailure(checkpoint)
  }

  /// Logs the group. On a full disk, only its commits without puts are logged, and the others are
  /// refused.
  private func log(
    _ group: inout [Ticket], _ refused: inout [(Ticket, ByteStoreError)], _ writer: inout Writer
  ) -> Result<Void, WriteFailure> {
    guard !group.isEmpty else { return .success(()) }
    let all = group.map(\.batch)
    let result = Result { () throws(WriteFailure) in
      if writer.log?.hasRoom(for: all) != true { try makeRoom(for: all, &writer) }
      try append(group, &writer)
    }
    guard case .failure(.refused(let cause)) = result, cause.isOutOfSpace,
      group.contains(where: { $0.batch.isRemovalOnly })
    else { return result }
    keepRemovals(of: &group, &refused, cause)
    let removals = group.map(\.batch)
    return Result { () throws(WriteFailure) in
      if writer.log?.hasRoom(for: removals, usingReserve: true) != true {
        try rotate(for: removals, .removal, &writer)
      }
      try append(group, &writer)
    }
  }

  private func keepRemovals(
    of group: inout [Ticket], _ refused: inout [(Ticket, ByteStoreError)], _ cause: SystemFailure
  ) {
    var kept: [Ticket] = []
    for ticket in group {
      if ticket.batch.isRemovalOnly, !ticket.hasRefusedDependency {
        kept.append(ticket)
      } else {
        let error: ByteStoreError = ticket.batch.isRemovalOnly ? .dependencyRefused : .system(cause)
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
      // Maintenance syncs as well, but it has to wait for its turn, which can take long if leaders
      // follow each other directly.
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
        // Released one by one. Otherwise the last commit of a long chain would release all others
        // recursively.
        ticket.dependencies = []
        ticket.signal.wake()
      }
      state.queue = []
    }
  }
}
