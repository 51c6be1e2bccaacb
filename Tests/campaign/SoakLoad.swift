// The load of a soak: writers, readers and a thread that holds snapshots, for a limited time.

import ByteStore
import Foundation
import Harness

final class SoakLoad: Sendable {
  struct Outcome: Sendable {
    var acknowledged = [Int](repeating: 0, count: SoakScript.writers)
    var commits = 0
    var frames: UInt64 = 0
    var reads = 0
    var snapshots = 0
    var longest = Duration.zero
    /// A violated law.
    var failure: String?
  }

  private struct State {
    var isOver = false
    var outcome = Outcome()
  }

  private let store: ByteStore
  private let script: SoakScript
  private let seed: UInt64
  /// Called with each acknowledged commit.
  private let acknowledge: @Sendable (_ writer: Int, _ number: Int) -> Void
  private let state = Locked(State())

  init(
    _ store: ByteStore, _ script: SoakScript, seed: UInt64,
    acknowledge: @escaping @Sendable (_ writer: Int, _ number: Int) -> Void = { _, _ in }
  ) {
    self.store = store
    self.script = script
    self.seed = seed
    self.acknowledge = acknowledge
  }

  /// Runs the load until `isOver` returns true. Calls `isOver` several times a second.
  func run(until isOver: () -> Bool) -> Outcome {
    var threads = (0..<SoakScript.writers).map { writer in
      WorkerThread { [self] in runUntilStopped { try write(writer) } }
    }
    for reader in 0..<2 {
      let rng = Locked(SeededRandom(seed: SeededRandom.seed(seed, 1, UInt64(reader))))
      threads.append(WorkerThread { [self] in runUntilStopped { try read(rng) } })
    }
    for looker in 0..<2 {
      let rng = Locked(SeededRandom(seed: SeededRandom.seed(seed, 2, UInt64(looker))))
      threads.append(WorkerThread { [self] in runUntilStopped { try look(rng) } })
    }
    while !isOver(), state.withLock({ !$0.isOver }) { usleep(50_000) }
    state.withLock { $0.isOver = true }
    for thread in threads { thread.join() }
    return state.withLock { $0.outcome }
  }

  private func runUntilStopped(_ body: () throws -> Void) {
    while state.withLock({ !$0.isOver }) {
      do { try body() } catch { fail("\(error)") }
    }
  }

  private func fail(_ what: String) {
    state.withLock { state in
      state.outcome.failure = state.outcome.failure ?? what
      state.isOver = true
    }
  }

  // MARK: Threads

  private func write(_ writer: Int) throws {
    let number = try (SoakScript.number(in: store.value(for: SoakScript.lastCommitKey(writer))) ?? 0) + 1
    let batch = try script.batch(writer: writer, number: number)
    let durability: Durability = number % 4 == 0 ? .buffered : .synced
    let took = try ContinuousClock().measure { try store.commit(batch, durability: durability) }
    acknowledge(writer, number)
    let frame = script.frameBytes(writer: writer, number: number)
    state.withLock { state in
      state.outcome.acknowledged[writer] = number
      state.outcome.commits += 1
      state.outcome.frames += frame
      state.outcome.longest = max(state.outcome.longest, took)
    }
  }

  private func read(_ rng: Locked<SeededRandom>) throws {
    let (writer, key) = rng.withLock { ($0.below(SoakScript.writers), $0.below(SoakScript.keysPerWriter)) }
    let value = try store.value(for: SoakScript.name(writer, key))
    // The number of the last commit is read after the value, because this number may be newer than the value,
    // but not older.
    let last = SoakScript.number(in: try store.value(for: SoakScript.lastCommitKey(writer))) ?? 0
    if let value, !script.isValue(value, writer: writer, key: key, upTo: last) {
      fail("key \(key) of writer \(writer) holds a value that no writer put there")
    }
    state.withLock { $0.outcome.reads += 1 }
    // Yields the processor to other threads.
    usleep(200)
  }

  /// Checks that a snapshot returns the same values for as long as it is held.
  private func look(_ rng: Locked<SeededRandom>) throws {
    var random = rng.withLock { SeededRandom(seed: $0.next()) }
    let snapshot = try store.snapshot()
    defer { snapshot.close() }
    let keys = (0..<40).map { _ in (random.below(SoakScript.writers), random.below(SoakScript.keysPerWriter))
    }
    let before = try keys.map { try snapshot.value(for: SoakScript.name($0.0, $0.1)) }
    let end = ContinuousClock.now + .milliseconds(random.below(2000))
    while ContinuousClock.now < end, state.withLock({ !$0.isOver }) { usleep(20_000) }
    let after = try keys.map { try snapshot.value(for: SoakScript.name($0.0, $0.1)) }
    if before != after { fail("a snapshot of commit \(snapshot.sequence.value) has changed") }
    if random.oneIn(4) { try walk(snapshot) }
    state.withLock { $0.outcome.snapshots += 1 }
  }

  private func walk(_ snapshot: Snapshot) throws {
    var count = 0
    try snapshot.forEach { _, _, _ in count += 1 }
    if count != snapshot.count { fail("a snapshot hands over \(count) keys of \(snapshot.count)") }
  }
}
