// One history: a store, and threads that read it and write to it.

import ByteStore
import DocumentStore

final class TransactionRun: Sendable {
  private static let threads = 6
  private static let keys = 6
  private static let groups = 4

  private let seed: UInt64
  private let state = Locked(State())

  private struct State {
    var history: [RecordedTransaction] = []
    var counts: [TransactionCampaign.Kind: Int] = [:]
    var failure: String?
    var nextElement = 0
  }

  private struct Failure: Error, CustomStringConvertible { var description: String }
  private struct OwnWill: Error {}

  init(seed: UInt64) { self.seed = seed }

  var counts: [TransactionCampaign.Kind: Int] { state.withLock { $0.counts } }

  func run() throws -> (history: [RecordedTransaction], final: [Int: [Int]]) {
    let disk = SimulatedDisk()
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.scanMax = seed % 2 == 0 ? 0 : 64
    let store = try DocumentStore.open("/store", options: options, platform: disk.platform(seed: seed))
    let threads = (0..<Self.threads).map { thread in
      WorkerThread { [self] in work(store, SeededRandom(seed: SeededRandom.seed(seed, UInt64(thread)))) }
    }
    for thread in threads { thread.join() }
    if let failure = state.withLock({ $0.failure }) { throw Failure(description: failure) }
    try store.checkInvariants()
    var final: [Int: [Int]] = [:]
    for key in 0..<Self.keys { final[key] = Self.elements(try store.document(at: Self.path(key))) }
    try store.close()
    return (state.withLock { $0.history }, final)
  }

  // MARK: A thread

  private func work(_ store: DocumentStore, _ random: SeededRandom) {
    var random = random
    for _ in 0..<4 + random.below(10) {
      do {
        switch random.below(10) {
        case 0: try batch(store, &random)
        case 1: try query(store, &random)
        case 2: try snapshot(store, &random)
        default: try transaction(store, &random)
        }
      } catch {
        state.withLock { $0.failure = $0.failure ?? "\(error)" }
        return
      }
    }
  }

  private func batch(_ store: DocumentStore, _ random: inout SeededRandom) throws {
    var record = RecordedTransaction()
    let mutations = appends(&random, &record, knowing: [:])
    record.outcome = .committed(try store.commit(mutations).microseconds)
    note(record, .batches)
  }

  private func query(_ store: DocumentStore, _ random: inout SeededRandom) throws {
    let groups = range(&random)
    let found = try store.documents(Self.query(groups))
    note(RecordedTransaction(ranges: [Self.rangeRead(groups, found)]), .queries)
  }

