// One history: a store, and threads that read and write it.

import ByteStore
import DocumentStore

final class TransactionRun: Sendable {
  private static let threads = 6
  static let keys = 8
  /// The first key of documents that are also removed and created again.
  static let firstRemovable = 6
  static let groups = 4

  let seed: UInt64
  /// The scheduler of the threads; nil if the operating system schedules them.
  private let turns: SeededTurns?
  /// Makes threads overlap; nil if they should not be made to overlap.
  private let overlap: ThreadOverlap?
  let state = Locked(State())

  struct State {
    var history: [RecordedTransaction] = []
    var counts: [TransactionCampaign.Kind: Int] = [:]
    var failure: String?
    var nextElement = 0
    var nextReceipt = 0
    var removed: Set<Int> = []
  }

  private struct Failure: Error, CustomStringConvertible { var description: String }
  private struct DeliberateAbort: Error {}

  init(seed: UInt64, isSeeded: Bool = false, overlap: ThreadOverlap? = nil) {
    self.seed = seed
    self.overlap = overlap
    turns = isSeeded ? SeededTurns(seed: seed) : nil
  }

  var counts: [TransactionCampaign.Kind: Int] { state.withLock { $0.counts } }
  /// The trace of a run whose threads are scheduled from a seed; empty in other runs.
  var trace: [String] { turns?.trace ?? [] }

  func run() throws -> (history: [RecordedTransaction], final: [Int: [Int]]) {
    let disk = SimulatedDisk()
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.scanMax = seed % 2 == 0 ? 0 : 64
    options.pauses = turns ?? overlap
    // In some runs, a lock ends as soon as another transaction asks for it. The clock of a simulated disk
    // stands still, so in all others the locks end with their transactions.
    if seed % 5 == 0 { options.transactionLocks.holdMax = 0 }
    let store = try DocumentStore.open("/store", options: options, platform: disk.platform(seed: seed))
    let tasks: [@Sendable () -> Void] = (0..<Self.threads).map { thread in
      { [self] in work(store, SeededRandom(seed: SeededRandom.seed(seed, UInt64(thread)))) }
    }
    if let turns {
      turns.run(tasks)
      count(.simulated)
    } else {
      for thread in tasks.map(WorkerThread.init) { thread.join() }
    }
    if let failure = state.withLock({ $0.failure }) { throw Failure(description: failure) }
    try store.checkInvariants()
    let locks = store.locks.counts
    count(.lockWaits, locks.waits)
    count(.lockVictims, locks.victims)
    count(.expiredLocks, locks.expired)
    guard !store.locks.isContended else { throw Failure(description: "a lock is left") }
    var final: [Int: [Int]] = [:]
    for key in 0..<Self.keys { final[key] = Self.elements(try store.document(at: Self.path(key))) }
    try store.close()
    return (state.withLock { $0.history }, final)
  }

  func count(_ kind: TransactionCampaign.Kind, _ more: Int = 1) {
    state.withLock { $0.counts[kind, default: 0] += more }
  }

  // MARK: A thread

  private func work(_ store: DocumentStore, _ random: SeededRandom) {
    var random = random
    for _ in 0..<4 + random.below(10) {
      do {
        switch random.below(20) {
        case 0, 1: try batch(store, &random)
        case 2, 3: try query(store, &random)
        case 4, 5: try snapshot(store, &random)
        // Maintenance does not run if the threads take turns, because it would wait for an operation of a
        // thread that waits for its turn.
        case 6 where turns == nil: try maintain(store, &random)
        default: try transaction(store, &random)
        }
      } catch {
        state.withLock { $0.failure = $0.failure ?? "\(error)" }
        return
      }
    }
  }

  private func maintain(_ store: DocumentStore, _ random: inout SeededRandom) throws {
    switch random.below(3) {
    case 0: try store.bytes.flush()
    case 1: try store.compact()
    default: for index in store.indexList where random.oneIn(2) { store.dropIndex(index.definition) }
    }
    count(.maintenance)
  }

