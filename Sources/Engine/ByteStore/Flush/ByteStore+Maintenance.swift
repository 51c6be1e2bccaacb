// Background maintenance of a store.
//
//   1. sync       sync buffered commits that are still in the page cache
//   2. watermark  once the WAL is idle, write a frame that records the sync of the last group (C9);
//                 without it, damage to that group would look like a torn tail
//   3. mark       mark the store as open for writing, if the open could not
//   4. recycle    once the log is half full, prepare the next log file; complete the reserve
//   5. flush      once enough log has accumulated (ByteStore+Flush.swift)

import Dispatch
import Libc
import Synchronization

package enum Maintenance: Sendable {
  case inBackground(afterMilliseconds: Int)
  /// Maintenance runs only on explicit calls, for tests that control the order of events.
  case manual
  /// Background jobs are passed to the simulator instead of being run. If the preparation of a log file is
  /// pending, a close waits for it.
  case simulated(by: any BackgroundSimulator)

  package enum Job: String, CaseIterable, Sendable {
    case look
    case recycledLog
    case flush
  }

  /// Points where no lock is held and other threads may run; a flush has its own points, `FlushStep`.
  package enum PausePoint: Sendable {
    /// A commit is logged, but not visible to readers yet. All other threads that write to the log wait for
    /// this commit.
    case commitLogged
    case recycledLogRequested
    /// The recycled log file exists, but is not registered yet.
    case recycledLogWritten
    /// A flush is about to wait for the commit in progress. It can reach this point several times.
    case flushStarts
    /// A flush deleted segments, and deletes logs next.
    case segmentsDeleted
  }

  var isAutomatic: Bool {
    if case .manual = self { false } else { true }
  }

  var isSimulated: Bool { if case .simulated = self { true } else { false } }

  func pause(_ point: PausePoint) {
    guard case .simulated(let player) = self else { return }
    player.pause(point)
  }

  fileprivate func run(_ job: Job, _ body: @escaping @Sendable () -> Void) {
    switch self {
    case .manual: break
    case .simulated(let player): player.add(job, body)
    case .inBackground(let milliseconds):
      switch job {
      case .look:
        let delay = DispatchTimeInterval.milliseconds(milliseconds)
        // Maintenance has a higher priority than flushes, because buffered commits wait for its sync.
        DispatchQueue.global(qos: .userInitiated).asyncAfter(deadline: .now() + delay, execute: body)
      case .recycledLog: DispatchQueue.global(qos: .userInitiated).async(execute: body)
      case .flush: DispatchQueue.global(qos: .utility).async(execute: body)
      }
    }
  }
}

/// Replaces background threads in tests. It decides when each job runs and what happens in between.
package protocol BackgroundSimulator: Sendable {
  func add(_ job: Maintenance.Job, _ run: @escaping @Sendable () -> Void)
  /// Called when a thread reaches a pause point, on that thread. The thread is running either a job or a call
  /// of the store's API.
  func pause(_ point: Maintenance.PausePoint)
}

extension ByteStore {
  /// Schedules a maintenance run, unless one is already scheduled.
  func scheduleMaintenance() {
    guard options.maintenance.isAutomatic else { return }
    let isNew = state.withLock { state in
      defer { state.isMaintenanceScheduled = true }
      return !state.isMaintenanceScheduled
    }
    guard isNew else { return }
    options.maintenance.run(.look) { [weak self] in self?.runScheduledMaintenance() }
  }

  /// Pauses between the steps of a thread that takes a lock repeatedly. Without the pause, the thread would
  /// take the lock again before the waiting threads are awake, and they would have to wait for all steps.
  func yieldToOthers() { if case .inBackground = options.maintenance { usleep(100) } }

  func runInBackground(_ job: Maintenance.Job, _ body: @escaping @Sendable () -> Void) {
    options.maintenance.run(job, body)
  }

  /// Prepares the next log file at once, because the current log may be full before the next maintenance
  /// run.
  func scheduleRecycledLog(_ capacity: UInt64) {
    options.maintenance.run(.recycledLog) { [self] in prepareRecycledLog(capacity) }
  }

  private func runScheduledMaintenance() {
    state.withLock { $0.isMaintenanceScheduled = false }
    if performMaintenance() { scheduleMaintenance() }
    scheduleFlush()
  }

  /// Schedules a flush if one is due and none is running.
  package func scheduleFlush() { if options.maintenance.isAutomatic, isFlushDue { scheduleDueFlush() } }

