// Passes the events and measurements of one store to its instruments and to the log of the process.

import Synchronization

/// The log that a program can turn on and off for all databases of the process. It receives events only.
package final class ProcessLog: Sendable {
  /// The process can open and close many databases, so the log must not keep their recorders alive.
  private struct WeakRecorder {
    weak var recorder: Recorder?
  }

  private struct State {
    var log: (any Instruments)?
    var recorders: [ObjectIdentifier: WeakRecorder] = [:]
  }

  package static let shared = ProcessLog()

  private let isOnFlag = Atomic(false)
  private let state = Locked(State())

  package init() {}

  var isOn: Bool { isOnFlag.load(ordering: .relaxed) }

  /// Sends all later events to `log`, or to no log if it is nil.
  package func set(_ log: (any Instruments)?) {
    let recorders = state.withLock { state in
      state.log = log
      isOnFlag.store(log != nil, ordering: .relaxed)
      let recorders = state.recorders.values.compactMap(\.recorder)
      for recorder in recorders { recorder.noteLog(isOn: log != nil) }
      return recorders
    }
    // The last reference to a recorder is released outside the lock, because its deinit takes the lock.
    withExtendedLifetime(recorders) {}
  }

  /// The log that is turned on; nil if none is.
  package var current: (any Instruments)? { state.withLock { $0.log } }

  fileprivate func add(_ recorder: Recorder) {
    state.withLock { state in
      state.recorders[ObjectIdentifier(recorder)] = WeakRecorder(recorder: recorder)
      recorder.noteLog(isOn: state.log != nil)
    }
  }

  fileprivate func remove(_ recorder: ObjectIdentifier) { state.withLock { $0.recorders[recorder] = nil } }
}

/// Reports the events and measurements of one store. Call it without holding a lock.
package final class Recorder: Sendable {
  private let instruments: (any Instruments)?
  private let hasInstruments: Bool
  private let log: ProcessLog
  /// Whether there are instruments or a log. The log updates the flag, so that an event that nothing receives
  /// costs one load and one branch.
  private let isActiveFlag: Atomic<Bool>
  package let database: String
  package let slowCommitNanoseconds: UInt64
  package let slowQueryNanoseconds: UInt64

  package init(_ instruments: (any Instruments)?, database: String, log: ProcessLog = .shared) {
    self.instruments = instruments
    hasInstruments = instruments != nil
    isActiveFlag = Atomic(instruments != nil)
    self.log = log
    self.database = database
    let thresholds = instruments ?? NoInstruments()
    slowCommitNanoseconds = thresholds.slowCommit.wholeNanoseconds
    slowQueryNanoseconds = thresholds.slowQuery.wholeNanoseconds
    log.add(self)
  }

  deinit { log.remove(ObjectIdentifier(self)) }

  fileprivate func noteLog(isOn: Bool) { isActiveFlag.store(hasInstruments || isOn, ordering: .relaxed) }

  /// Whether an event would reach the instruments or the log.
  package var isActive: Bool { isActiveFlag.load(ordering: .relaxed) }

  /// This recorder if it passes measurements on; nil if there are no instruments.
  package var measures: Recorder? { hasInstruments ? self : nil }

  // MARK: Events

  /// Reports an event. `fields` is evaluated only if an instrument or the log receives the event.
  package func emit(
    _ name: InstrumentName, _ level: InstrumentEvent.Level,
    fields: @autoclosure () -> [InstrumentEvent.Field] = []
  ) {
    guard isActive else { return }
    let event = InstrumentEvent(name, level, database: database, fields: fields())
    instruments?.event(event)
    if log.isOn { log.current?.event(event) }
  }

  // MARK: Measurements

  package func count(_ name: InstrumentName, by amount: Int) {
    instruments?.count(name, by: amount, in: database)
  }

  package func time(_ name: InstrumentName, nanoseconds: UInt64) {
    instruments?.time(name, took: .nanoseconds(Int64(clamping: nanoseconds)), in: database)
  }

  /// Runs `body` and reports its duration, also if it fails.
  package func timing<Result, Failure: Error>(
    _ name: InstrumentName, _ clock: any StoreClock, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let start = clock.monotonicNanoseconds()
    defer { time(name, nanoseconds: clock.monotonicNanoseconds() &- start) }
    return try body()
  }

  package func gauge(_ name: InstrumentName, is value: UInt64) {
    instruments?.gauge(name, is: Double(value), in: database)
  }

  package func gauge(_ name: InstrumentName, is value: Int) {
    instruments?.gauge(name, is: Double(value), in: database)
  }
}

/// Instruments that ignore everything.
private struct NoInstruments: Instruments {}

extension Duration {
  /// The duration in nanoseconds; 0 for a negative duration.
  fileprivate var wholeNanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (whole, isLong) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isLonger) = whole.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000)
    return isLong || isLonger ? .max : sum
  }
}

extension InstrumentEvent.Value {
  package static func count(_ number: some BinaryInteger) -> Self { .integer(Int(clamping: number)) }

  package static func nanoseconds(_ number: UInt64) -> Self { .seconds(Double(number) / 1e9) }

  package static func error(_ error: some Error) -> Self { .text("\(error)") }
}
