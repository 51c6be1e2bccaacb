// The note that a commit carries through the byte store, and the changes that listeners get.

import ByteStore

/// The change of a published commit to one document, for listeners.
struct PublishedChange: Sendable {
  let path: DocumentPath
  let key: [UInt8]
  let before: CommitChange.Before
  let after: StoredDocument?
  /// The approximate size of this change in memory, in bytes.
  let bytes: Int

  init(_ change: CommitChange) {
    path = change.path
    key = change.key
    before = change.before
    after = change.after
    bytes = change.key.count + 2 * change.recordBytes + 200
  }
}

/// The note that this module attaches to a commit. The byte store passes it back when it applies the commit.
final class CommitEffects: CommitNote {
  let time: StoredTimestamp
  /// The last entry of the change feed up to and including this commit; nil if the feed is inactive.
  let feed: FeedPosition?
  let indexChanges: IndexChanges
  /// The ids of the shapes that the commit defines. These definitions are its first operations.
  let shapes: [Int]

  init(_ time: StoredTimestamp, _ changes: [CommitChange], shapes: [Int], feed: FeedPosition? = nil) {
    self.time = time
    self.feed = feed
    self.shapes = shapes
    indexChanges = IndexChanges(changes)
  }

  var changes: [CommitChange] { indexChanges.changes }

  func published(_ place: Int) -> PublishedChange { PublishedChange(changes[place]) }
}
