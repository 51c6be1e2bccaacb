// Many listeners of one server for a long time, with writes and reconnects.
//
//   1. Base: the store has had its first commits. There are documents, and no clients.
//   2. All listeners open their streams.
//   3. Writers replace documents. Listeners reconnect, one after the other. For each sample, the reconnects
//      pause until all listeners have all changes; then the server has the streams of these listeners alone.
//   4. All clients end. Sessions, streams, connections and descriptors return to the base.

#if Server
import Foundation
import Harness

/// One run. Used by one thread.
package struct ListenerRun {
  package struct Report: Sendable {
    package var base = ListenerSample()
    package var samples: [ListenerSample] = []
    /// After the end of all clients.
    package var end = ListenerSample()
    package var failures: [String] = []
    package var verdict: ListenerVerdict?
  }

  private static let turnSeconds = 0.1
  /// The time in which all listeners must have a change.
  private static let secondsMax = 60.0
  /// The time in which all listeners must have begun.
  private static let beginSeconds = 300.0
  /// Sessions that were left are closed after a minute, and connections linger for two seconds.
  private static let endSeconds = 90.0
  private static let beginsPerTurn = 40
  /// Files that a store opens meanwhile.
  private static let fileSlack = 16

  private let target: AbuseTarget
  private let options: ListenerOptions
  private let log: (ListenerSample) -> Void
  private let board: ListenerBoard
  private let lanes: [ChannelListeners]
  private let streams: StreamListeners
  private let channelsPerLane: Int
  private let order: [Int]
  private var report = Report()
  private var reconnects = 0

  /// Runs on a thread of its own. `log` is called with each sample.
  package static func run(
    _ target: AbuseTarget, _ options: ListenerOptions,
    log: @escaping @Sendable (ListenerSample) -> Void = { _ in }
  ) async throws -> Report {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Result {
            let board = ListenerBoard(options)
            let base = try prepare(target, board)
            var run = try ListenerRun(target, board, log: log)
            run.report.base = base
            return run.run()
          })
      }
    }
  }

  private static func prepare(_ target: AbuseTarget, _ board: ListenerBoard) throws -> ListenerSample {
    try NumberedWriters.age(target, commits: board.options.agingCommits)
    try NumberedWriters.prepare(target, board, board.options)
    // The connection of the writer lingers.
    let end = Date().addingTimeInterval(secondsMax)
    while let sample = ListenerSample(target), Date() < end {
      if sample.connections <= 1 { return sample }
      Thread.sleep(forTimeInterval: turnSeconds)
    }
    throw Violation("the server has connections before there are clients")
  }

  private init(_ target: AbuseTarget, _ board: ListenerBoard, log: @escaping (ListenerSample) -> Void) throws
  {
    let options = board.options
    self.target = target
    self.board = board
    self.options = options
    self.log = log
    let each = max(1, (options.channels + ListenerOptions.threads - 1) / ListenerOptions.threads)
    channelsPerLane = each
    lanes = stride(from: 0, to: options.channels, by: each).map {
      ChannelListeners($0..<min($0 + each, options.channels), target, board)
    }
    streams = try StreamListeners(options.channels..<options.listeners, target, board)
    var random = SeededRandom(seed: options.seed)
    var order = Array(0..<options.listeners)
    for place in order.indices.reversed() { order.swapAt(place, random.below(place + 1)) }
    self.order = order
  }

  private mutating func run() -> Report {
    do {
      try begin()
      let writers = try NumberedWriters(target, board, options)
      defer { writers.stop() }
      try load()
    } catch {
      fail("\(error)")
    }
    do {
      if report.failures.isEmpty { try waitForAll() }
    } catch {
      fail("at the end: \(error)")
    }
    let slack = Self.fileSlack + Int(2 * Double(options.listeners) / options.reconnectSeconds)
    let verdict = ListenerVerdict(report.samples, descriptorSlack: slack)
    for failure in verdict.failures { fail(failure) }
    report.verdict = verdict
    finish()
    return report
  }

  private mutating func fail(_ text: String) { report.failures.append(text) }

  // MARK: Listeners

  private func lane(of listener: Int) -> ChannelListeners? {
    listener < options.channels ? lanes[listener / channelsPerLane] : nil
  }

  private func begin() throws(Violation) {
    for (count, listener) in order.enumerated() {
      if let lane = lane(of: listener) { lane.begin(listener) } else { streams.begin(listener) }
      if count % Self.beginsPerTurn == 0 { Thread.sleep(forTimeInterval: Self.turnSeconds) }
    }
    try waitForAll(seconds: Self.beginSeconds)
  }

  private mutating func reconnect(until count: Int) {
    while reconnects < count {
      let listener = order[reconnects % order.count]
      let time = reconnects / order.count
      if let lane = lane(of: listener) {
        lane.reconnect(listener, time: time)
      } else {
        streams.reconnect(listener)
      }
      reconnects += 1
    }
  }

  // MARK: Time

  private mutating func load() throws(Violation) {
    let start = ListenerBoard.now
    var nextSample = options.sampleSeconds
    var paused = 0.0
    while true {
      Thread.sleep(forTimeInterval: Self.turnSeconds)
      if let violation = board.violation { throw Violation(violation) }
      let seconds = Double(ListenerBoard.now - start) / 1e9
      let share = (seconds - paused) / options.reconnectSeconds
      reconnect(until: Int(share * Double(options.listeners)))
      guard seconds >= min(nextSample, options.seconds) else { continue }
      nextSample += options.sampleSeconds
      try sample(seconds)
      paused += Double(ListenerBoard.now - start) / 1e9 - seconds
      if seconds >= options.seconds { return }
    }
  }

  /// Waits until all listeners have all present changes.
  private func waitForAll(seconds: Double = secondsMax) throws(Violation) {
    let committed = board.committed
    let end = Date().addingTimeInterval(seconds)
    while true {
      if let violation = board.violation { throw Violation(violation) }
      let behind = board.behind(committed)
      if behind.isEmpty, !board.isAnyLeaving { return }
      guard Date() < end else {
        let first = behind.first.map(board.describe) ?? "a session does not end"
        throw Violation("\(behind.count) listeners are behind after \(Int(seconds)) s: \(first)")
      }
      Thread.sleep(forTimeInterval: 0.01)
    }
  }

  private mutating func sample(_ seconds: Double) throws(Violation) {
    try waitForAll()
    let end = Date().addingTimeInterval(5)
    while true {
      guard var sample = ListenerSample(target) else { throw Violation("the server has no metrics") }
      let abandoned = board.abandonedCount
      let areExpected =
        (options.channels...options.channels + abandoned).contains(sample.channels)
        && (options.listeners...options.listeners + abandoned).contains(sample.streams)
      // The server ends calls on threads of its own.
      guard areExpected || Date() > end else {
        Thread.sleep(forTimeInterval: Self.turnSeconds)
        continue
      }
      let counts = board.counts
      sample.seconds = seconds
      (sample.commits, sample.changes, sample.reconnects) = (
        counts.commits, counts.changes, counts.reconnects
      )
      let waits = board.takeWaits().sorted()
      if !waits.isEmpty {
        sample.medianWait = Int(waits[waits.count / 2] * 1e6)
        sample.longWait = Int(waits[waits.count * 99 / 100] * 1e6)
      }
      report.samples.append(sample)
      log(sample)
      guard areExpected else {
        throw Violation(
          "the server has \(sample.channels) sessions and \(sample.streams) streams of \(options.channels) and "
            + "\(options.listeners) listeners, and \(abandoned) may be left")
      }
      return
    }
  }

  // MARK: The end

  private mutating func finish() {
    for listener in order {
      if let lane = lane(of: listener) { lane.leave(listener) } else { streams.leave(listener) }
    }
    let answered = Date().addingTimeInterval(Self.secondsMax)
    repeat { Thread.sleep(forTimeInterval: Self.turnSeconds) } while board.isAnyLeaving && Date() < answered
    if board.isAnyLeaving { fail("some sessions do not end") }
    for lane in lanes { lane.stop() }
    streams.close()
    // After a failure, clients may have left sessions that they had not opened yet.
    guard report.failures.isEmpty else { return }
    let end = Date().addingTimeInterval(Self.endSeconds)
    while true {
      guard let sample = ListenerSample(target) else { return fail("the server has no metrics") }
      report.end = sample
      let base = report.base
      if sample.channels == 0, sample.streams == 0, sample.connections <= base.connections,
        sample.descriptors <= base.descriptors + Self.fileSlack
      {
        return
      }
      guard Date() < end else { return fail("after the end of all clients: \(sample.text)") }
      Thread.sleep(forTimeInterval: Self.turnSeconds)
    }
  }
}
#endif