  /// Schedules a flush that is known to be due.
  func scheduleDueFlush() {
    guard options.maintenance.isAutomatic else { return }
    let isNew = state.withLock { state in
      // The flag is set only if the flush really gets scheduled, because only the flush resets it.
      guard !state.isFlushScheduled, !state.isFlushing, state.end == nil else { return false }
      state.isFlushScheduled = true
      return true
    }
    guard isNew else { return }
    options.maintenance.run(.flush) { [self] in
      state.withLock { $0.isFlushScheduled = false }
      guard (try? flush(scopeDue)) != nil else { return }
      // While writers are throttled, no commit triggers the next flush, so it is scheduled here.
      if isThrottling { scheduleFlush() }
    }
  }

  private var scopeDue: FlushScope {
    writer.withLock { $0.liveBytesWhenFull == nil } ? .asNeeded : .everything
  }

  /// Runs maintenance once; returns true if another run is needed later.
  @discardableResult
  package func performMaintenance() -> Bool {
    guard !isForked else { return false }
    // Maintenance uses the log, so it must lead as a commit does. It waits until no other thread leads.
    let leads = state.withLock(when: { !$0.isLeading }) { state in
      guard state.end == nil else { return false }
      state.startLeading()
      return true
    }
    guard leads else { return false }
    let (result, wanted, growsReserve) = writer.withLock { writer in
      let result = Result { () throws(SystemFailure) in try maintain(&writer) }
      markIfUnmarked()
      return (result, requestRecycledLog(&writer), writer.claimReserveGrowth())
    }
    let recycledLog = state.withLock { state in
      if case .failure(let cause) = result { fail([], .unknown(cause), state: &state) }
      state.stopLeading()
      return startRecycledLog(wanted, &state)
    }
    state.wakeAll()
    if case .failure = result { sendPoison() }
    if let recycledLog { prepareRecycledLog(recycledLog) }
    if growsReserve { growReserve() }
    // If the flush fails, the statistics show its error, and the flush is retried later.
    if case .manual = options.maintenance, isFlushDue { try? flush(scopeDue) }
    return (try? result.get()) ?? false
  }

  /// Marks the store for readers if the open could not. Called by the leader.
  private func markIfUnmarked() {
    guard let readerLock, !isMarked.load(ordering: .relaxed) else { return }
    isMarked.store(readerLock.set(.isOpen), ordering: .relaxed)
  }

  // MARK: The next log

  /// Returns the capacity of the recycled log file to prepare; nil if no file is needed or another thread is
  /// preparing one. Called by the leader, which calls `startRecycledLog` before it stops leading.
  func requestRecycledLog(_ writer: inout Writer) -> UInt64? {
    guard let end = writer.log?.end, let capacity = writer.log?.header.capacity, !writer.isFreeingSpace,
      end > capacity / 2
    else { return nil }
    switch writer.recycledLog {
    case .none: break
    case .inProgress where !platform.keeps(.oneRecycledLogAtATime): break
    case .inProgress, .ready, .failed: return nil
    }
    writer.recycledLog = .inProgress
    return self.capacity(for: [], previousLength: capacity)
  }

  /// Marks the preparation of the recycled log file as running, so that a close waits for it. Returns nil if
  /// no file is needed or the store accepts no more commits.
  func startRecycledLog(_ capacity: UInt64?, _ state: inout State) -> UInt64? {
    guard let capacity, state.end == nil else { return nil }
    state.isPreparingRecycledLog = true
    return capacity
  }

  /// Writes the recycled log file without holding a lock.
  func prepareRecycledLog(_ capacity: UInt64, from oldLog: String? = nil) {
    options.maintenance.pause(.recycledLogRequested)
    let result = Result { () throws(SystemFailure) in
      try RecycledLog.prepare(capacity, from: oldLog, in: directory, platform: platform)
    }
    options.maintenance.pause(.recycledLogWritten)
    if (try? result.get()) != nil { growReserveAhead(for: capacity) }
    writer.withLock { writer in
      writer.recycledLog = (try? result.get()).map(RecycledLogState.ready) ?? .failed
      // The flag is reset before another thread can take the file. That thread may order the next file and
      // set the flag again, and a close must wait for that file.
      state.withLock { state in
        // If the disk has no space, there is no recycled log file, and the error is ignored here. The commit
        // that needs a new log reports the error.
        if case .failure(let cause) = result, cause.isSync { fail([], .unknown(cause), state: &state) }
        state.isPreparingRecycledLog = false
      }
    }
    state.wakeAll()
    if case .failure = result { sendPoison() }
  }

  // MARK: The log

  private func maintain(_ writer: inout Writer) throws(SystemFailure) -> Bool {
    guard var log = writer.log else { return false }
    defer { writer.log = log }
    if log.hasUnsyncedCommits {
      try log.sync()
      return true
    }
    guard log.lacksWatermark else { return false }
    let isIdle = log.end == writer.endAtLastMaintenance
    writer.endAtLastMaintenance = log.end
    if isIdle, platform.keeps(.watermarkWhenIdle) { try log.appendWatermark() }
    return !isIdle
  }
}
