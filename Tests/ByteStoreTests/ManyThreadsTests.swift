// All operations at once on many threads, mainly for the thread sanitizer.
//
// The sizes are so small that rotations, flushes and page evictions happen constantly.

import ByteStore
import Harness
import StoreTools
import Testing

@Suite(.serialized) struct ManyThreadsTests {
  @Test(arguments: [1, 2] as [UInt64])
  func concurrentOperationsLoseNothing(seed: UInt64) throws {
    let machine = TestStore(seed: seed) { $0.recordsTrace = false }
    let stressRun = try StressRun(on: machine, seed: seed)
    stressRun.run()
    #expect(stressRun.failures == [])
    #expect(stressRun.store.lastCommit == SequenceNumber(UInt64(StressRun.writers * StressRun.commitsEach)))
    try stressRun.compare(with: stressRun.store)
    try stressRun.store.checkInvariants()
    try stressRun.store.close()
    try compareAfterOpening(machine, stressRun)
    #expect(stressRun.flushes > 0 && stressRun.backups > 0)
  }

  /// Operations after the close fail with an error. Everything that was acknowledged before the close exists
  /// after the next open.
  @Test(arguments: [3, 4] as [UInt64])
  func closeDuringConcurrentOperationsLosesNothing(seed: UInt64) throws {
    let machine = TestStore(seed: seed) { $0.recordsTrace = false }
    let stressRun = try StressRun(on: machine, seed: seed)
    stressRun.run(closingAfterCommits: StressRun.writers * StressRun.commitsEach / 3)
    #expect(stressRun.failures == [])
    #expect(stressRun.commits < StressRun.writers * StressRun.commitsEach)
    try compareAfterOpening(machine, stressRun)
  }

  private func compareAfterOpening(_ machine: TestStore, _ stressRun: StressRun) throws {
    let again = try machine.open()
    try stressRun.compare(with: again)
    try again.checkInvariants()
    #expect(again.recoveryReport.losses.isEmpty)
    #expect(again.recoveryReport.wasClosedCleanly)
    try again.close()
  }
}

/// Threads that perform all operations on one store.
private final class StressRun: Sendable {
  static let writers = 4
  static let commitsEach = 60
  private static let keysEach = 25

  private struct State {
    var writersLeft = StressRun.writers
    var commits = 0
    var flushes = 0
    var backups = 0
    var failures: [String] = []
    var contents: [[UInt8]: [UInt8]] = [:]
  }

  let store: ByteStore
  private let machine: TestStore
  private let seed: UInt64
  private let state = Locked(State())

  init(on machine: TestStore, seed: UInt64) throws {
    var options = ByteStore.Options()
    options.logBytesMin = 16 << 10
    options.logBytesMax = 32 << 10
    options.flushBytes = 48 << 10
    options.segmentBytesMax = 24 << 10
    options.cacheBytesMax = 32 << 10
    options.maintenance = .inBackground(afterMilliseconds: 1)
    store = try ByteStore.open(
      TestStore.path, options: options, platform: machine.disk.platform(seed: seed))
    self.machine = machine
    self.seed = seed
  }

  var failures: [String] { state.withLock { $0.failures } }
  var commits: Int { state.withLock { $0.commits } }
  var flushes: Int { state.withLock { $0.flushes } }
  var backups: Int { state.withLock { $0.backups } }

  /// Runs all threads and returns when they have ended. The other threads end after the writers.
  func run(closingAfterCommits limit: Int? = nil) {
    // Each of these threads runs its body once per `every` commits, because a spinning thread would starve
    // the writers.
    let others: [(every: Int, body: @Sendable (inout SeededRandom) throws -> Void)] = [
      (1, read), (1, read), (3, measure), (10, look), (20, flush), (60, backUp),
    ]
    var threads = (0..<Self.writers).map { writer in
      WorkerThread { [self] in
        recordingFailure { try write(writer) }
        state.withLock { $0.writersLeft -= 1 }
        state.wakeAll()
      }
    }
    for (number, (every, body)) in others.enumerated() {
      threads.append(
        WorkerThread { [self] in
          var random = SeededRandom(seed: SeededRandom.seed(seed, 7, UInt64(number)))
          recordingFailure {
            while let commits = state.withLock({ $0.writersLeft > 0 ? $0.commits : nil }) {
              try body(&random)
              state.withLock(when: { $0.commits >= commits + every || $0.writersLeft == 0 }) { _ in }
            }
          }
        })
    }
    if let limit {
      threads.append(
        WorkerThread { [self] in
          state.withLock(when: { $0.commits >= limit || $0.writersLeft == 0 }) { _ in }
          recordingFailure { try store.close() }
        })
    }
    for thread in threads { thread.join() }
  }

