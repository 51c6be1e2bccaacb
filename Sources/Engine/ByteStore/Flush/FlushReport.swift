// The events and measurements of flushes. All of them are sent without a lock.

/// The work that a flush did.
struct FlushReport {
  fileprivate let start: UInt64
  /// The size of the new segments and of the checkpoint.
  var bytes: UInt64 = 0
  /// The last commit that the flush moved out of the WAL.
  var commit = SequenceNumber.none
  fileprivate var inputCount = 0
  fileprivate var inputBytes: UInt64 = 0
  fileprivate var inputLiveBytes: UInt64 = 0

  fileprivate init(start: UInt64) { self.start = start }

  /// Records the segments that the flush rewrites, with their live bytes in `table`.
  mutating func noteCompaction(of inputs: [Segment], in table: KeyDirectory) {
    inputCount = inputs.count
    inputBytes = inputs.reduce(0) { $0 + $1.entry.bytes }
    inputLiveBytes = inputs.reduce(0) { $0 + (table.segments[$1.slot]?.liveBytes ?? 0) }
  }
}

extension ByteStore {
  func sendStart(ofFlush logBytes: UInt64, newLog: LogHeader?) -> FlushReport {
    if let newLog { sendRotation(to: newLog) }
    recorder.emit(.flushStarted, .debug, fields: [.init("wal", .count(logBytes))])
    return FlushReport(start: platform.clock.monotonicNanoseconds())
  }

  func sendEnd(of report: FlushReport) {
    let nanoseconds = platform.clock.monotonicNanoseconds() &- report.start
    if report.inputCount > 0 {
      recorder.emit(
        .compactionFinished, .info,
        fields: [
          .init("segments", .count(report.inputCount)), .init("bytes", .count(report.inputBytes)),
          .init("live", .count(report.inputLiveBytes)),
        ])
    }
    recorder.emit(
      .flushFinished, .info,
      fields: [
        .init("bytes", .count(report.bytes)), .init("commit", .count(report.commit.value)),
        .init("seconds", .nanoseconds(nanoseconds)),
      ])
    guard let measures else { return }
    measures.count(.flushBytes, by: Int(clamping: report.bytes))
    measures.time(.flush, nanoseconds: nanoseconds)
    measures.gauge(.cacheBytes, is: table.cache.statistics.bytesUsed)
    measures.gauge(.snapshots, is: snapshots.count)
    measureMemory(measures)
  }

  func sendFailure(ofFlush error: ByteStoreError) {
    let failures = state.withLock { $0.flushCounts.failed }
    recorder.emit(
      .flushFailed, .error, fields: [.init("error", .error(error)), .init("failures", .count(failures))])
    sendPoison()
  }
}
