// What a store does when its callers do nothing.
//
//   1. sync       what buffered commits left in the system's cache
//   2. watermark  once the log has fallen quiet, a frame that vouches for the last group (C9): without
//                 it, damage to that group would look like a torn tail
//   3. spare      once the log is half full, the file for the next one; and what a commit left to do of the reserve
//   4. flush      once enough log has come together (ByteStore+Flush.swift)

import Dispatch

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

package enum Maintenance: Sendable {
  case inBackground(afterMilliseconds: Int)
  /// Only when asked: for tests that decide what happens when.
  case manual
  /// What would be run in the background is handed over instead. A close waits for a spare that was.
  case played(by: any BackgroundPlayer)

  package enum Job: String, CaseIterable, Sendable {
    case look
    case spare
    case flush
  }

  /// Where no lock is held and others may come in between; the steps of a flush are `FlushStep`.
  package enum Moment: Sendable {
    /// In a commit, which no reader sees yet. Whoever wants to write to the log waits for it.
    case commitLogged
    case spareOrdered
    /// The file of the spare is there, and nobody knows of it yet.
    case spareWritten
    /// In a flush, which waits for a commit under way next. It may come here several times.
    case flushStarts
    /// In a flush, before the logs follow.
    case segmentsDeleted
  }

  var isAutomatic: Bool {
    if case .manual = self { false } else { true }
  }

  var isPlayed: Bool { if case .played = self { true } else { false } }

  func pause(_ moment: Moment) {
    guard case .played(let player) = self else { return }
    player.pause(moment)
  }

  fileprivate func run(_ job: Job, _ body: @escaping @Sendable () -> Void) {
    switch self {
    case .manual: break
    case .played(let player): player.add(job, body)
    case .inBackground(let milliseconds):
      switch job {
      case .look:
        let delay = DispatchTimeInterval.milliseconds(milliseconds)
        // Above the flushes: buffered commits wait for its sync.
        DispatchQueue.global(qos: .userInitiated).asyncAfter(deadline: .now() + delay, execute: body)
      case .spare: DispatchQueue.global(qos: .userInitiated).async(execute: body)
      case .flush: DispatchQueue.global(qos: .utility).async(execute: body)
      }
    }
  }
}

/// Stands for the background in tests: it chooses when each job runs, and what comes in between.
package protocol BackgroundPlayer: Sendable {
  func add(_ job: Maintenance.Job, _ run: @escaping @Sendable () -> Void)
  /// Called by whoever has come there, a job or a caller of the store.
  func pause(_ moment: Maintenance.Moment)
}

extension ByteStore {
  /// Has maintenance look at the store soon, unless that is planned already.
  func scheduleMaintenance() {
    guard options.maintenance.isAutomatic else { return }
    let isNew = state.withLock { state in
      defer { state.isMaintenanceScheduled = true }
      return !state.isMaintenanceScheduled
    }
    guard isNew else { return }
    options.maintenance.run(.look) { [weak self] in self?.runScheduledMaintenance() }
  }

  /// Between the steps of a thread that takes a lock again and again: it would have it before those are awake that wait
  /// for it, and they would wait for all of the steps.
  func letOthersIn() { if case .inBackground = options.maintenance { usleep(100) } }

  func runInBackground(_ job: Maintenance.Job, _ body: @escaping @Sendable () -> Void) {
    options.maintenance.run(job, body)
  }

  /// Has the next log prepared now: the log in use may be full before the next look.
  func scheduleSpare(_ capacity: UInt64) {
    options.maintenance.run(.spare) { [self] in prepareSpare(capacity) }
  }

  private func runScheduledMaintenance() {
    state.withLock { $0.isMaintenanceScheduled = false }
    if performMaintenance() { scheduleMaintenance() }
    scheduleFlush()
  }

  /// Has a flush run now, if it is time and none is running.
  func scheduleFlush() { if options.maintenance.isAutomatic, isFlushDue { planFlush() } }

