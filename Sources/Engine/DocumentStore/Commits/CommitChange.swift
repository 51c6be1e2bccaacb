// The document changes of one commit.
//
// The byte store keeps the note of a commit and passes it back when it applies the commit.

import ByteStore

/// The change of one commit to one document.
struct CommitChange: Sendable {
  let path: DocumentPath
  let key: [UInt8]
  /// State after all earlier commits. Nil also if nothing needs it (see `isBeforeKnown`).
  let before: StoredDocument?
  let isBeforeKnown: Bool
  var after: StoredDocument?
  var recordBytes = 0

  var isNone: Bool { isBeforeKnown && before == after }

  /// The update time is the commit time, or later if the document replaces a later version. A replaced
  /// document may come from a bundle whose clock was ahead of ours, and a new write must be newer than it. If
  /// this commit itself placed the document, equal times are allowed.
  func updateTime(at time: StoredTimestamp) -> StoredTimestamp {
    var new = time
    if let old = before?.updateTime, old >= new { new = Self.next(old) ?? time }
    if let placed = after?.updateTime, placed > new { new = Self.next(placed) ?? time }
    return new
  }

  /// Nil after the last valid time.
  private static func next(_ time: StoredTimestamp) -> StoredTimestamp? {
    StoredTimestamp(microseconds: time.microseconds + 1)
  }

  var noted: IndexChanges.Change {
    IndexChanges.Change(path: path, key: key, before: notedBefore, after: after)
  }

  private var notedBefore: IndexChanges.Before {
    guard isBeforeKnown, before?.fields != StoredDocument.damagedFields else { return .unknown }
    return before.map { .document($0) } ?? .none
  }
}

/// The change of a published commit to one document, for listeners.
struct PublishedChange: Sendable {
  let path: DocumentPath
  let key: [UInt8]
  let before: IndexChanges.Before
  let after: StoredDocument?
  /// Approximate size in memory.
  let bytes: Int
}

/// The note of a commit: the byte store passes it back to this module when it applies the commit.
final class CommitEffects: CommitNote {
  let time: StoredTimestamp
  let indexChanges: IndexChanges
  private let recordBytes: [Int]
  /// Ids of the shapes that the first operations of the commit define.
  let shapes: [Int]
  let audience: CommitAudience?

  /// `audience` says which changes may concern a listener; nil means that every change may.
  init(
    _ time: StoredTimestamp, _ changes: [CommitChange], shapes: [Int],
    audience: ([IndexChanges.Change]) -> CommitAudience? = { _ in nil }
  ) {
    self.time = time
    self.shapes = shapes
    indexChanges = IndexChanges(changes.map(\.noted))
    recordBytes = changes.map(\.recordBytes)
    self.audience = audience(indexChanges.changes)
  }

  var changes: [IndexChanges.Change] { indexChanges.changes }

  func published(_ place: Int) -> PublishedChange {
    let change = changes[place]
    return PublishedChange(
      path: change.path, key: change.key, before: change.before, after: change.after,
      bytes: change.key.count + 2 * recordBytes[place] + 200)
  }
}
