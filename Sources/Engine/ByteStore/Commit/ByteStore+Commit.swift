// A commit, from the call to the acknowledgement.
//
//   1. Enqueue: append the batch to the queue.
//   2. Lead: the first thread that finds no leader waits for the group to fill (GroupWaitPolicy). Either this
//      thread or the thread that fills the group then leads, and takes the whole queue as one group.
//   3. Prepare: read the pages that are needed to apply the commits, because nothing may fail after the WAL
//      write.
//   4. Log: write the group to the WAL (LogWriter). If the group does not fit into the log, rotate first.
//   5. Sync: skipped if all commits of the group are buffered and no earlier commit has waited too long for a
//      sync.
//   6. Publish: make the group visible to readers.
//   7. Acknowledge: every thread of the group returns from its call. One of the waiting threads leads next.
//
// While a leader syncs, other commits queue up. Under a higher load, groups become larger, but syncs do not
// become more frequent.

import Libc
import Synchronization

/// The failures that an acknowledged commit survives.
package enum Durability: Sendable {
  /// The commit survives every failure, because it is on stable storage.
  case synced
  /// The commit survives the death of the process. A power loss may drop the last commits; they are synced
  /// within 100 ms.
  case buffered
}

/// A queued commit. It is protected by the lock of the `State` whose queue contains it.
final class Ticket {
  let batch: Batch
  let durability: Durability
  let note: (any CommitNote)?
  let body: CommitBody
  /// Whether a thread waits for the ticket in `finish`.
  var isAwaited = false
  /// Signalled when the outcome is known, or when a leader is needed. Nil until a thread sleeps.
  private(set) var signal: Signal?
  /// The fingerprint of each operation's key, and the key's ordinal if the key existed before the group.
  var targets: [KeyDirectory.Target] = []
  private(set) var outcome: Result<SequenceNumber, ByteStoreError>?
  /// Whether the outcome is known.
  private(set) var isDecided = false
  /// The commits that must succeed before this commit can. They are released when the outcome of this commit
  /// is known.
  var dependencies: [Ticket]
  /// The time at which the ticket was created, on the monotonic clock.
  let createdNanoseconds: UInt64
  private let mark = Atomic(false)

  init(
    _ batch: Batch, _ durability: Durability, note: (any CommitNote)?, dependencies: [Ticket] = [],
    createdNanoseconds: UInt64
  ) {
    self.batch = batch
    self.note = note
    self.durability = durability
    self.dependencies = dependencies
    self.createdNanoseconds = createdNanoseconds
    body = CommitBody(trusted: batch.body)
  }

  func decide(_ outcome: Result<SequenceNumber, ByteStoreError>) {
    self.outcome = outcome
    isDecided = true
  }

  /// The signal of a thread that is about to sleep. Most commits need none.
  func signalForSleep() -> Signal {
    if let signal { return signal }
    let new = Signal()
    signal = new
    return new
  }

  /// Whether the commit has failed permanently.
  var isRefused: Bool { mark.load(ordering: .acquiring) }

  func refuse() { mark.store(true, ordering: .releasing) }

  var hasRefusedDependency: Bool { !dependencies.isEmpty && dependencies.contains(where: \.isRefused) }
}

extension Ticket {
  fileprivate var applied: AppliedCommit { AppliedCommit(body: body, targets: targets, note: note) }
}

extension ByteStore {
  /// A limit on the size of a group. Larger groups would make all followers wait for one long write.
  private static let groupBytesMax = 4 << 20

  /// Commits a batch. Returns when the batch has the requested durability and is visible to readers. The
  /// upper layer gets `note` back when the commit is applied.
  @discardableResult
  package func commit(
    _ batch: Batch, durability: Durability = .synced, note: (any CommitNote)? = nil
  ) throws(ByteStoreError) -> SequenceNumber {
    guard !isForked else { throw .forked(directory: path) }
    throttle(forBytes: batch.bodyBytes)
    return try finish(try enqueue(batch, durability: durability, note: note))
  }