  /// The same for who knows that it is time.
  func planFlush() {
    guard options.maintenance.isAutomatic else { return }
    let isNew = state.withLock { state in
      // Only where one really gets planned: what is noted here, that one takes back.
      guard !state.isFlushScheduled, !state.isFlushing, state.end == nil else { return false }
      state.isFlushScheduled = true
      return true
    }
    guard isNew else { return }
    options.maintenance.run(.flush) { [self] in
      state.withLock { $0.isFlushScheduled = false }
      guard (try? flush(scopeDue)) != nil else { return }
      // Writers wait, and none of them would ask for the next one.
      if isBehind { scheduleFlush() }
    }
  }

  private var scopeDue: FlushScope {
    writer.withLock { $0.liveBytesWhenFull == nil } ? .asNeeded : .everything
  }

  /// One look; true if another one is needed later.
  @discardableResult
  package func performMaintenance() -> Bool {
    guard !isForked else { return false }
    // Like a commit, it is the leader while it touches the log, and waits for its turn.
    let leads = state.withLock(when: { !$0.isLeading }) { state in
      guard state.end == nil else { return false }
      state.startLeading()
      return true
    }
    guard leads else { return false }
    let (result, wanted, growsReserve) = writer.withLock { writer in
      let result = Result { () throws(SystemFailure) in try maintain(&writer) }
      return (result, orderSpare(&writer), writer.takeReserveOrder())
    }
    let spare = state.withLock { state in
      if case .failure(let cause) = result { fail([], .unknown(cause), &state) }
      state.stopLeading()
      return startSpare(wanted, &state)
    }
    state.wakeAll()
    if let spare { prepareSpare(spare) }
    if growsReserve { growReserve() }
    // A flush that fails leaves its reason in the statistics, and is tried again.
    if case .manual = options.maintenance, isFlushDue { try? flush(scopeDue) }
    return (try? result.get()) ?? false
  }

  // MARK: The next log

  /// The size of the spare to make, if the log in use needs one and nobody is at it. For the leader, who
  /// goes on to `startSpare` before it stops leading.
  func orderSpare(_ writer: inout Writer) -> UInt64? {
    guard let log = writer.log, !writer.isFreeingSpace, log.end > log.header.capacity / 2 else { return nil }
    switch writer.spare {
    case .none: break
    case .underWay where !platform.keeps(.oneSpareAtATime): break
    case .underWay, .ready, .failed: return nil
    }
    writer.spare = .underWay
    return capacity(for: [], previousLength: log.header.capacity)
  }

  /// A close waits from here on. Nil if the store takes no more commits.
  func startSpare(_ capacity: UInt64?, _ state: inout State) -> UInt64? {
    guard let capacity, state.end == nil else { return nil }
    state.isPreparingSpare = true
    return capacity
  }

  /// Holds no lock while it writes.
  func prepareSpare(_ capacity: UInt64, from oldLog: String? = nil) {
    options.maintenance.pause(.spareOrdered)
    let result = Result { () throws(SystemFailure) in
      try SpareLog.prepare(capacity, from: oldLog, in: directory, platform)
    }
    options.maintenance.pause(.spareWritten)
    if (try? result.get()) != nil { growReserveAhead(for: capacity) }
    writer.withLock { writer in
      writer.spare = (try? result.get()).map(Spare.ready) ?? .failed
      // Before anyone can take it: who does may order the next one, and that is what a close waits for then.
      state.withLock { state in
        // Without space there is no spare, and the commit that needs a new log says so.
        if case .failure(let cause) = result, cause.isSync { fail([], .unknown(cause), &state) }
        state.isPreparingSpare = false
      }
    }
    state.wakeAll()
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
    let isQuiet = log.end == writer.endAtLastLook
    writer.endAtLastLook = log.end
    if isQuiet, platform.keeps(.watermarkWhenQuiet) { try log.appendWatermark() }
    return !isQuiet
  }
}
