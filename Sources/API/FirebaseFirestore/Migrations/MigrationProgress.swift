// The progress of migrations.

/// The state of a migration after one of its pages, or after its end.
public struct MigrationProgress: Hashable, Sendable {
  /// The name of the migration.
  public let migration: String
  /// The position of the migration among all registered migrations; the first one has number 1.
  public let number: Int
  /// The number of registered migrations.
  public let migrationCount: Int
  /// The number of pages that are committed, including pages of earlier calls that were interrupted.
  public let pageCount: Int
  /// The number of documents in these pages.
  public let documentCount: Int
  /// The number of documents that the migration has in total; nil for a migration without pages. The
  /// documents are counted when `migrate` begins or resumes the migration, so later writes may change the
  /// real number.
  public let totalDocumentCount: Int?
  /// Whether the migration has ended.
  public let isCompleted: Bool
}