  /// The first half of a commit: puts the batch into the queue, which fixes its position in the commit order.
  /// A later call of `finish` does the rest. If a commit in `dependencies` fails, the new commit fails with
  /// `dependencyRefused`. Callers of `enqueue` must call `throttle` first, while they hold no lock.
  package func enqueue(
    _ batch: Batch, durability: Durability = .synced, note: (any CommitNote)? = nil,
    dependencies: [PendingCommit] = []
  ) throws(ByteStoreError) -> PendingCommit {
    guard !isForked else { throw .forked(directory: path) }
    let ticket = Ticket(
      batch, durability, note: note, dependencies: dependencies.map(\.ticket),
      createdNanoseconds: platform.clock.monotonicNanoseconds())
    let refusal = try state.withLock { state throws(ByteStoreError) -> ByteStoreError? in
      if let end = writeRefusal(state) { throw end }
      if options.isReadOnly { throw .readOnly(directory: path) }
      if let refusal = refusalAtLogLimit(by: batch, state) { return refusal }
      state.queue.append(ticket)
      state.wakeWaitingLeader()
      return nil
    }
    if let refusal {
      // The caller may hold a lock here, so maintenance checks whether a flush is due.
      scheduleMaintenance()
      throw refusal
    }
    return PendingCommit(ticket: ticket)
  }

  /// The second half of a commit: returns when the commit has the requested durability and is visible to
  /// readers.
  @discardableResult
  package func finish(_ pending: PendingCommit) throws(ByteStoreError) -> SequenceNumber {
    guard !isForked else { throw .forked(directory: path) }
    let ticket = pending.ticket
    while true {
      let turn = state.withLock { state in
        ticket.isAwaited = true
        return takeTurn(ticket, &state)
      }
      switch turn {
      case .done(let outcome): return try outcome.get()
      case .lead: lead(nextGroup())
      case .sleep(let signal):
        state.withLock(wokenBy: signal, when: { ticket.isDecided || $0.needsLeader }) { _ in }
      case .waitForGroup(let waitNanoseconds, let signal):
        if waitForGroup(ticket, signal, nanoseconds: waitNanoseconds) { lead(nextGroup()) }
      }
    }
  }

