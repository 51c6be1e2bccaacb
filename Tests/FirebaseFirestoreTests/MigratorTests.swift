// Migrations: each runs once per database, and goes on after an interruption.

import Authority
import ByteStore
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import Testing

@Suite struct MigratorTests {
  private struct Crash: Error {}

  /// Creates documents with the ids "00", "01" and so on.
  private func create(_ count: Int, in firestore: Firestore) async throws {
    let batch = firestore.batch()
    for n in 0..<count {
      batch.setData(
        ["n": n, "runs": 0], forDocument: firestore.document("items/" + (n < 10 ? "0\(n)" : "\(n)")))
    }
    try await batch.commit()
  }

  /// Returns how often each document was migrated.
  private func runs(in firestore: Firestore) async throws -> [Int] {
    try await firestore.collection("items").getDocuments().documents.map { $0["runs"] as? Int ?? -1 }
  }

  /// Registers a migration that counts its runs in each document. `before` receives the ids of each page.
  private func registerCounting(
    _ name: String, over query: Query, pageSize: Int, in migrator: inout Migrator,
    before: @escaping @Sendable ([String]) async throws -> Void = { _ in }
  ) {
    migrator.registerPagedMigration(name, over: query, pageSize: pageSize) { batch, documents in
      for document in documents {
        batch.updateData(["runs": FieldValue.increment(Int64(1))], forDocument: document.reference)
      }
      try await before(documents.map(\.documentID))
    }
  }

  // MARK: Other transactions

  @Test(.timeLimit(.minutes(1)), arguments: [false, true])
  func aMigrationWaitsForAnOlderTransaction(isPaged: Bool) async throws {
    let firestore = Firestore.memory()
    let document = firestore.document("items/one")
    let (older, attempt) = try await TransactionTests.olderAttempt(on: document)
    var migrator = Migrator()
    if isPaged {
      migrator.registerPagedMigration("add", over: firestore.collection("items")) { batch, documents in
        for document in documents {
          let next = (document["n"] as? Int ?? 0) + 1
          batch.updateData(["n": next], forDocument: document.reference)
        }
      }
    } else {
      migrator.registerMigration("add") { transaction in
        let next = (try transaction.getDocument(document)["n"] as? Int ?? 0) + 1
        transaction.updateData(["n": next], forDocument: document)
      }
    }
    let migration = Task { [migrator] in try await migrator.migrate(firestore) }
    try await TransactionTests.waitUntilWaiting(1, in: firestore)
    let path = try DocumentPath(["items", "one"])
    try attempt.write(.set(path, StoredMap([("n", .integer(40))])))
    try attempt.commit()
    older.end()
    try await migration.value
    #expect(try await document.getDocument()["n"] as? Int == 41)
    try await firestore.terminate()
  }

  // MARK: Once and in order

  @Test func eachMigrationRunsOnceAndInOrder() async throws {
    let database = try TestDatabase()
    let counter = "counters/1"
    func migrator(upTo count: Int, in firestore: Firestore) -> Migrator {
      var migrator = Migrator()
      for number in 1...count {
        migrator.registerMigration("step \(number)") { transaction in
          let before = try transaction.getDocument(firestore.document(counter))["text"] as? String ?? ""
          transaction.setData(["text": before + "\(number)"], forDocument: firestore.document(counter))
        }
      }
      return migrator
    }
    try await migrator(upTo: 2, in: database.firestore).migrate(database.firestore)
    try await migrator(upTo: 2, in: database.firestore).migrate(database.firestore)
    await database.restart()
    let firestore = database.firestore
    #expect(try await firestore.appliedMigrations() == ["step 1", "step 2"])
    try await migrator(upTo: 4, in: firestore).migrate(firestore)
    #expect(try await firestore.document(counter).getDocument()["text"] as? String == "1234")
    #expect(try await firestore.appliedMigrations() == ["step 1", "step 2", "step 3", "step 4"])
    await database.close()
  }

