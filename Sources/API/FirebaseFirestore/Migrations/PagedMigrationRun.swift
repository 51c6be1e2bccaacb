// Runs the pages of one migration.
//
// The code of the migration may suspend, so the transaction of a page stays open while that code runs. At the
// commit, the transaction validates what it has read: the record, and the page as the result of a query. If
// another commit has changed either of them, the page is read and migrated again.

import DocumentStore
import FirebaseCore
import OfflineSync

struct PagedMigrationRun: Sendable {
  private let run: MigrationRun
  /// The index of the migration among the steps of the run.
  private let index: Int
  private let pages: Migrator.Step.Pages
  private let query: StructuredQuery
  private let order: String

  init(_ run: MigrationRun, _ index: Int, pages: Migrator.Step.Pages) throws {
    self.run = run
    self.index = index
    self.pages = pages
    query = try pages.query.runnable
    do throws(DocumentStoreError) {
      order = try query.orderID
    } catch {
      throw FirestoreErrors.translate(error)
    }
  }

  private var name: String { run.steps[index].name }

  /// Commits the remaining pages.
  nonisolated(nonsending) func run(
    on store: DocumentStore, _ progress: ((MigrationProgress) -> Void)?
  ) async throws {
    let total = progress == nil ? nil : try await documentCount()
    while true {
      try Task.checkCancellation()
      let page = try await commitPage(on: store)
      progress?(
        MigrationProgress(
          migration: name, number: index + 1, migrationCount: run.steps.count, pageCount: page.paged.pages,
          documentCount: page.paged.documents,
          totalDocumentCount: total.map { max($0, page.paged.documents) },
          isCompleted: page.isLast))
      if page.isLast { return }
    }
  }

  /// Returns the number of documents in the committed pages and in the rest of the query's result.
  nonisolated(nonsending) private func documentCount() async throws -> Int {
    try await run.blocking { view in
      let paged = try paged(try MigrationRecord(try view.store.document(at: MigrationRecord.path)))
      let cursor = cursor(paged)
      return paged.documents + (cursor.isAtEnd ? 0 : try view.store.count(try cursor.unread))
    }
  }

  /// Returns the state of this migration. Throws if it was interrupted and cannot continue.
  private func paged(_ record: MigrationRecord) throws(MigrationError) -> MigrationRecord.Paged {
    let paged = record.paged ?? MigrationRecord.Paged(name: name, order: order)
    guard paged.order == order else { throw .changedQuery(name) }
    return paged
  }

  private func cursor(_ paged: MigrationRecord.Paged) -> PageCursor {
    var cursor = PageCursor(query, pageSize: pages.size)
    if !paged.after.isEmpty { cursor.resume(after: paged.after, count: paged.documents) }
    return cursor
  }

  // MARK: One page

  /// A page that was read and is not committed.
  private struct OpenPage: Sendable {
    var transaction: StoreTransaction
    var documents: [StoredDocument]
    /// The state of the migration after the page.
    var paged: MigrationRecord.Paged
    /// The record after the page.
    var record: MigrationRecord
    var isLast: Bool
  }

  nonisolated(nonsending) private func commitPage(on store: DocumentStore) async throws -> OpenPage {
    let attempts = try await run.blocking { view in try run.beginTransactions(view) }
    defer { attempts.end() }
    var attempt = 0
    while true {
      attempt += 1
      guard let page = try await openPage(attempts, attempt: attempt) else { continue }
      defer { page.transaction.end() }
      let batch = WriteBatch(run.firestore)
      do {
        if !page.documents.isEmpty {
          let stores = MigrationRun.migratedStores.union([ObjectIdentifier(store)])
          try await MigrationRun.$migratedStores.withValue(stores) {
            try await pages.migrate(batch, snapshots(page.documents))
          }
        }
        let isCommitted = try await commit(page, try batch.takeWrites(), in: attempts, attempt: attempt)
        batch.companion?.batchEnded(isCommitted ? nil : Self.conflict, on: nil) {}
        if isCommitted { return page }
      } catch {
        batch.companion?.batchEnded(error, on: nil) {}
        throw error
      }
    }
  }

  private static var conflict: any Error {
    FirestoreErrors.make(.aborted, "Another commit changed the page of a migration, which is repeated.")
  }

  /// Opens the next page. Returns nil after a conflict if another attempt is allowed.
  nonisolated(nonsending) private func openPage(
    _ attempts: any TransactionAttempts, attempt: Int
  ) async throws -> OpenPage? {
    try await run.blocking { _ in
      do {
        return try openPage(attempts)
      } catch let error as DocumentStoreError {
        try MigrationRun.wait(after: error, attempts, attempt: attempt)
        return nil
      }
    }
  }

  private func openPage(_ attempts: any TransactionAttempts) throws -> OpenPage {
    guard let transaction = try attempts.begin() as? StoreTransaction else {
      throw MigrationError.remoteDatabase
    }
    var record = try MigrationRecord(try transaction.document(at: MigrationRecord.path))
    var paged = try paged(record)
    var cursor = cursor(paged)
    var documents: [StoredDocument] = []
    if !cursor.isAtEnd {
      documents = try transaction.documents(try cursor.page)
      try cursor.advance(count: documents.count, last: documents.last)
    }
    if !documents.isEmpty {
      paged.pages += 1
      paged.documents += documents.count
      paged.after = cursor.position ?? []
    }
    record.paged = cursor.isAtEnd ? nil : paged
    if cursor.isAtEnd { record.applied.append(name) }
    return OpenPage(
      transaction: transaction, documents: documents, paged: paged, record: record, isLast: cursor.isAtEnd)
  }

  private func snapshots(_ documents: [StoredDocument]) -> [QueryDocumentSnapshot] {
    documents.map {
      QueryDocumentSnapshot(
        DocumentReference(run.firestore, $0.path.segments), $0, hasPendingWrites: false, isFromCache: false)
    }
  }

  /// Commits the page with its writes. Returns false after a conflict if another attempt is allowed.
  nonisolated(nonsending) private func commit(
    _ page: OpenPage, _ writes: [PendingMutation], in attempts: any TransactionAttempts, attempt: Int
  ) async throws -> Bool {
    try await run.blocking { _ in
      do throws(DocumentStoreError) {
        for write in writes { try page.transaction.write(write.mutation) }
        try page.transaction.write(page.record.mutation)
        try page.transaction.commit()
        return true
      } catch {
        page.transaction.end()
        try MigrationRun.wait(after: error, attempts, attempt: attempt)
        return false
      }
    }
  }
}
