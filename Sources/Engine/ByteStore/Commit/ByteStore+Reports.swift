// The events and measurements of commits, and of the store's life. All of them are sent without a lock.

import Synchronization

/// The part of a commit group's result that instruments may receive.
struct GroupReport {
  enum SpaceChange {
    case full(SystemFailure)
    /// A put found room again, after the disk was full for this many microseconds.
    case recovered(afterMicroseconds: Int64)
  }

  /// The log to which the group rotated; nil if it did not rotate.
  var newLog: LogHeader?
  /// The time at which the group was in the WAL, on the monotonic clock.
  var end: UInt64 = 0
  /// The longest time from the creation of a ticket to `end`.
  private(set) var slowestNanoseconds: UInt64 = 0
  var spaceChange: SpaceChange?
  /// The failure of the whole group, other than a full disk.
  var failure: WriteFailure?

  mutating func note(_ ticket: Ticket, _ state: inout ByteStore.State) {
    let nanoseconds = end &- ticket.createdNanoseconds
    state.latencies.record(nanoseconds)
    slowestNanoseconds = max(slowestNanoseconds, nanoseconds)
  }

  /// Whether the group causes an event.
  func isNoteworthy(_ recorder: Recorder) -> Bool {
    slowestNanoseconds >= recorder.slowCommitNanoseconds || newLog != nil || spaceChange != nil
      || failure != nil
  }
}

extension ByteStore {
  /// Records the size of the WAL.
  func noteLogBytes(_ bytes: UInt64) {
    logBytesToFlush.store(bytes, ordering: .relaxed)
    walBytes.store(bytes, ordering: .relaxed)
  }

  // MARK: Commit groups

  /// Records whether the disk is full, and the failure of a group.
  func noteSpace(
    _ group: [Ticket], _ refused: [(Ticket, ByteStoreError)], result: Result<Void, WriteFailure>,
    report: inout GroupReport, state: inout State
  ) {
    var cause: SystemFailure?
    for case (_, .system(let failure)) in refused where failure.isOutOfSpace { cause = failure }
    if case .failure(let failure) = result {
      if case .refused(let refusal) = failure, refusal.isOutOfSpace {
        cause = refusal
      } else {
        report.failure = failure
      }
    }
    if let cause {
      guard state.fullDisk == nil else { return }
      state.fullDisk = State.Obstacle(cause: cause, since: platform.clock.wallMicroseconds())
      report.spaceChange = .full(cause)
    } else if let full = state.fullDisk, case .success = result,
      group.contains(where: { !$0.batch.isRemovalOnly })
    {
      state.fullDisk = nil
      let now = platform.clock.wallMicroseconds()
      report.spaceChange = .recovered(afterMicroseconds: max(now - full.since, 0))
    }
  }

  /// Sends the events of a commit group.
  func send(_ report: GroupReport, _ group: [Ticket]) {
    if let log = report.newLog { sendRotation(to: log) }
    switch report.spaceChange {
    case .full(let cause): recorder.emit(.diskFull, .error, fields: [.init("error", .error(cause))])
    case .recovered(let microseconds):
      recorder.emit(.diskRecovered, .info, fields: [.init("seconds", .seconds(Double(microseconds) / 1e6))])
    case nil: break
    }
    switch report.failure {
    case .refused(let cause):
      recorder.emit(
        .writeFailed, .error,
        fields: [.init("error", .error(cause)), .init("commits", .count(group.count))])
    case .unknown: sendPoison()
    case nil: break
    }
    if report.slowestNanoseconds >= recorder.slowCommitNanoseconds {
      recorder.emit(
        .commitSlow, .warning,
        fields: [
          .init("seconds", .nanoseconds(report.slowestNanoseconds)), .init("commits", .count(group.count)),
          .init("bytes", .count(group.reduce(0) { $0 + $1.batch.bodyBytes })),
        ])
    }
  }

  func sendRotation(to log: LogHeader) {
    recorder.emit(
      .walRotated, .debug,
      fields: [.init("log", .count(log.number.value)), .init("bytes", .count(log.capacity))])
  }

  /// Sends the measurements of a commit group.
  func measure(
    _ measures: Recorder, _ group: [Ticket], refused: [(Ticket, ByteStoreError)],
    report: GroupReport, logNanoseconds: UInt64
  ) {
    var succeeded = 0
    var bytes = 0
    for ticket in group where !ticket.isRefused {
      succeeded += 1
      bytes += ticket.batch.bodyBytes
      measures.time(.commit, nanoseconds: report.end &- ticket.createdNanoseconds)
    }
    if succeeded > 0 {
      measures.count(.commits, by: succeeded)
      measures.count(.commitBytes, by: bytes)
      measures.time(.walWrite, nanoseconds: logNanoseconds)
    }
    // A commit whose dependency was refused is tried again.
    let failed = group.count - succeeded + refused.count { $0.1 != .dependencyRefused }
    if failed > 0 { measures.count(.commitsFailed, by: failed) }
    measureMemory(measures)
  }

  /// Sends the sizes of the WAL and of the memtable.
  func measureMemory(_ measures: Recorder) {
    measures.gauge(.walBytes, is: walBytes.load(ordering: .relaxed))
    measures.gauge(.memtableBytes, is: table.withTable { $0.memtable.bytes })
  }

  /// Sends the event about a poisoned store, if it has not been sent yet.
  func sendPoison() {
    let poison = state.withLock { state in
      defer { state.owesPoisonEvent = false }
      return state.owesPoisonEvent ? state.poison : nil
    }
    guard let poison else { return }
    recorder.emit(.storePoisoned, .error, fields: [.init("error", .error(poison.cause))])
  }

  // MARK: Open and close

  func sendOpen() {
    let report = recoveryReport
    recorder.emit(
      .databaseOpened, .info,
      fields: [
        .init("clean", .flag(report.wasClosedCleanly)), .init("logs", .count(report.logsRead)),
        .init("commits", .count(report.commitsReplayed)), .init("losses", .count(report.losses.count)),
        .init("durability", .text(durability.description)),
      ])
    for loss in report.losses {
      recorder.emit(
        .recoveryDropped, .warning,
        fields: [
          .init("file", .text(loss.file)), .init("offset", .count(loss.offset)),
          .init("bytes", .count(loss.length)), .init("reason", .text(loss.reason)),
        ])
    }
  }

  func sendClose(isClean: Bool) {
    recorder.emit(.databaseClosed, isClean ? .info : .warning, fields: [.init("clean", .flag(isClean))])
  }
}