  @Test func theRecordIsNoDocumentOfTheApp() async throws {
    let database = try TestDatabase()
    let firestore = try Firestore.open(at: database.folder.appendingPathComponent("original"))
    try await create(2, in: firestore)
    var migrator = Migrator()
    registerCounting("count", over: firestore.collection("items"), pageSize: 1, in: &migrator)
    try await migrator.migrate(firestore)
    #expect(try await firestore.statistics().documentCount == 2)
    let store = try #require(firestore.client().store.openView).store
    #expect(try store.collections(below: nil).map(\.path.id) == ["items"])
    #expect(try store.userPaths().map(\.id).sorted() == ["00", "01"])
    // A backup is a copy of the database and must not be migrated again.
    let folder = database.folder.appendingPathComponent("copy")
    try await firestore.backup(to: folder)
    let copy = try Firestore.open(at: folder)
    #expect(try await copy.appliedMigrations() == ["count"])
    try await copy.terminate()
    try await firestore.terminate()
    await database.close()
  }

  @Test func concurrentCallsRunOneAfterTheOther() async throws {
    let firestore = Firestore.memory()
    try await create(9, in: firestore)
    let (running, overlaps) = (Locked(0), Locked(0))
    var migrator = Migrator()
    registerCounting("count", over: firestore.collection("items"), pageSize: 2, in: &migrator) { _ in
      let others = running.withLock { count in
        defer { count += 1 }
        return count
      }
      overlaps.withLock { $0 += others }
      // Suspends the task, so that another call could run here.
      _ = try await firestore.collection("items").getDocuments()
      running.withLock { $0 -= 1 }
    }
    let shared = migrator
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 { group.addTask { try await shared.migrate(firestore) } }
      try await group.waitForAll()
    }
    #expect(try await runs(in: firestore) == Array(repeating: 1, count: 9))
    #expect(overlaps.withLock { $0 } == 0)
    try await firestore.terminate()
  }

  @Test func aMigrationCannotMigrateItsOwnDatabase() async throws {
    let firestore = Firestore.memory()
    try await create(1, in: firestore)
    var migrator = Migrator()
    registerCounting("count", over: firestore.collection("items"), pageSize: 2, in: &migrator) { _ in
      try await Migrator().migrate(firestore)
    }
    do {
      try await migrator.migrate(firestore)
      Issue.record("the inner call ran")
    } catch FirestoreErrorCode.failedPrecondition {}
    #expect(try await runs(in: firestore) == [0])
    try await firestore.terminate()
  }

  // MARK: Interruptions

  @Test func aFailedTransactionLeavesNothing() async throws {
    let firestore = Firestore.memory()
    let fails = Locked(true)
    var migrator = Migrator()
    migrator.registerMigration("first") { $0.setData(["n": 1], forDocument: firestore.document("a/first")) }
    migrator.registerMigration("second") { transaction in
      transaction.setData(["n": 2], forDocument: firestore.document("a/second"))
      if fails.withLock({ $0 }) { throw Crash() }
    }
    await #expect(throws: Crash.self) { try await migrator.migrate(firestore) }
    #expect(try await firestore.appliedMigrations() == ["first"])
    #expect(try await firestore.collection("a").getDocuments().documents.map(\.documentID) == ["first"])
    fails.withLock { $0 = false }
    try await migrator.migrate(firestore)
    #expect(try await firestore.appliedMigrations() == ["first", "second"])
    #expect(try await firestore.document("a/second").getDocument().exists)
    try await firestore.terminate()
  }

  @Test func anInterruptedPagedMigrationResumesAfterItsLastPage() async throws {
    let database = try TestDatabase()
    try await create(8, in: database.firestore)
    var migrator = Migrator()
    let items = database.firestore.collection("items")
    registerCounting("count", over: items, pageSize: 3, in: &migrator) { ids in
      if ids.contains("06") { throw Crash() }
    }
    await #expect(throws: Crash.self) { try await migrator.migrate(database.firestore) }
    #expect(try await runs(in: database.firestore) == [1, 1, 1, 1, 1, 1, 0, 0])
    #expect(try await database.firestore.appliedMigrations() == [])
    await database.restart()
    let firestore = database.firestore
    let pages = Locked<[[String]]>([])
    migrator = Migrator()
    // The size of the pages may change.
    registerCounting("count", over: firestore.collection("items"), pageSize: 1, in: &migrator) { ids in
      pages.withLock { $0.append(ids) }
    }
    try await migrator.migrate(firestore)
    #expect(pages.withLock { $0 } == [["06"], ["07"]])
    #expect(try await runs(in: firestore) == Array(repeating: 1, count: 8))
    #expect(try await firestore.appliedMigrations() == ["count"])
    await database.close()
  }

  @Test func cancellationEndsAfterTheCommittedPage() async throws {
    let firestore = Firestore.memory()
    try await create(5, in: firestore)
    let cancels = Locked(true)
    var migrator = Migrator()
    registerCounting("count", over: firestore.collection("items"), pageSize: 2, in: &migrator) { _ in
      if cancels.withLock({ $0 }) { withUnsafeCurrentTask { $0?.cancel() } }
    }
    let shared = migrator
    let task = Task { try await shared.migrate(firestore) }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await runs(in: firestore) == [1, 1, 0, 0, 0])
    cancels.withLock { $0 = false }
    try await migrator.migrate(firestore)
    #expect(try await runs(in: firestore) == [1, 1, 1, 1, 1])
    try await firestore.terminate()
  }

  @Test func terminationFailsTheMigration() async throws {
    let database = try TestDatabase()
    let folder = database.folder.appendingPathComponent("open")
    let firestore = try Firestore.open(at: folder)
    try await create(4, in: firestore)
    var migrator = Migrator()
    registerCounting("count", over: firestore.collection("items"), pageSize: 2, in: &migrator) { ids in
      if ids.contains("02") { try await firestore.terminate() }
    }
    do {
      try await migrator.migrate(firestore)
      Issue.record("the migration ended")
    } catch FirestoreErrorCode.failedPrecondition {}
    do {
      try await migrator.migrate(firestore)
      Issue.record("a terminated database was migrated")
    } catch FirestoreErrorCode.failedPrecondition {}
    let again = try Firestore.open(at: folder)
    #expect(try await runs(in: again) == [1, 1, 0, 0])
    migrator = Migrator()
    registerCounting("count", over: again.collection("items"), pageSize: 2, in: &migrator)
    try await migrator.migrate(again)
    #expect(try await runs(in: again) == [1, 1, 1, 1])
    try await again.terminate()
    await database.close()
  }

  @Test func aPageThatAnotherCommitChangesIsMigratedAgain() async throws {
    let firestore = Firestore.memory()
    try await create(3, in: firestore)
    let attempts = Locked(0)
    var migrator = Migrator()
    migrator.registerPagedMigration("double", over: firestore.collection("items"), pageSize: 2) {
      batch, documents in
      for document in documents {
        batch.updateData(["n": 2 * (document["n"] as? Int ?? 0)], forDocument: document.reference)
      }
      let attempt = attempts.withLock { count in
        count += 1
        return count
      }
      if attempt == 1 { try await firestore.document("items/01").updateData(["n": 50]) }
    }
    try await migrator.migrate(firestore)
    let items = try await firestore.collection("items").getDocuments().documents
    #expect(items.map { $0["n"] as? Int } == [0, 100, 4])
    #expect(attempts.withLock { $0 } == 3)
    try await firestore.terminate()
  }

  // MARK: Queries

  @Test func filtersOrdersAndLimitsOfTheQueryApply() async throws {
    let firestore = Firestore.memory()
    try await create(9, in: firestore)
    let items = firestore.collection("items")
    var migrator = Migrator()
    // The migration changes the field of the filter.
    registerCounting("filter", over: items.whereField("runs", isEqualTo: 0), pageSize: 2, in: &migrator)
    registerCounting(
      "limit", over: items.order(by: "n", descending: true).limit(to: 5), pageSize: 2, in: &migrator)
    try await migrator.migrate(firestore)
    #expect(try await runs(in: firestore) == [1, 1, 1, 1, 2, 2, 2, 2, 2])
    try await firestore.terminate()
  }

  @Test func progressCountsPagesAndDocuments() async throws {
    let firestore = Firestore.memory()
    try await create(5, in: firestore)
    var migrator = Migrator()
    migrator.registerMigration("first") { $0.setData([:], forDocument: firestore.document("a/b")) }
    registerCounting("count", over: firestore.collection("items"), pageSize: 2, in: &migrator)
    registerCounting("none", over: firestore.collection("empty"), pageSize: 2, in: &migrator)
    var lines: [String] = []
    try await migrator.migrate(firestore) { state in
      let total = state.totalDocumentCount.map { "\($0)" } ?? "-"
      lines.append(
        "\(state.number)/\(state.migrationCount) \(state.migration): \(state.pageCount) pages, "
          + "\(state.documentCount)/\(total)\(state.isCompleted ? ", completed" : "")")
    }
    #expect(
      lines == [
        "1/3 first: 0 pages, 0/-, completed", "2/3 count: 1 pages, 2/5", "2/3 count: 2 pages, 4/5",
        "2/3 count: 3 pages, 5/5, completed", "3/3 none: 0 pages, 0/0, completed",
      ])
    try await migrator.migrate(firestore) { lines.append($0.migration) }
    #expect(lines.count == 5)
    try await firestore.terminate()
  }

  // MARK: Errors

  private func error(of migrator: Migrator, in firestore: Firestore) async throws -> MigrationError? {
    do {
      try await migrator.migrate(firestore)
      return nil
    } catch let error as MigrationError {
      return error
    }
  }

  private func migrator(_ names: String...) -> Migrator {
    var migrator = Migrator()
    for name in names { migrator.registerMigration(name) { _ in } }
    return migrator
  }

  @Test func appliedMigrationsMustBeTheFirstRegisteredOnes() async throws {
    let firestore = Firestore.memory()
    try await migrator("a", "b", "c").migrate(firestore)
    #expect(
      try await error(of: migrator("a", "x"), in: firestore) == .unknownMigrations(["b", "c"]))
    #expect(
      try await error(of: migrator("a", "x", "b", "c"), in: firestore)
        == .changedOrder(applied: ["a", "b", "c"], registered: ["a", "x", "b", "c"]))
    #expect(
      try await error(of: migrator("b", "a", "c"), in: firestore)
        == .changedOrder(applied: ["a", "b", "c"], registered: ["b", "a", "c"]))
    #expect(try await firestore.appliedMigrations() == ["a", "b", "c"])
    try await migrator("a", "b", "c", "d").migrate(firestore)
    #expect(try await firestore.appliedMigrations() == ["a", "b", "c", "d"])
    #expect(MigrationError.unknownMigrations(["b"]).localizedDescription.contains("\"b\""))
    try await firestore.terminate()
  }

  @Test func anInterruptedMigrationMustKeepItsNameAndOrder() async throws {
    let firestore = Firestore.memory()
    try await create(4, in: firestore)
    let items = firestore.collection("items")
    var interrupted = Migrator()
    registerCounting("count", over: items, pageSize: 2, in: &interrupted) { ids in
      if ids.contains("02") { throw Crash() }
    }
    await #expect(throws: Crash.self) { try await interrupted.migrate(firestore) }
    #expect(try await error(of: migrator("other"), in: firestore) == .unknownMigrations(["count"]))
    #expect(try await error(of: migrator("count"), in: firestore) == .changedQuery("count"))
    var ordered = Migrator()
    registerCounting("count", over: items.order(by: "n"), pageSize: 2, in: &ordered)
    #expect(try await error(of: ordered, in: firestore) == .changedQuery("count"))
    #expect(try await runs(in: firestore) == [1, 1, 0, 0])
    // Another filter is fine, because the order is the same.
    var filtered = Migrator()
    registerCounting("count", over: items.whereField("n", isEqualTo: 3), pageSize: 2, in: &filtered)
    #expect(try await error(of: filtered, in: firestore) == nil)
    #expect(try await runs(in: firestore) == [1, 1, 0, 1])
    try await firestore.terminate()
  }

  @Test func aDatabaseWithARemoteIsNotMigrated() async throws {
    let authority = try DocumentStore.openInMemory()
    let firestore = Firestore.memory()
    let settings = FirestoreSettings()
    settings.remote = try LoopbackRemote(authority: authority)
    firestore.settings = settings
    #expect(try await error(of: migrator("a"), in: firestore) == .remoteDatabase)
    await #expect(throws: MigrationError.remoteDatabase) { _ = try await firestore.appliedMigrations() }
    try await firestore.terminate()
  }
}