  private func batch(_ store: DocumentStore, _ random: inout SeededRandom) throws {
    var record = RecordedTransaction()
    let mutations = writes(&random, &record, knowing: [:])
    record.outcome = .committed(try store.commit(mutations).microseconds)
    note(record, .batches)
  }

  private func query(_ store: DocumentStore, _ random: inout SeededRandom) throws {
    let range = try range(&random) { try store.documents($0) }
    note(RecordedTransaction(ranges: [range]), .queries)
  }

  private func snapshot(_ store: DocumentStore, _ random: inout SeededRandom) throws {
    let snapshot = try store.snapshot()
    defer { snapshot.close() }
    var record = RecordedTransaction(outcome: .committed(snapshot.time?.microseconds))
    for _ in 0..<2 + random.below(3) {
      yield(&random)
      if random.oneIn(2) {
        record.ranges.append(try range(&random) { try snapshot.documents($0) })
      } else {
        let key = random.below(Self.keys)
        record.items.append(.init(key, Self.elements(try snapshot.document(at: Self.path(key)))))
      }
    }
    note(record, .snapshots)
  }

  private func transaction(_ store: DocumentStore, _ random: inout SeededRandom) throws {
    var record = RecordedTransaction()
    var attempts = 0
    let script = random.next()
    // The transaction writes this document, so its update time equals the commit time.
    let receipt = state.withLock { state in
      state.nextReceipt += 1
      return DocumentPath(unchecked: ["receipts", "\(state.nextReceipt)"])
    }
    do {
      try store.transaction(maxAttempts: 1 + random.below(6)) { transaction in
        attempts += 1
        // Each attempt makes new random choices, and its record replaces that of the previous attempt.
        var random = SeededRandom(seed: SeededRandom.seed(script, UInt64(attempts)))
        record = RecordedTransaction()
        var known: [Int: [Int]] = [:]
        for _ in 0..<random.below(4) {
          if random.oneIn(2) {
            record.ranges.append(try range(&random) { try transaction.documents($0) })
          } else {
            let key = random.below(Self.keys)
            known[key] = Self.elements(try transaction.document(at: Self.path(key)))
            record.items.append(.init(key, known[key] ?? []))
          }
          yield(&random)
        }
        guard !random.oneIn(8) else { return }
        for mutation in writes(&random, &record, knowing: known) { try transaction.write(mutation) }
        try transaction.write(.set(receipt, StoredMap()))
        if random.oneIn(12) { throw DeliberateAbort() }
      }
      let time = try store.document(at: receipt)?.updateTime.microseconds
      guard record.appends.isEmpty == (time == nil) else {
        throw Failure(description: "no receipt: \(record)")
      }
      record.outcome = .committed(time)
    } catch is DeliberateAbort {
      record.outcome = .aborted
      count(.abortedByTheirBlocks)
    } catch DocumentStoreError.aborted {
      record.outcome = .aborted
      count(.givenUp)
    }
    if attempts > 1 { count(.retries) }
    note(record, .transactions)
  }

  private func note(_ record: RecordedTransaction, _ kind: TransactionCampaign.Kind) {
    state.withLock { state in
      state.history.append(record)
      state.counts[kind, default: 0] += 1
      state.counts[.itemReads, default: 0] += record.items.count
      state.counts[.absentReads, default: 0] += record.items.count { $0.elements.isEmpty }
      state.counts[.rangeReads, default: 0] += record.ranges.count
      state.counts[.emptyRanges, default: 0] += record.ranges.count { $0.found.isEmpty }
      if Set(record.appends.map(\.key)).count < record.appends.count {
        state.counts[.severalWritesOfOneDocument, default: 0] += 1
      }
    }
  }

  private func yield(_ random: inout SeededRandom) {
    for _ in 0..<random.below(4) {
      if let turns { turns.pause(at: .outside) } else { WorkerThread.yield() }
    }
  }
}