  /// A closed store is not a failure.
  private func recordingFailure(_ body: () throws -> Void) {
    do { try body() } catch ByteStoreError.closed {} catch { fail("\(error)") }
  }

  private func fail(_ what: String) { state.withLock { $0.failures.append(what) } }

  // MARK: Threads

  private func write(_ writer: Int) throws {
    var random = SeededRandom(seed: SeededRandom.seed(seed, UInt64(writer)))
    for number in 0..<Self.commitsEach {
      var batch = Batch(stamp: UInt64(number))
      var changes: [(key: [UInt8], value: [UInt8]?)] = []
      for _ in 0..<1 + random.below(4) {
        let key = Self.key(writer, random.below(Self.keysEach))
        let size = random.oneIn(12) ? 12_000 : 1 + random.below(400)
        // A value starts with its key.
        changes.append((key, random.oneIn(4) ? nil : key + random.bytes(size)))
      }
      for (key, value) in changes {
        if let value { try batch.put(value, for: key) } else { try batch.remove(key) }
      }
      try store.commit(batch, durability: random.oneIn(3) ? .buffered : .synced)
      state.withLock { state in
        state.commits += 1
        for (key, value) in changes { state.contents[key] = value }
      }
      state.wakeAll()
      for (key, value) in changes.suffix(1) where try store.value(for: key) != value {
        fail("writer \(writer) does not find its own value")
      }
    }
  }

  private func read(_ random: inout SeededRandom) throws {
    let key = Self.key(random.below(Self.writers), random.below(Self.keysEach))
    if let value = try store.value(for: key), !value.starts(with: key) { fail("a value of another key") }
  }

  private func look(_ random: inout SeededRandom) throws {
    let snapshot = try store.snapshot()
    defer { snapshot.close() }
    let first = try Self.contents(of: snapshot)
    for _ in 0..<random.below(20) { WorkerThread.yield() }
    if first != (try Self.contents(of: snapshot)) { fail("a snapshot has changed") }
    if first.count != snapshot.count { fail("a snapshot counts wrongly") }
  }

  private func flush(_ random: inout SeededRandom) throws {
    try store.flush(random.oneIn(3) ? .everything : .asNeeded)
    state.withLock { $0.flushes += 1 }
  }

  private func backUp(_ random: inout SeededRandom) throws {
    let directory = "/backup\(backups)"
    let report = try store.backup(to: directory)
    let copy = try ByteStore.open(directory, platform: machine.disk.platform(seed: random.next()))
    if copy.lastCommit != report.sequence || copy.count != report.keys { fail("a backup has another state") }
    try copy.close()
    state.withLock { $0.backups += 1 }
  }

  private func measure(_ random: inout SeededRandom) throws {
    let (before, statistics, after) = (store.lastCommit, store.statistics, store.lastCommit)
    if before > statistics.lastCommit || statistics.lastCommit > after { fail("the last commit goes back") }
  }

  // MARK: Comparing

  private static func key(_ writer: Int, _ number: Int) -> [UInt8] { Array("\(writer)-\(number).".utf8) }

  private static func contents(of snapshot: Snapshot) throws -> [[UInt8]: [UInt8]] {
    var contents: [[UInt8]: [UInt8]] = [:]
    try snapshot.forEach { _, key, value in contents[Array(copying: key)] = Array(copying: value) }
    return contents
  }

  func compare(with store: ByteStore) throws {
    let snapshot = try store.snapshot()
    defer { snapshot.close() }
    #expect(try Self.contents(of: snapshot) == state.withLock { $0.contents })
  }
}
