// Writes faster than flushes can keep up with for minutes, so that the writers must be throttled.
//
// No commit may wait much longer than the device requires, and at least one commit must end in every second.
// A concurrent transaction stays open for a second at a time, so its reads must be validated against many
// commits.
//
// The campaign subtracts device time from a commit's latency (`BlockingCalls`). Device time is counted from
// the moment when the commit gets its place in the commit order. It is the time that writes and syncs take
// for the previous group, for the commit's own group, and for earlier log rotations. Waits before this
// moment, such as throttling, are not subtracted, and neither is a late wake-up of the thread. If a
// concurrent flush slows down these writes and syncs, the additional time also counts as device time.

import ByteStore
import DocumentStore
import Foundation
import Harness

enum Overload: Campaign {
  static let name = "overload"
  static let summary = "writes documents from eight threads without rest and reports how long commits take"
  static let amount = (option: "--minutes", standard: Optional(1))

  static let writers = 8
  static let documentsPerBatch = 50
  /// The maximum wait of a commit in addition to device time.
  static let millisecondsMax = 100
  /// The maximum number of syncs that a commit waits for: one of the previous group, four of a log rotation
  /// (which also syncs the old log), two of a flush's manifest, and the commit's own.
  static let syncsMax = 8

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-overload-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let watched = WatchedFileSystem(PosixFileSystem())
    var platform = Platform.real
    platform.fileSystem = watched
    let store = try DocumentStore.open(
      folder.appendingPathComponent("store").path, options: DocumentStore.Options(), platform: platform)
    for field in ["score", "town"] {
      try store.createIndex(
        IndexDefinition("c", .collection, [IndexDefinition.Field(StoredFieldPath(unchecked: [field]))]))
    }
    options.printUnlessJSON(
      "eight threads, batches of \(documentsPerBatch), for \(options.amount ?? 10) minutes")
    let load = OverloadRun(store, watched, seed: options.seed, minutes: options.amount ?? 10)
    let probe = DeviceProbe(in: folder)
    try load.run()
    let (device, average) = probe.end()
    try store.close()
    options.printUnlessJSON(load.measures.times.chart)
    options.printUnlessJSON(
      "beyond what the device made them wait:\n\(load.measures.timesBeyondDevice.chart)")
    if let worst = load.measures.worst {
      options.printUnlessJSON("the one that waited longest beyond the device:\n\(worst)")
    }
    if let most = load.measures.commitWithMostSyncs {
      options.printUnlessJSON("the one that waited for the most syncs:\n\(most)")
    }
    return result(of: load.measures, device: device, average: average)
  }

  private static func result(
    of measures: OverloadRun.Measures, device: Duration, average: Duration
  ) -> CampaignResult {
    let times = measures.times
    let beyond = measures.timesBeyondDevice
    var result = CampaignResult(run: times.count, failed: 0)
    func microseconds(_ share: Double) -> Int { Int(times.quantile(share) / .microseconds(1)) }
    let seconds = measures.commitsBySecond.dropLast()
    result.details = [
      ("medianUs", microseconds(0.5)), ("p90Us", microseconds(0.9)), ("p99Us", microseconds(0.99)),
      ("p999Us", microseconds(0.999)), ("p9999Us", microseconds(0.9999)),
      ("longestMs", times.longest.milliseconds), ("longestBeyondDeviceMs", beyond.longest.milliseconds),
      ("allowedBeyondDeviceMs", millisecondsMax),
      ("longestUntilPlacedMs", measures.longestTimeUntilOrdered.milliseconds),
      ("mostSyncsOfACommit", measures.mostSyncs), ("allowedSyncsOfACommit", syncsMax),
      ("longestSyncOfACommitMs", measures.longestSync.milliseconds),
      ("p999BeyondDeviceUs", Int(beyond.quantile(0.999) / .microseconds(1))),
      ("syncLongestMs", device.milliseconds), ("syncAverageUs", Int(average / .microseconds(1))),
      ("documentsPerSecond", times.count * documentsPerBatch / max(seconds.count, 1)),
      ("commitsInTheSlowestSecond", seconds.min() ?? 0),
      ("longTransactions", measures.longTransactions), ("ofThoseAborted", measures.longTransactionsAborted),
      ("longestOfTheirCommitsMs", measures.longestOfTransactions.milliseconds),
    ]
    if let error = measures.error {
      result.failed += 1
      result.firstFailure = error
    } else if beyond.longest.milliseconds > millisecondsMax {
      result.failed += 1
      result.firstFailure =
        "a commit took \(beyond.longest.milliseconds) ms more than the device made it wait, and "
        + "\(millisecondsMax) are allowed"
    } else if measures.mostSyncs > syncsMax {
      result.failed += 1
      result.firstFailure = "a commit waited for \(measures.mostSyncs) syncs, and \(syncsMax) are allowed"
    } else if let second = seconds.firstIndex(of: 0) {
      result.failed += 1
      result.firstFailure = "nothing was committed in second \(second)"
    }
    return result
  }
}

/// The writers and their measurements.
final class OverloadRun: Sendable {
  struct Commit: Sendable, CustomStringConvertible {
    var took: Duration
    var timeUntilOrdered: Duration
    var blocked: BlockedTime

