// Stores with a memory budget: flushes, the cache, indexes and results stay within it.

import ByteStore
import Dispatch
import Harness
import Testing

@testable import DocumentStore

@Suite(.timeLimit(.minutes(2))) struct MemoryBudgetTests {
  private let directory = TemporaryDirectory()

  /// A store with a budget below the smallest that can be set.
  private func open(bytes: Int?, createsIndexes: Bool = true) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.createsIndexes = createsIndexes
    options.testedBudget = bytes.map { MemoryBudget(bytesMax: $0, origin: .settings) }
    return try DocumentStore.open(directory.path, options: options)
  }

  /// Documents whose field `long` makes long keys.
  private func fill(_ store: DocumentStore, _ numbers: Range<Int>) throws {
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 500) {
      try store.commit(
        (start..<min(start + 500, numbers.upperBound)).map { number in
          .set(
            path("c", "d\(number)"),
            StoredMap([
              ("number", .integer(Int64(number))), ("few", .integer(Int64(number % 10))),
              ("long", .string("\(number) " + String(repeating: "x", count: 300))),
            ]))
        })
    }
  }

  private func numbers(_ documents: [StoredDocument]) -> [Int64] {
    documents.compactMap { if case .integer(let number)? = $0.fields["number"] { number } else { nil } }
  }

  private var long: IndexDefinition { .init(unchecked: "c", .collection, fields: [.init(field("long"))]) }

  private func isExceeded(_ error: any Error) -> Bool {
    if case DocumentStoreError.memoryExceeded = error { true } else { false }
  }

  // MARK: Writing

  @Test func aFlushStartsWithinTheBudget() throws {
    let store = try open(bytes: 24 << 20)
    #expect(store.bytes.walBytesDue <= 3 << 20)
    var peak = 0
    for start in stride(from: 0, to: 20_000, by: 500) {
      try fill(store, start..<start + 500)
      store.bytes.performMaintenance()
      peak = max(peak, store.memoryUse.memtable)
    }
    #expect(peak > 1 << 20 && peak < 5 << 20, "\(peak)")
    #expect(store.bytes.health.flushes.succeeded >= 2)
    #expect(try store.documentCount() == 20_000)
    try store.close()
  }

  /// In a container with a limit, and with the environment variable, every store has a budget.
  @Test(.enabled(if: try DocumentStore.memoryBudget(DocumentStore.Options()) == nil))
  func withoutABudgetNothingChanges() throws {
    let store = try open(bytes: nil)
    #expect(store.bytes.walBytesDue == ByteStore.Options().flushBytes)
    #expect(store.bytes.statistics.cache.bytesMax >= 16 << 20)
    #expect(store.bytes.memoryBytesAvailable == .max && store.memoryBudget == nil)
    try store.close()
  }

  // MARK: Indexes

  @Test func anIndexThatDoesNotFitIsRefused() throws {
    let store = try open(bytes: 12 << 20)
    try fill(store, 0..<20_000)
    try store.bytes.flush()
    let error = #expect(throws: DocumentStoreError.self) { try store.createIndex(long) }
    #expect(error.map(isExceeded) == true)
    #expect(
      error?.description.contains("needs about") == true && error?.description.contains("budget") == true)
    #expect(store.indexList.isEmpty && store.refusedIndexes == [long])
    #expect(store.memoryBudget?.refusalCount == 1 && store.memoryUse.operations == 0)
    try store.close()
  }

  @Test func aQueryScansWithoutAnIndexThatWasRefused() throws {
    let store = try open(bytes: 12 << 20)
    try fill(store, 0..<20_000)
    try store.bytes.flush()
    let query = try StructuredQuery.ofC.order(field("long")).limited(to: .first(3))
    let expected = (0..<20_000).sorted { "\($0) " < "\($1) " }.prefix(3).map { Int64($0) }
    #expect(numbers(try store.documents(query)) == expected)
    #expect(store.indexList.isEmpty)
    let read = store.documentsReadForIndexes.withLock { $0 }
    #expect(numbers(try store.documents(query)) == expected)
    #expect(store.documentsReadForIndexes.withLock { $0 } == read, "the index is not tried again")
    #expect(try store.recordsIfIndexed(query)?.count == 3, "a thread that must not wait scans, too")
    try store.close()
  }

  @Test func anIndexIsBuiltInRunsThatFit() throws {
    var store = try open(bytes: 48 << 20)
    try fill(store, 0..<30_000)
    try store.bytes.flush()
    #expect(store.indexRunBytesMax < 30_000 * 330, "the keys are more than one run")
    try store.createIndex(long)
    let bounded = try store.documents(StructuredQuery.ofC.order(field("long")).limited(to: .first(2000)))
    #expect(store.indexList.map(\.entries) == [30_000])
    store.dropIndex(long)
    try store.close()
    store = try open(bytes: nil)
    try store.createIndex(long)
    #expect(
      try store.documents(StructuredQuery.ofC.order(field("long")).limited(to: .first(2000))) == bounded)
    store.indexes.view()?.indexes.forEach { $0.tree.checkInvariants() }
    try store.close()
  }

  /// Regression: the memory of the dropped index counted as used until it was measured again.
  @Test func anIndexMayTakeTheMemoryOfAnIndexThatWasJustDropped() throws {
    let store = try open(bytes: 48 << 20)
    try fill(store, 0..<30_000)
    try store.bytes.flush()
    let other = IndexDefinition(
      unchecked: "c", .collection, fields: [.init(field("long")), .init(field("few"))])
    try store.createIndex(long)
    let error = #expect(throws: DocumentStoreError.self) { try store.createIndex(other) }
    #expect(error.map(isExceeded) == true, "there is no room for both")
    let available = store.bytes.memoryBytesAvailable
    store.dropIndex(long)
    #expect(store.bytes.memoryBytesAvailable > available + 30_000 * 300)
    try store.createIndex(other)
    #expect(store.indexList.map(\.entries) == [30_000])
    try store.close()
  }

  @Test func automaticIndexesMakeRoomForAnotherOne() throws {
    let store = try open(bytes: 40 << 20)
    try fill(store, 0..<20_000)
    try store.bytes.flush()
    _ = try store.documents(StructuredQuery.ofC.order(field("few")).limited(to: .first(1)))
    _ = try store.documents(StructuredQuery.ofC.order(field("number")).limited(to: .first(1)))
    let use = store.memoryUse
    #expect(use.layer.evictableBytes > 0)
    store.bytes.options.upperLayer?.evictMemory(
      toBytes: use.layer.evictableBytes / 2 + 1024, keepsLatest: true, now: 0)
    #expect(store.indexList.map { $0.definition.fields[0].path.canonical } == ["number"])
    try store.close()
  }

  @Test func aRefusalEndsWithTimeOrWithTheIndex() {
    let indexes = IndexSet(shapes: ShapeDictionary())
    indexes.noteRefusal(of: long, neededBytes: 100, now: 0)
    let minute: UInt64 = 60_000_000_000
    #expect(indexes.isRefused([long], now: minute - 1, availableBytes: 200), "it was refused just before")
    #expect(!indexes.isRefused([long], now: minute, availableBytes: 200))
    #expect(indexes.isRefused([long], now: minute, availableBytes: 99), "it still needs more than there is")
    #expect(indexes.refusedIndexes == [long])
    indexes.state.withLock { $0.add(ManagedIndex(id: 1, definition: long, isAutomatic: false), sparing: []) }
    #expect(indexes.refusedIndexes.isEmpty && !indexes.isRefused([long], now: 1, availableBytes: 0))
  }

  @Test func aFlushTakesTheCacheBeforeItEvictsAnIndex() throws {
    let store = try open(bytes: 40 << 20)
    try fill(store, 0..<20_000)
    try store.bytes.flush()
    _ = try store.documents(StructuredQuery.ofC.order(field("few")).limited(to: .first(1)))
    try store.forEach(.ofC) { _ in true }
    try fill(store, 0..<10)
    try store.bytes.flush()
    #expect(store.indexList.count == 1, "there is room for its copy")
    #expect(store.bytes.statistics.cache.bytesMax > 0, "the cache has its share again")
    try store.close()
  }

  // MARK: Results

  @Test func smallQueriesRunWhileAnotherOperationHoldsAllMemory() throws {
    let store = try open(bytes: 12 << 20)
    try fill(store, 0..<20_000)
    try store.bytes.flush()
    let large = MemoryReservation(store.bytes)
    var bytes = 0
    while large.set(bytes) { bytes += 64 << 10 }
    #expect(store.memoryUse.operations > 1 << 20)
    var others: [MemoryReservation] = []
    for number in 0..<40 {
      others.append(MemoryReservation(store.bytes))
      #expect(others[number].add(1000), "operation \(number)")
      #expect(try store.documents(StructuredQuery.ofC.limited(to: .first(5))).count == 5)
    }
    withExtendedLifetime((large, others)) {}
    try store.close()
  }

  @Test func aListenerKeepsItsResultWhileMemoryIsShort() throws {
    let store = try open(bytes: 12 << 20)
    try fill(store, 0..<2_000)
    let results = Locked<[Int]>([])
    let failures = Locked(0)
    let queue = DispatchQueue(label: "listener")
    let query = try StructuredQuery.ofC.limited(to: .first(700))
    let listener = try store.listen(to: query, on: queue) { result in
      switch result {
      case .success(let snapshot): results.withLock { $0.append(snapshot.documents.count) }
      case .failure: failures.withLock { $0 += 1 }
      }
    }
    let large = MemoryReservation(store.bytes)
    var bytes = 0
    while large.set(bytes) { bytes += 64 << 10 }
    // The window of the listener is refilled.
    for number in 0..<700 { try store.commit([.delete(path("c", "d\(number)"))]) }
    queue.sync {}
    #expect(failures.withLock { $0 } == 0)
    #expect(results.withLock { $0.last } == 700)
    withExtendedLifetime((listener, large)) {}
    try store.close()
  }

  @Test func aResultThatDoesNotFitIsAnErrorAndPagesWork() throws {
    let store = try open(bytes: 12 << 20)
    try fill(store, 0..<20_000)
    try store.bytes.flush()
    #expect(throws: DocumentStoreError.self) { try store.documents(.ofC) }
    let error = #expect(throws: DocumentStoreError.self) { try store.records(.ofC) }
    #expect(error.map(isExceeded) == true && error?.description.contains("Limit the query") == true)
    #expect(store.memoryUse.operations == 0, "what was refused is given back")
    #expect(try store.documents(StructuredQuery.ofC.limited(to: .first(1000))).count == 1000)
    var seen = 0
    try store.forEach(.ofC) { _ in
      seen += 1
      return true
    }
    #expect(seen == 20_000)
    try store.close()
  }

  @Test func aSortThatDoesNotFitIsAnErrorAndALimitHelps() throws {
    let store = try open(bytes: 12 << 20, createsIndexes: false)
    try fill(store, 0..<20_000)
    try store.bytes.flush()
    let query = try StructuredQuery.ofC.order(field("long"))
    #expect(throws: DocumentStoreError.self) { try store.records(query) }
    #expect(try store.documents(query.limited(to: .first(5))).count == 5)
    #expect(store.memoryUse.operations == 0)
    try store.close()
  }

  @Test func aResultTakesTheMemoryOfTheCacheAndGivesItBack() throws {
    let store = try open(bytes: 40 << 20)
    try fill(store, 0..<20_000)
    try store.bytes.flush()
    try store.forEach(.ofC) { _ in true }
    let before = store.bytes.statistics.cache
    #expect(before.bytesUsed > 512 << 10)
    #expect(throws: DocumentStoreError.self) { try store.documents(.ofC) }
    #expect(store.bytes.statistics.cache.bytesMax == before.bytesMax)
    #expect(store.bytes.statistics.cache.bytesUsed < before.bytesUsed)
    try store.close()
  }

  /// Regression: a flush gave the cache its share of the budget, which an operation had taken.
  @Test func theCacheDoesNotGrowWhileAnOperationHoldsItsMemory() throws {
    let store = try open(bytes: 40 << 20)
    try fill(store, 0..<20_000)
    try store.bytes.flush()
    func cacheBytesMax() -> Int { store.bytes.statistics.cache.bytesMax }
    let before = cacheBytesMax()
    #expect(before > 2 << 20)
    var large: MemoryReservation? = MemoryReservation(store.bytes)
    var bytes = 0
    while large?.set(bytes) == true { bytes += 64 << 10 }
    #expect(cacheBytesMax() == 0)
    store.bytes.balanceMemory()
    // Operations reserve their memory in steps, so a part of the last step is left.
    #expect(cacheBytesMax() < 512 << 10, "\(cacheBytesMax())")
    withExtendedLifetime(large) {}
    large = nil
    #expect(cacheBytesMax() == before, "the operation has ended")
    try store.close()
  }

  // MARK: Where the budget comes from

  @Test func theSettingPrecedesTheEnvironment() throws {
    let both = try DocumentStore.memoryBudget(64 << 20, environment: "128MiB", groupBytes: nil)
    #expect(both?.bytesMax == 64 << 20 && both?.origin == .settings)
    let environment = try DocumentStore.memoryBudget(nil, environment: "128MiB", groupBytes: nil)
    #expect(environment?.bytesMax == 128 << 20 && environment?.origin == .environment)
    #expect(try DocumentStore.memoryBudget(nil, environment: "", groupBytes: nil) == nil)
    #expect(try DocumentStore.memoryBudget(nil, environment: nil, groupBytes: nil) == nil)
  }

  @Test func aControlGroupLimitsTheBudget() throws {
    let half = try DocumentStore.memoryBudget(nil, environment: nil, groupBytes: 512 << 20)
    #expect(half?.bytesMax == 256 << 20 && half?.origin == .controlGroup)
    let lowered = try DocumentStore.memoryBudget(1 << 30, environment: nil, groupBytes: 512 << 20)
    #expect(lowered?.bytesMax == 384 << 20 && lowered?.origin == .controlGroup)
    let kept = try DocumentStore.memoryBudget(300 << 20, environment: nil, groupBytes: 512 << 20)
    #expect(kept?.bytesMax == 300 << 20 && kept?.origin == .settings)
    let least = try DocumentStore.memoryBudget(nil, environment: nil, groupBytes: 8 << 20)
    #expect(least?.bytesMax == MemoryBudget.bytesMin)
  }

  @Test(arguments: ["lots", "1", "15MiB", "-1", "1e9", "99999999999GiB"])
  func anEnvironmentThatIsNoBudgetIsAnError(text: String) throws {
    let error = #expect(throws: DocumentStoreError.self) {
      try DocumentStore.memoryBudget(nil, environment: text, groupBytes: nil)
    }
    #expect(error?.description.contains("DUGOUT_MEMORY_BUDGET") == true)
    #expect(error?.description.contains(text) == true)
  }

  @Test func aSettingBelowTheLeastIsAnError() throws {
    var options = DocumentStore.Options()
    options.memoryBudget = 1 << 20
    let error = #expect(throws: DocumentStoreError.self) {
      try DocumentStore.open(directory.path, options: options)
    }
    guard case .invalidArgument(let message)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(message.contains("16 MiB"))
    options.memoryBudget = MemoryBudget.bytesMin
    let store = try DocumentStore.open(directory.path, options: options)
    #expect(store.memoryBudget?.bytesMax == 16 << 20)
    try store.close()
  }
}