  private func snapshot(_ store: DocumentStore, _ random: inout SeededRandom) throws {
    let snapshot = try store.snapshot()
    defer { snapshot.close() }
    var record = RecordedTransaction(outcome: .committed(snapshot.time?.microseconds))
    for _ in 0..<2 + random.below(3) {
      yield(&random)
      if random.oneIn(2) {
        let groups = range(&random)
        record.ranges.append(Self.rangeRead(groups, try snapshot.documents(Self.query(groups))))
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
    var throwsItself = false
    let script = random.next()
    do {
      record.outcome = .committed(
        try store.transactionTime(maxAttempts: 1 + random.below(6)) { transaction in
          attempts += 1
          // The same code again, on what is there then.
          var random = SeededRandom(seed: SeededRandom.seed(script, UInt64(attempts)))
          record = RecordedTransaction()
          var known: [Int: [Int]] = [:]
          for _ in 0..<random.below(4) {
            if random.oneIn(2) {
              let groups = range(&random)
              record.ranges.append(Self.rangeRead(groups, try transaction.documents(Self.query(groups))))
            } else {
              let key = random.below(Self.keys)
              known[key] = Self.elements(try transaction.document(at: Self.path(key)))
              record.items.append(.init(key, known[key] ?? []))
            }
            yield(&random)
          }
          for mutation in appends(&random, &record, knowing: known) { try transaction.write(mutation) }
          throwsItself = random.oneIn(12)
          if throwsItself { throw OwnWill() }
        })
    } catch is OwnWill {
      record.outcome = .aborted
      state.withLock { $0.counts[.abortedByTheirBlocks, default: 0] += 1 }
    } catch DocumentStoreError.aborted {
      record.outcome = .aborted
      state.withLock { $0.counts[.givenUp, default: 0] += 1 }
    }
    if attempts > 1 { state.withLock { $0.counts[.retries, default: 0] += 1 } }
    note(record, .transactions)
  }

  private func appends(
    _ random: inout SeededRandom, _ record: inout RecordedTransaction, knowing known: [Int: [Int]]
  ) -> [Mutation] {
    var mutations: [Mutation] = []
    var known = known
    for _ in 0...random.below(3) {
      let key = random.below(Self.keys)
      let group = random.below(Self.groups)
      let element = state.withLock { state in
        state.nextElement += 1
        return state.nextElement
      }
      record.appends.append(.init(key, element, group: group))
      let path = Self.path(key)
      if let elements = known[key], random.oneIn(2) {
        // Right only if nobody has appended since it was read.
        let all = elements + [element]
        known[key] = all
        mutations.append(
          .set(path, Self.fields(all, group)))
      } else {
        known[key] = nil
        mutations.append(
          .patch(
            path, Self.fields(nil, group), mask: FieldMask([Self.groupField]),
            transforms: [FieldTransform(Self.listField, .arrayUnion([.integer(Int64(element))]))]))
        state.withLock { $0.counts[.appendsWithoutReading, default: 0] += 1 }
      }
    }
    return mutations
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
    for _ in 0..<random.below(4) { WorkerThread.yield() }
  }

  private func range(_ random: inout SeededRandom) -> Range<Int> {
    let lower = random.below(Self.groups)
    return lower..<lower + 1 + random.below(2)
  }

  // MARK: Documents

  private static let listField = StoredFieldPath(unchecked: ["list"])
  private static let groupField = StoredFieldPath(unchecked: ["group"])

  private static func path(_ key: Int) -> DocumentPath { DocumentPath(unchecked: ["lists", "\(key)"]) }

  private static func fields(_ elements: [Int]?, _ group: Int) -> StoredMap {
    var fields = StoredMap([("group", .integer(Int64(group)))])
    if let elements { fields["list"] = .array(elements.map { .integer(Int64($0)) }) }
    return fields
  }

  private static func elements(_ document: StoredDocument?) -> [Int] {
    guard case .array(let elements) = document?.fields["list"] else { return [] }
    return elements.compactMap { if case .integer(let number) = $0 { Int(number) } else { nil } }
  }

  private static func query(_ groups: Range<Int>) throws -> StructuredQuery {
    try StructuredQuery(.collection(path(0).parent))
      .filtered(by: .field(groupField, .greaterThanOrEqual, .integer(Int64(groups.lowerBound))))
      .filtered(by: .field(groupField, .lessThan, .integer(Int64(groups.upperBound))))
  }

  private static func rangeRead(
    _ groups: Range<Int>, _ found: [StoredDocument]
  ) -> RecordedTransaction.RangeRead {
    let lists = found.compactMap { document in Int(document.path.id).map { ($0, elements(document)) } }
    return RecordedTransaction.RangeRead(groups, Dictionary(uniqueKeysWithValues: lists))
  }
}

extension DocumentStore {
  /// Like `transaction`, for what it commits; nil if it wrote nothing, and its reads are as of no known time.
  fileprivate func transactionTime(
    maxAttempts: Int, _ body: (StoreTransaction) throws -> Void
  ) throws -> Int64? {
    for attempt in 1... {
      let transaction = try beginTransaction()
      do {
        try body(transaction)
        return try transaction.commit()?.microseconds
      } catch let error as DocumentStoreError where error.isWorthAnotherAttempt && attempt < maxAttempts {
        transaction.end()
        waitBeforeAttempt(attempt + 1)
      }
    }
    return nil
  }
}