    var beyond: Duration {
      timeUntilOrdered + max(took - timeUntilOrdered - blocked.duration, .zero)
    }

    var description: String {
      "\(took.milliseconds) ms in all, \(beyond.milliseconds) beyond the device, "
        + "\(timeUntilOrdered.milliseconds) until it had its place; then\n\(blocked)"
    }
  }

  struct Measures: Sendable {
    var times = LatencyHistogram()
    var timesBeyondDevice = LatencyHistogram()
    /// The longest time until a commit had its place in the order.
    var longestTimeUntilOrdered = Duration.zero
    var commitWithMostSyncs: Commit?
    var longestSync = Duration.zero
    var worst: Commit?
    var commitsBySecond: [Int] = []
    var longTransactions = 0
    var longTransactionsAborted = 0
    var longestOfTransactions = Duration.zero
    var error: String?

    /// The largest number of syncs that any commit waited for.
    var mostSyncs: Int { commitWithMostSyncs?.blocked.syncs ?? 0 }
  }

  private static let documents = 400_000

  private let store: DocumentStore
  private let watched: WatchedFileSystem
  private let seed: UInt64
  private let end: ContinuousClock.Instant
  private let start = ContinuousClock.now
  private let state = Locked(Measures())

  init(_ store: DocumentStore, _ watched: WatchedFileSystem, seed: UInt64, minutes: Int) {
    self.store = store
    self.watched = watched
    self.seed = seed
    end = .now + .seconds(60 * minutes)
  }

  var measures: Measures { state.withLock { $0 } }

  func run() throws {
    let threads =
      (0..<Overload.writers).map { writer in
        WorkerThread { [self] in write(UInt64(writer)) }
      } + [WorkerThread { [self] in transact() }]
    for thread in threads { thread.join() }
  }

  private func write(_ writer: UInt64) {
    var random = SeededRandom(seed: SeededRandom.seed(seed, writer))
    watched.followThisThread()
    while ContinuousClock.now < end {
      let batch = (0..<Overload.documentsPerBatch).map { _ in mutation(&random) }
      do {
        let clock = ContinuousClock()
        let start = clock.now
        let inProgress = try store.begin(batch)
        let placed = clock.now
        try store.finish(inProgress)
        let end = clock.now
        note(
          Commit(
            took: end - start, timeUntilOrdered: placed - start,
            blocked: watched.blocked(since: placed, until: end)))
      } catch {
        return state.withLock { $0.error = $0.error ?? "\(error)" }
      }
    }
  }

  /// Runs long transactions. Half of them read data that no writer changes, and commit. The others read data
  /// that all writers change.
  private func transact() {
    let score = StoredFieldPath(unchecked: ["score"])
    var number = 0
    watched.followThisThread()
    while ContinuousClock.now < end {
      number += 1
      do {
        let transaction = try store.beginTransaction()
        let bound = number % 2 == 0 ? -1.0 : 1000.0
        _ = try transaction.documents(
          StructuredQuery(.collection(CollectionPath(["c"])))
            .filtered(by: .field(score, .lessThan, .double(bound))).limited(to: .first(100)))
        Thread.sleep(forTimeInterval: 1)
        try transaction.write(.set(DocumentPath(["transactions", "t"]), StoredMap()))
        var isAborted = false
        let took = try ContinuousClock().measure {
          do { try transaction.commit() } catch DocumentStoreError.aborted { isAborted = true }
        }
        state.withLock { [isAborted] measures in
          measures.longTransactions += 1
          if isAborted { measures.longTransactionsAborted += 1 }
          measures.longestOfTransactions = max(measures.longestOfTransactions, took)
        }
      } catch {
        return state.withLock { $0.error = $0.error ?? "\(error)" }
      }
    }
  }

  private func note(_ commit: Commit) {
    let second = Int((ContinuousClock.now - start) / .seconds(1))
    state.withLock { measures in
      let beyond = commit.beyond
      if beyond > measures.timesBeyondDevice.longest { measures.worst = commit }
      measures.times.add(commit.took)
      measures.timesBeyondDevice.add(beyond)
      if commit.blocked.syncs > measures.mostSyncs { measures.commitWithMostSyncs = commit }
      measures.longestSync = max(measures.longestSync, commit.blocked.longestSync)
      measures.longestTimeUntilOrdered = max(measures.longestTimeUntilOrdered, commit.timeUntilOrdered)
      while measures.commitsBySecond.count <= second { measures.commitsBySecond.append(0) }
      measures.commitsBySecond[second] += 1
    }
  }

  /// Returns a write of one document, which has about a thousand mostly incompressible bytes.
  private func mutation(_ random: inout SeededRandom) -> Mutation {
    let number = random.below(Self.documents)
    let fields = StoredMap([
      (name: "score", value: .double(Double(random.below(1_000_000)) / 7)),
      (name: "town", value: .string("Town \(random.below(500))")),
      (name: "text", value: .bytes(random.bytes(700 + random.below(400)))),
    ])
    return .set(DocumentPath(unchecked: ["c", "document-\(number)"]), fields)
  }
}
