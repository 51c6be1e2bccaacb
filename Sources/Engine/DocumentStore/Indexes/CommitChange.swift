// The document changes of one commit.
//
// They are part of the commit's note, which the byte store keeps and passes back when it applies the commit.
// The commit order, the history and the listeners refer to the same changes.

import ByteStore

/// The change of one commit to one document.
struct CommitChange: Sendable {
  enum Before: Sendable {
    case none
    case document(StoredDocument)
    /// The old record is damaged, or it was not read because no index or listener needs it.
    case unknown

    @inline(__always)
    var isNone: Bool { if case .none = self { true } else { false } }
  }

  let path: DocumentPath
  /// The document's key in the store.
  let key: [UInt8]
  /// The state of the document after all earlier commits.
  let before: Before
  var after: StoredDocument?
  /// The size of the new record.
  var recordBytes = 0
  /// The lookup of the key before the commit.
  var lookup = KeyLookup.none
  /// The update time of the state that the commit replaces, even if its fields are unknown.
  let timeBefore: StoredTimestamp?

  init(path: DocumentPath, key: [UInt8], before: Before, after: StoredDocument?) {
    self.path = path
    self.key = key
    self.before = before
    self.after = after
    if case .document(let document) = before { timeBefore = document.updateTime } else { timeBefore = nil }
  }

  /// `before` is nil if the document did not exist, or if its state is not known.
  init(
    path: DocumentPath, key: [UInt8], before: StoredDocument?, isBeforeKnown: Bool, after: StoredDocument?,
    recordBytes: Int = 0
  ) {
    self.path = path
    self.key = key
    timeBefore = before?.updateTime
    if let before, isBeforeKnown, !before.isDamaged {
      self.before = .document(before)
    } else {
      self.before = isBeforeKnown && before == nil ? .none : .unknown
    }
    self.after = after
    self.recordBytes = recordBytes
  }

  var isBeforeKnown: Bool { if case .unknown = before { false } else { true } }

  /// True if the document existed before and still exists.
  var isUpdate: Bool {
    if case .document = before, after != nil { true } else { false }
  }

  var isNone: Bool {
    switch before {
    case .none: return after == nil
    case .unknown: return false
    case .document(let document):
      // Most changes have another update time, which is cheaper to compare than the fields.
      guard let after, after.updateTime == document.updateTime else { return false }
      return after == document
    }
  }

  /// Returns the update time: usually the commit time. If the replaced version already has this time or a
  /// later one, the result is one microsecond after that version's time. Such a version may come from a
  /// bundle whose clock was ahead of ours, and a new write must be newer than it. If an earlier mutation of
  /// this same commit placed the document, equal times are allowed.
  func updateTime(at time: StoredTimestamp) -> StoredTimestamp {
    let new = Self.updateTime(at: time, replacing: timeBefore)
    guard let placed = after?.updateTime, placed > new else { return new }
    return Self.next(placed) ?? time
  }

  /// The update time of a change to a version with the time `old`.
  static func updateTime(at time: StoredTimestamp, replacing old: StoredTimestamp?) -> StoredTimestamp {
    guard let old, old >= time else { return time }
    return next(old) ?? time
  }

  /// The time one microsecond later; nil after the last valid time.
  private static func next(_ time: StoredTimestamp) -> StoredTimestamp? {
    StoredTimestamp(microseconds: time.microseconds + 1)
  }
}
