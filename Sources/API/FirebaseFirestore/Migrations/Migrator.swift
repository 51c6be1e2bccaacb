// The migrations of an app: named changes of its data, each of which runs once per database.

private import DocumentStore
private import FirebaseCore

/// The migrations of an app, in the order in which they run. Each migration runs once per database.
///
/// ```swift
/// func openShop(at directory: URL) async throws -> Firestore {
///   let firestore = try Firestore.open(at: directory)
///   var migrator = Migrator()
///   migrator.registerMigration("currency") { transaction in
///     let shop = firestore.document("settings/shop")
///     transaction.setData(["currency": "CHF"], forDocument: shop, merge: true)
///   }
///   let customers = firestore.collection("customers")
///   migrator.registerPagedMigration("full names", over: customers) { batch, page in
///     for customer in page {
///       let name = "\(customer["first"] ?? "") \(customer["last"] ?? "")"
///       batch.updateData(["name": name], forDocument: customer.reference)
///     }
///   }
///   try await migrator.migrate(firestore)
///   return firestore
/// }
/// ```
///
/// The database itself records which migrations were applied, and how far an interrupted paged migration has
/// come. The record changes in the commits of the migrations' own writes, so after a crash the next call of
/// `migrate` continues exactly after the last commit. The record is no document of the app. No query,
/// listener or count includes it. A backup contains it, and an export does not.
///
/// Never rename, reorder or change a migration that a released version of the app has applied. Append new
/// ones. All migrations of a database must be registered with one migrator.
public struct Migrator: Sendable {
  struct Step: Sendable {
    enum Work: Sendable {
      case transaction(@Sendable (Transaction) throws -> Void)
      case pages(Pages)
    }

    struct Pages: Sendable {
      var query: Query
      var size: Int
      var migrate: @Sendable (WriteBatch, [QueryDocumentSnapshot]) async throws -> Void
    }

    var name: String
    var work: Work
  }

  private(set) var steps: [Step] = []

  /// Creates a migrator without migrations.
  public init() {}

  /// Adds a migration that runs in one transaction, for changes that fit in one commit.
  ///
  /// `migrate` runs on an internal queue. It must read all documents before its first write, and must not
  /// write outside the transaction. If another commit changes a document that it has read, nothing is written
  /// and it runs again, up to five times. Before it runs again, it waits for its turn as in `runTransaction`.
  /// If it throws, nothing is written. Traps if `name` is empty or registered.
  public mutating func registerMigration(
    _ name: String, migrate: @escaping @Sendable (Transaction) throws -> Void
  ) {
    add(Step(name: name, work: .transaction(migrate)))
  }

  /// Adds a migration that runs through the documents of `query` one page at a time, for any number of
  /// documents.
  ///
  /// `migrate` receives up to `pageSize` documents and a batch, and adds its writes to the batch. It must not
  /// commit the batch, and must not write in any other way. The batch, and the position after the page, are
  /// one commit. If `migrate` throws, or if the process ends, nothing of the page is written, and the next
  /// call of `Migrator.migrate(_:progress:)` continues with this page. If another commit changes a document
  /// of the page, or adds one, the page is read and migrated again, up to five times.
  ///
  /// The pages continue after the last document of the page before. Do not order `query` by a field that the
  /// migration changes, because a document could then move to a later page and be migrated again. Without an
  /// order and without inequalities, documents are ordered by their names, which never change. A filter on a
  /// field that the migration changes is fine.
  ///
  /// A snapshot of the database is pinned while `migrate` runs, so it should not wait for long. The writes of
  /// a page must fit in one commit, which has up to 10 MiB. Traps if `name` is empty or registered, if
  /// `pageSize` is less than 1, and for a query with `limit(toLast:)`.
  public mutating func registerPagedMigration(
    _ name: String, over query: Query, pageSize: Int = 500,
    migrate: @escaping @Sendable (WriteBatch, [QueryDocumentSnapshot]) async throws -> Void
  ) {
    guard pageSize > 0 else { ProgrammerError.trap("Invalid page size: \(pageSize)") }
    if case .last = query.structured.limit {
      ProgrammerError.trap("A paged migration cannot use limit(toLast:).")
    }
    add(Step(name: name, work: .pages(Step.Pages(query: query, size: pageSize, migrate: migrate))))
  }

  private mutating func add(_ step: Step) {
    guard !step.name.isEmpty else { ProgrammerError.trap("The name of a migration must not be empty.") }
    guard !steps.contains(where: { $0.name == step.name }) else {
      ProgrammerError.trap("The migration \"\(step.name)\" is registered twice.")
    }
    steps.append(step)
  }

  /// Runs the registered migrations that the database does not have yet, in the order of their registration.
  /// Returns when all of them are committed.
  ///
  /// `progress` is called after each page, and after each migration. If no migration is missing, it is not
  /// called.
  ///
  /// Throws `MigrationError` before it changes anything if the database has migrations that are not
  /// registered, if their order has changed, or if the database has a remote. Throws an error of a migration
  /// unchanged. Throws `failedPrecondition` if the database is terminated, and `CancellationError` between
  /// two pages if the task is cancelled. After an error, all complete migrations and pages stay applied, and
  /// the next call continues after them.
  ///
  /// Concurrent calls for one database run one after the other. A migration must not call `migrate` for its
  /// own database; that throws `failedPrecondition`. Traps if a paged migration has a query of another
  /// database.
  nonisolated(nonsending)
    public func migrate(
      _ firestore: Firestore, progress: ((MigrationProgress) -> Void)? = nil
    ) async throws
  {
    try await MigrationRun(steps, firestore).run(progress)
  }
}

extension Firestore {
  /// Returns the names of the migrations that were applied to this database, in the order of their
  /// completion. Throws `MigrationError.remoteDatabase` if the database has a remote.
  nonisolated(nonsending) public func appliedMigrations() async throws -> [String] {
    try await MigrationRun([], self).record().applied
  }
}
