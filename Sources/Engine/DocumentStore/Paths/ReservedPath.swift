// Collections that the store keeps for itself, under names that no user's collection can have.

package enum ReservedPath {
  package static let buckets = "__buckets__"
  package static let objects = "__objects__"
  package static let blobs = "__blobs__"
  package static let uploads = "__uploads__"
  package static let downloads = "__downloads__"
  package static let arrivals = "__arrivals__"
  package static let migrations = "__migrations__"

  package static let allBlobs = CollectionPath(unchecked: [blobs])
  /// The document that records which migrations of the app have been applied.
  package static let appliedMigrations = DocumentPath(unchecked: [migrations, "applied"])
}
