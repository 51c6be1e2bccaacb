// What a commit makes of documents, and the note by which it is known when readers see it.

import ByteStore

/// A document that a commit is about.
struct CommitChange: Sendable {
  let path: DocumentPath
  let key: [UInt8]
  /// As the commits before this one leave it. Nil also if nobody needed to know.
  let before: StoredDocument?
  let isBeforeKnown: Bool
  var after: StoredDocument?
  var recordBytes = 0

  var isNone: Bool { isBeforeKnown && before == after }

  /// Later than that of the document that is replaced, also where a bundle brought that one and the clock of whoever
  /// made the bundle is ahead of ours: what is written now is newer than both. The same if this very commit brought it.
  func updateTime(at time: StoredTimestamp) -> StoredTimestamp {
    var new = time
    if let old = before?.updateTime, old >= new { new = Self.next(old) ?? time }
    if let placed = after?.updateTime, placed > new { new = Self.next(placed) ?? time }
    return new
  }

  /// Nil behind the last moment that there is.
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

/// What a commit that readers see has made of a document, for those whom it concerns.
struct PublishedChange: Sendable {
  let path: DocumentPath
  let key: [UInt8]
  let before: IndexChanges.Before
  let after: StoredDocument?
  /// About what it takes in memory.
  let bytes: Int
}

/// What comes back to this floor when a commit is applied.
final class CommitEffects: CommitNote {
  let time: StoredTimestamp
  let indexChanges: IndexChanges
  private let recordBytes: [Int]
  /// The first operations of the commit define them.
  let shapes: [Int]
  let audience: CommitAudience?

  /// `audience` tells whom it may concern; nil is everyone.
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
