// The memory budget of a database through the API: what the health shows, and what is refused.

import DocumentStore
import Foundation
import Testing

@testable import FirebaseFirestore

@Suite(.timeLimit(.minutes(2))) struct MemoryBudgetTests {
  /// The smallest budget. The store accounts for 11.5 MiB of it.
  private static let least = 16 << 20

  private static func settings(_ budget: Int) -> FirestoreSettings {
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.memoryBudget = budget
    return settings
  }

  private func database(budget: Int) throws -> TestDatabase {
    let database = try TestDatabase()
    database.firestore.settings = Self.settings(budget)
    return database
  }

  /// Creates documents in commits of `perCommit` documents each.
  private func fill(
    _ collection: CollectionReference, _ count: Int, perCommit: Int, _ fields: (Int) -> [String: Any]
  ) async throws {
    for start in stride(from: 0, to: count, by: perCommit) {
      let batch = collection.firestore.batch()
      for n in start..<min(start + perCommit, count) {
        batch.setData(fields(n), forDocument: collection.document("\(n)"))
      }
      try await batch.commit()
    }
  }

  private func failure(_ body: () async throws -> Void) async -> NSError? {
    do { try await body() } catch { return error as NSError }
    return nil
  }

  private func isExhausted(_ error: NSError?) -> Bool {
    error?.code == FirestoreErrorCode.Code.resourceExhausted.rawValue
  }

  private func memory(_ firestore: Firestore) throws -> FirestoreMemory {
    try #require(firestore.health().memory)
  }

  // MARK: Health

  @Test func theHealthShowsTheMemoryByWhatItHolds() async throws {
    let database = try database(budget: 64 << 20)
    let firestore = database.firestore
    #expect(firestore.health().memory == nil, "the database is not open")
    try await fill(firestore.collection("c"), 100, perCommit: 100) { ["n": $0] }
    let store = try #require(firestore.client().store.openView).store
    try store.bytes.flush()
    let query = firestore.collection("c").order(by: "n", descending: true).limit(to: 3)
    #expect(try await query.getDocuments().documents.map(\.documentID) == ["99", "98", "97"])
    try await firestore.document("c/100").setData(["n": 100])
    let memory = try memory(firestore)
    #expect(memory.budget == FirestoreMemory.Budget(byteCount: 64 << 20, origin: .settings))
    let parts = [
      memory.keyDirectoryByteCount, memory.indexByteCount, memory.automaticIndexByteCount,
      memory.memtableByteCount, memory.cacheByteCount,
    ]
    #expect(parts.allSatisfy { $0 > 0 } && memory.operationByteCount == 0, "\(memory)")
    #expect(memory.byteCount == parts.reduce(0, +) && memory.byteCount < 64 << 20)
    #expect(memory.fixedByteCount == memory.keyDirectoryByteCount + memory.indexByteCount)
    #expect(memory.refusalCount == 0 && memory.refusedIndexes == [])
    // The first call loads what it counts.
    _ = try await firestore.statistics()
    #expect(try await firestore.statistics().memory == self.memory(firestore))
    try await firestore.terminate()
    #expect(firestore.health().memory == nil, "the database is closed")
    await database.close()
  }

  @Test func theMemoryIsCodable() async throws {
    let database = try database(budget: 64 << 20)
    try await database.firestore.document("c/d").setData(["n": 1])
    let memory = try memory(database.firestore)
    let data = try JSONEncoder().encode(memory)
    #expect(try JSONDecoder().decode(FirestoreMemory.self, from: data) == memory)
    #expect(String(decoding: data, as: UTF8.self).contains(#""origin":"settings""#))
    await database.close()
  }

  @Test func theBudgetOfTheFirstInstanceApplies() async throws {
    let database = try TestDatabase()
    let folder = database.folder.appendingPathComponent("shared")
    let first = try Firestore.open(at: folder, settings: Self.settings(64 << 20))
    let second = try Firestore.open(at: folder, settings: Self.settings(32 << 20))
    #expect(try memory(second).budget?.byteCount == 64 << 20)
    try await first.terminate()
    try await second.terminate()
    await database.close()
  }

  // MARK: Refusals

  /// The documents have 16 MB together.
  @Test func aResultThatDoesNotFitIsRefusedAndPagesWork() async throws {
    let database = try database(budget: Self.least)
    let firestore = database.firestore
    let items = firestore.collection("items")
    let text = String(repeating: "t", count: 200_000)
    try await fill(items, 80, perCommit: 8) { ["n": $0, "text": text] }
    let error = await failure { _ = try await items.getDocuments() }
    #expect(isExhausted(error), "\(String(describing: error))")
    let message = try #require(error?.localizedDescription)
    #expect(message.contains("items does not fit into memory: the memory budget of 16 MiB has"), "\(message)")
    #expect(message.contains("Limit the query"), "\(message)")
    #expect(try memory(firestore).refusalCount == 1)
    #expect(try await items.limit(to: 10).getDocuments().count == 10)
    var numbers: Set<Int> = []
    for try await item in firestore.documents(in: items, pageSize: 10) {
      numbers.insert(try #require(item["n"] as? Int))
    }
    #expect(numbers.count == 80)
    #expect(try await items.count.getAggregation(source: .server).count == 80)
    let listening = await failure { for try await _ in items.snapshots { break } }
    #expect(isExhausted(listening), "\(String(describing: listening))")
    let memory = try memory(firestore)
    #expect(memory.operationByteCount == 0 && memory.refusalCount > 1, "\(memory)")
    await database.close()
  }

  /// The keys of the index have 14 MB together.
  @Test func anIndexThatDoesNotFitIsRefusedAndItsQueriesScan() async throws {
    let database = try database(budget: Self.least)
    let firestore = database.firestore
    let items = firestore.collection("items")
    let padding = String(repeating: "p", count: 690)
    // A build checks its memory after every 1024 documents.
    try await fill(items, 1030, perCommit: 103) { n in ["tags": (0..<20).map { "\($0)-\(n)" + padding }] }
    let error = await failure {
      try await firestore.createIndex(FirestoreIndex("items", [.elements("tags")]))
    }
    #expect(isExhausted(error), "\(String(describing: error))")
    let message = try #require(error?.localizedDescription)
    #expect(message.hasPrefix("The index items(tags[]) needs about "), "\(message)")
    #expect(message.contains("the memory budget of 16 MiB has"), "\(message)")
    #expect(try await firestore.indexes() == [])
    #expect(try memory(firestore).refusedIndexes == ["items(tags[])"])
    let query = items.whereField("tags", arrayContains: "7-1025" + padding)
    #expect(try await query.getDocuments().documents.map(\.documentID) == ["1025"])
    #expect(try await firestore.indexes() == [], "the query scans")
    #expect(try memory(firestore).operationByteCount == 0)
    await database.close()
  }

  // MARK: Invalid budgets

  @Test func aBudgetBelowTheLeastFailsTheFirstCall() async throws {
    let database = try database(budget: Self.least - 1)
    let firestore = database.firestore
    let error = await failure { try await firestore.document("a/b").setData(["n": 1]) }
    #expect(error?.code == FirestoreErrorCode.Code.invalidArgument.rawValue)
    let message = try #require(error?.localizedDescription)
    #expect(
      message
        == "The memory budget is 16777215 bytes. A database needs at least 16 MiB (16777216 bytes).")
    let health = firestore.health()
    #expect(health.writing == .openFailed && health.reason == message && health.memory == nil)
    #expect(!FileManager.default.fileExists(atPath: firestore.storeDirectory))
    await database.close()
  }

  @Test func aBudgetBelowTheLeastFailsTheOpen() async throws {
    let database = try TestDatabase()
    let folder = database.folder.appendingPathComponent("small")
    for budget in [0, -1, Self.least - 1] {
      let error = await failure { _ = try Firestore.open(at: folder, settings: Self.settings(budget)) }
      #expect(error?.code == FirestoreErrorCode.Code.invalidArgument.rawValue, "\(budget)")
    }
    let firestore = try Firestore.open(at: folder, settings: Self.settings(Self.least))
    #expect(try memory(firestore).budget?.byteCount == Self.least)
    try await firestore.terminate()
    await database.close()
  }
}
