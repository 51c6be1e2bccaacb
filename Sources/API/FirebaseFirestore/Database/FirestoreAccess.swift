// The use that an instance makes of a database's files.

/// The use that an instance makes of the files of a database.
public enum FirestoreAccess: Hashable, Sendable {
  /// The instance reads and writes. One process at a time can have this access.
  case readAndWrite
  /// The instance reads, beside any number of other readers and beside a process that writes. It never
  /// delays the writer, and changes no file.
  ///
  /// Reads, queries, aggregates, listeners and backups work as usual, on a committed state that may be a
  /// little old: `Firestore.snapshotAge` tells how old, and `Firestore.refresh()` shows a newer one.
  /// Listeners follow the writer on their own. Writes, transactions with writes, index declarations, times
  /// to live and `clearPersistence` fail with `failedPrecondition`.
  case readOnly
}