  /// Write throttling: waits if flushes do not keep up with commits. A small commit waits briefly. A large
  /// commit waits about as long as a flush of its bytes takes.
  package func throttle(forBytes bytes: Int) {
    guard case .inBackground = options.maintenance else { return }
    if options.memoryBudget != nil, bytes > CommitBody.prefixBytes { waitForMemory() }
    let flushBytes = logBytesDue.load(ordering: .relaxed)
    let logBytes = logBytesToFlush.load(ordering: .relaxed)
    guard WriteThrottle.isThrottling(logBytes: logBytes, flushBytes: flushBytes) else { return }
    // The space that the commit uses in the log.
    let bytes = max(bytes, LogFormat.pageBytes)
    bytesThrottled.wrappingAdd(bytes, ordering: .relaxed)
    var waitEnded = 0.0
    defer {
      bytesThrottled.wrappingSubtract(bytes, ordering: .relaxed)
      measures?.time(.throttle, nanoseconds: UInt64(waitEnded * 1e9))
    }
    // Waits in steps, so that all writers can resume as soon as a flush ends or a failure ends all writing.
    // Commits that will be refused anyway do not wait any longer.
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

  /// With a memory budget, waits while the memtable is much larger than a flush should find it. Ends when a
  /// flush has moved commits out of it, or if no flush runs, as after a failed one.
  private func waitForMemory() {
    while hasLargeMemtable,
      state.withLock({ ($0.isFlushing || $0.isFlushScheduled) && writeRefusal($0) == nil })
    {
      usleep(UInt32(WriteThrottle.stepSeconds * 1e6))
    }
  }

  private var hasLargeMemtable: Bool {
    logBytesToFlush.load(ordering: .relaxed) > Self.dueFactorMax * logBytesDue.load(ordering: .relaxed)
  }

  /// With a memory budget, the memtable grows to this multiple of the size that starts a flush.
  private static let dueFactorMax: UInt64 = 2

  /// Whether writers are throttled.
  var isThrottling: Bool {
    WriteThrottle.isThrottling(
      logBytes: logBytesToFlush.load(ordering: .relaxed), flushBytes: logBytesDue.load(ordering: .relaxed))
  }

  private enum Turn {
    case done(Result<SequenceNumber, ByteStoreError>)
    case lead
    /// The thread should sleep until the outcome is known or a leader is needed.
    case sleep(Signal)
    /// The thread should wait for its group to fill, for at most this number of nanoseconds.
    case waitForGroup(UInt64, Signal)
  }

  private func takeTurn(_ ticket: Ticket, _ state: inout State) -> Turn {
    if ticket.isDecided, let outcome = ticket.outcome { return .done(outcome) }
    guard state.needsLeader else { return .sleep(ticket.signalForSleep()) }
    // In a test that schedules all threads itself, no thread waits for its group to fill.
    let waits = state.waitingLeader == nil && !options.maintenance.isSimulated
    let waitNanoseconds = waits ? state.groupWaitPolicy.waitNanoseconds(with: state.queue.count) : 0
    guard waitNanoseconds == 0 else {
      state.waitForGroup(ticket)
      return .waitForGroup(waitNanoseconds, ticket.signalForSleep())
    }
    if state.waitingLeader != nil { state.groupWaitPolicy.waitEnded(groupSize: state.queue.count) }
    state.startLeading()
    return .lead
  }

  /// Waits for the group to fill. Returns true if this thread is now the leader, and false if another thread
  /// is leading the group or has already led it.
  private func waitForGroup(_ ticket: Ticket, _ signal: Signal, nanoseconds: UInt64) -> Bool {
    state.withLock(
      wokenBy: signal, within: nanoseconds,
      when: {
        $0.waitingLeader !== ticket || $0.groupWaitPolicy.isComplete($0.queue.count) || $0.queue.isEmpty
      }
    ) { state in
      guard state.waitingLeader === ticket else { return false }
      // A failure in another thread has already decided the outcome of all commits.
      guard !ticket.isDecided else {
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
      // If the queue is empty, a failure in another thread has already decided the outcome of all commits.
      var (count, bytes) = (0, 0)
      while count < state.queue.count {
        bytes += state.queue[count].batch.bodyBytes
        guard bytes <= Self.groupBytesMax || count == 0 else { break }
        count += 1
      }
      guard count < state.queue.count else {
        defer { state.queue = [] }
        return state.queue
      }
      defer { state.queue.removeFirst(count) }
      return Array(state.queue.prefix(count))
    }
  }

  /// Leads a group on a thread that has no commit of its own in the queue.
  func leadWithoutWaiting() { lead(nextGroup()) }

  private func lead(_ tickets: [Ticket]) {
    var (group, refused) = prepare(tickets)
    let needsSync = group.contains { $0.durability == .synced }
    let start = platform.clock.monotonicNanoseconds()
    var report = GroupReport()
    let (result, wanted, growsReserve, debt) = writer.withLock { writer in
      let before = writer.log?.header.number
      let result = log(&group, &refused, writer: &writer)
      if let header = writer.log?.header, header.number != before { report.newLog = header }
      let debt = flushDebt(&writer)
      noteLogBytes(debt.logBytes)
      guard options.maintenance.isAutomatic else { return (result, nil as UInt64?, false, debt) }
      return (result, requestRecycledLog(&writer), writer.claimReserveGrowth(), debt)
    }
    options.maintenance.pause(.commitLogged)
    var sequence = lastCommit
    report.end = platform.clock.monotonicNanoseconds()
    let logNanoseconds = report.end &- start
    if case .success = result { table.apply(group.map(\.applied), options.upperLayer) }
    var sleepers: [Signal] = []
    let recycledLog = state.withLock { state in
      for (ticket, error) in refused { ticket.decide(.failure(error)) }
      switch result {
      case .success:
        for ticket in group {
          sequence = sequence.next
          ticket.decide(.success(sequence))
          report.note(ticket, &state)
        }
      case .failure(let failure): fail(group, failure, state: &state)
      }
      noteSpace(group, refused, result: result, report: &report, state: &state)
      state.groupWaitPolicy.groupEnded(
        tickets.count, queued: state.queue.count, syncNanoseconds: needsSync ? logNanoseconds : nil)
      state.groupEnded(hasRotated: report.newLog != nil)
      state.stopLeading()
      for ticket in tickets { if let signal = ticket.signal { sleepers.append(signal) } }
      return startRecycledLog(wanted, &state)
    }
    for ticket in tickets where !ticket.dependencies.isEmpty { ticket.dependencies = [] }
    for signal in sleepers { signal.wake() }
    state.wakeAll()
    if report.isNoteworthy(recorder) { send(report, group) }
    if let measures {
      measure(measures, group, refused: refused, report: report, logNanoseconds: logNanoseconds)
    }
    scheduleMaintenance()
    if let recycledLog { scheduleRecycledLog(recycledLog) }
    if growsReserve { scheduleReserve() }
    // The debt was computed under the writer's lock, which the next group may hold by now.
    if isFlushDue(for: debt) { scheduleDueFlush() }
  }

  /// Splits the commits into those that can be applied and those that cannot. A damaged page fails only the
  /// commits that need the page.
  private func prepare(
    _ tickets: [Ticket]
  ) -> (group: [Ticket], refused: [(Ticket, ByteStoreError)]) {
    var group: [Ticket] = []
    var refused: [(Ticket, ByteStoreError)] = []
    var newKeys = 0
    group.reserveCapacity(tickets.count)
    for ticket in tickets {
      guard !ticket.hasRefusedDependency else {
        ticket.refuse()
        refused.append((ticket, .dependencyRefused))
        continue
      }
      do throws(ByteStoreError) {
        ticket.targets = try table.prepare(ticket.body, lookups: ticket.batch.lookups, newKeys: &newKeys)
        try table.checkHashDistribution(newKeys: newKeys)
        if let note = ticket.note { options.upperLayer?.prepare(note) }
        group.append(ticket)
      } catch {
        ticket.refuse()
        refused.append((ticket, error))
        if isCheckpointReadFailure(error) { state.withLock { $0.needsLostPage = true } }
      }
    }
    return (group, refused)
  }

  /// Whether the error is a failure to read the checkpoint. A flush may be able to rebuild the lost page.
  private func isCheckpointReadFailure(_ error: ByteStoreError) -> Bool {
    guard let checkpoint = table.withTable({ $0.source?.path }) else { return false }
    return error.isReadFailure(checkpoint)
  }

  /// Logs the group. If the disk is full, logs only the commits without puts and refuses the other commits.
  private func log(
    _ group: inout [Ticket], _ refused: inout [(Ticket, ByteStoreError)], writer: inout Writer
  ) -> Result<Void, WriteFailure> {
    guard !group.isEmpty else { return .success(()) }
    let all = group.map(\.batch)
    let result = Result { () throws(WriteFailure) in
      if writer.log?.hasRoom(for: all) != true { try makeRoom(for: all, &writer) }
      try append(group, all, writer: &writer)
    }
    guard case .failure(.refused(let cause)) = result, cause.isOutOfSpace,
      group.contains(where: { $0.batch.isRemovalOnly })
    else { return result }
    keepRemovals(of: &group, &refused, cause: cause)
    let removals = group.map(\.batch)
    return Result { () throws(WriteFailure) in
      if writer.log?.hasRoom(for: removals, usingReserve: true) != true {
        try rotate(for: removals, .removal, writer: &writer)
      }
      try append(group, removals, writer: &writer)
    }
  }

  private func keepRemovals(
    of group: inout [Ticket], _ refused: inout [(Ticket, ByteStoreError)], cause: SystemFailure
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

  private func append(
    _ group: [Ticket], _ batches: [Batch], writer: inout Writer
  ) throws(WriteFailure) {
    let needsSync = group.contains { $0.durability == .synced }
    // The manifest records the end of the log before, so that no reader shows less of it because of the mark.
    if !writer.isMarkedForAppends { writer.isMarkedForAppends = readerLock?.set(.appends) ?? true }
    do throws(SystemFailure) {
      try writer.log!.append(batches)
      // Maintenance syncs the log as well. It has to wait for its turn, however, which can take long if one
      // leader directly follows another.
      let isDue = needsSync || writer.log!.isSyncDue
      if isDue, platform.keeps(.syncBeforeAcknowledging) { try writer.log!.sync() }
    } catch {
      throw .unknown(error)
    }
  }

  func fail(_ group: [Ticket], _ failure: WriteFailure, state: inout State) {
    switch failure {
    case .refused(let cause):
      for ticket in group {
        ticket.refuse()
        ticket.decide(.failure(.system(cause)))
      }
    case .unknown(let cause):
      guard platform.keeps(.poison) else { return fail(group, .refused(cause), state: &state) }
      let end = ByteStoreError.outcomeUnknown(cause)
      state.end = end
      if state.poison == nil {
        state.poison = State.Obstacle(cause: cause, since: platform.clock.wallMicroseconds())
        state.owesPoisonEvent = true
      }
      for ticket in group + state.queue {
        ticket.refuse()
        ticket.decide(.failure(end))
        // Dependencies are released ticket by ticket. Otherwise, the release of the last commit of a long
        // dependency chain would recursively release all earlier commits.
        ticket.dependencies = []
        ticket.signal?.wake()
      }
      state.queue = []
    }
  }
}
