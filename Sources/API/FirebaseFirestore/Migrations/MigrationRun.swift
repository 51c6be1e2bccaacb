// Runs the missing migrations of one database.
//
// 1. Wait for the turn on this store.
// 2. Read the record, and compare it with the registered migrations.
// 3. For each missing migration: run its transaction, or one page after the other (PagedMigrationRun).
//    Each of them is a transaction of the store that reads the record first and writes it last.

import DocumentStore
import FirebaseCore
import OfflineSync

struct MigrationRun: Sendable {
  static let attemptsMax = DocumentStore.transactionAttempts

  /// The stores that the calling task is migrating.
  @TaskLocal static var migratedStores: Set<ObjectIdentifier> = []

  let steps: [Migrator.Step]
  let firestore: Firestore
  private let client: any FirestoreClient

  init(_ steps: [Migrator.Step], _ firestore: Firestore) throws {
    self.steps = steps
    self.firestore = firestore
    for case .pages(let pages) in steps.map(\.work) where pages.query.firestore !== firestore {
      ProgrammerError.trap("Provided query is from a different Cloud Firestore instance.")
    }
    client = try firestore.livingClient()
    guard !client.hasRemote else { throw MigrationError.remoteDatabase }
  }

  nonisolated(nonsending) func run(_ progress: ((MigrationProgress) -> Void)?) async throws {
    let store = try await client.store.opened().store
    guard !Self.migratedStores.contains(ObjectIdentifier(store)) else {
      throw FirestoreErrors.make(.failedPrecondition, "A migration cannot call migrate for its own database.")
    }
    let turns = store.attachments.attachment(MigrationTurns.self)
    await turns.enter()
    defer { turns.leave() }
    let record = try await record()
    try check(record)
    for index in steps.indices.dropFirst(record.applied.count) {
      try Task.checkCancellation()
      switch steps[index].work {
      case .transaction(let migrate):
        try await commitTransaction(index, migrate)
        progress?(
          MigrationProgress(
            migration: steps[index].name, number: index + 1, migrationCount: steps.count, pageCount: 0,
            documentCount: 0, totalDocumentCount: nil, isCompleted: true))
      case .pages(let pages):
        try await PagedMigrationRun(self, index, pages: pages).run(on: store, progress)
      }
    }
  }

  /// Reads the record of the applied migrations.
  nonisolated(nonsending) func record() async throws -> MigrationRecord {
    try await blocking { view in try MigrationRecord(try view.store.document(at: MigrationRecord.path)) }
  }

  private func check(_ record: MigrationRecord) throws(MigrationError) {
    let names = steps.map(\.name)
    let begun = record.applied + (record.paged.map { [$0.name] } ?? [])
    let unknown = begun.filter { !names.contains($0) }
    guard unknown.isEmpty else { throw .unknownMigrations(unknown) }
    guard names.starts(with: begun) else { throw .changedOrder(applied: begun, registered: names) }
  }

  /// Runs `body` on a thread that may block, after all writes issued before.
  nonisolated(nonsending) func blocking<Value: Sendable>(
    _ body: @escaping @Sendable (LocalView) throws -> Value
  ) async throws -> Value {
    try firestore.checkLiving()
    return try await awaitResult { (done: @escaping Answer<Value>) in
      client.store.work(after: client.lastIssuedWrite, body, done: done)
    }
  }

  // MARK: One transaction

  nonisolated(nonsending) private func commitTransaction(
    _ index: Int, _ migrate: @escaping @Sendable (Transaction) throws -> Void
  ) async throws {
    try await blocking { view in
      let attempts = try beginTransactions(view)
      defer { attempts.end() }
      var attempt = 1
      while true {
        do {
          return try commitTransaction(index, migrate, begin: attempts.begin)
        } catch let error as DocumentStoreError {
          try Self.wait(after: error, attempts, attempt: attempt)
          attempt += 1
        }
      }
    }
  }

  private func commitTransaction(
    _ index: Int, _ migrate: (Transaction) throws -> Void, begin: () throws -> any TransactionBase
  ) throws {
    let name = steps[index].name
    let attempt = try begin()
    let transaction = Transaction(firestore, attempt)
    defer { transaction.end() }
    var record = try MigrationRecord(try attempt.document(at: MigrationRecord.path))
    guard record.paged == nil else { throw MigrationError.changedQuery(name) }
    do {
      try migrate(transaction)
      transaction.finishBlock()
      record.applied.append(name)
      try attempt.write(record.mutation)
      try transaction.commit()
    } catch {
      throw attempt.failure ?? error
    }
  }

  /// Begins a transaction that waits for its turn after a lost race, like those of `runTransaction`.
  func beginTransactions(_ view: LocalView) throws -> any TransactionAttempts {
    try client.beginTransactions(view)
  }

  /// Waits for the next attempt after a conflict. Throws `error` if there is no other attempt. Blocks.
  static func wait(
    after error: DocumentStoreError, _ attempts: any TransactionAttempts, attempt: Int
  ) throws {
    guard error.isRetryable, attempt < attemptsMax, try attempts.wait(beforeAttempt: attempt + 1)
    else { throw error }
  }
}
