// The document changes of one commit.
//
// They are part of the commit's note, which the byte store keeps and passes back when it applies the commit.

import ByteStore

/// The change of one commit to one document.
struct CommitChange: Sendable {
  let path: DocumentPath
  let key: [UInt8]
  /// The state of the document after all earlier commits; nil if it does not exist. Nil also if no index or
  /// listener needs this state; then `isBeforeKnown` is false.
  let before: StoredDocument?
  let isBeforeKnown: Bool
  var after: StoredDocument?
  var recordBytes = 0

  var isNone: Bool { isBeforeKnown && before == after }

  /// Returns the update time: usually the commit time. If the replaced version already has this time or a
  /// later one, the result is one microsecond after that version's time. Such a version may come from a
  /// bundle whose clock was ahead of ours, and a new write must be newer than it. If an earlier mutation of
  /// this same commit placed the document, equal times are allowed.
  func updateTime(at time: StoredTimestamp) -> StoredTimestamp {
    var new = time
    if let old = before?.updateTime, old >= new { new = Self.next(old) ?? time }
    if let placed = after?.updateTime, placed > new { new = Self.next(placed) ?? time }
    return new
  }

  /// The time one microsecond later; nil after the last valid time.
  private static func next(_ time: StoredTimestamp) -> StoredTimestamp? {
    StoredTimestamp(microseconds: time.microseconds + 1)
  }

  var indexChange: IndexChanges.Change {
    IndexChanges.Change(path: path, key: key, before: indexChangeBefore, after: after)
  }

  private var indexChangeBefore: IndexChanges.Before {
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
  /// The approximate size of this change in memory, in bytes.
  let bytes: Int
}

/// The note that this module attaches to a commit. The byte store passes it back when it applies the commit.
final class CommitEffects: CommitNote {
  let time: StoredTimestamp
  let indexChanges: IndexChanges
  private let recordBytes: [Int]
  /// The ids of the shapes that the commit defines. These definitions are its first operations.
  let shapes: [Int]

  init(_ time: StoredTimestamp, _ changes: [CommitChange], shapes: [Int]) {
    self.time = time
    self.shapes = shapes
    indexChanges = IndexChanges(changes.map(\.indexChange))
    recordBytes = changes.map(\.recordBytes)
  }

  var changes: [IndexChanges.Change] { indexChanges.changes }

  func published(_ place: Int) -> PublishedChange {
    let change = changes[place]
    return PublishedChange(
      path: change.path, key: change.key, before: change.before, after: change.after,
      bytes: change.key.count + 2 * recordBytes[place] + 200)
  }
}
