// The errors of migrations.

public import Foundation

/// A reason why `Migrator.migrate` runs no migration. The error of a migration's own block is thrown
/// unchanged.
public enum MigrationError: Error, Hashable, Sendable {
  /// Migrations with these names were applied to the database, but are not registered. A newer version of the
  /// app has migrated the database, or a migration was renamed.
  case unknownMigrations([String])
  /// The migrations that were applied are not the first ones that are registered, in this order. A migration
  /// was inserted before an applied one, or the order was changed.
  case changedOrder(applied: [String], registered: [String])
  /// The migration with this name was interrupted, and its query now has another collection or order, or it
  /// is no longer registered as a paged migration. It cannot continue where it was.
  case changedQuery(String)
  /// The database has a remote. Migrations need a database without one.
  case remoteDatabase
}

extension MigrationError: LocalizedError {
  public var errorDescription: String? {
    switch self {
    case .unknownMigrations(let names):
      "The database has migrations that this program does not know: \(Self.list(names)). It was probably "
        + "migrated by a newer version of the program."
    case .changedOrder(let applied, let registered):
      "The migrations were applied in the order \(Self.list(applied)), but the program registers them in the "
        + "order \(Self.list(registered)). New migrations must come after the applied ones."
    case .changedQuery(let name):
      "The migration \"\(name)\" was interrupted and cannot continue, because its query has changed."
    case .remoteDatabase:
      "A database with a remote cannot be migrated, because its documents belong to the remote."
    }
  }

  private static func list(_ names: [String]) -> String {
    names.map { "\"\($0)\"" }.joined(separator: ", ")
  }
}
