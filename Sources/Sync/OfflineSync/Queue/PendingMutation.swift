// A mutation in the outbox, and its precondition, which may refer to earlier pending writes.

package import DocumentStore

/// A condition that a pending write requires of its document.
package enum PendingPrecondition: Sendable, Equatable {
  /// No condition.
  case none
  /// The document exists, or does not exist.
  case exists(Bool)
  /// The document exists and has this update time.
  case updateTime(StoredTimestamp)
  /// A read returned these fields, which contain the results of pending writes. The queue compares the fields
  /// with the current view when it accepts the write, and then requires `afterPendingWrites`.
  case asRead(StoredMap)
  /// The document is the result of the earlier pending writes.
  case afterPendingWrites
  /// Never holds.
  case impossible
}

extension PendingPrecondition {
  ///  The update time that stands for a document with pending writes. No remote document has this time.
  private static let timeAfterPendingWrites = SnapshotVersion.none.timestamp
  /// An update time that no document has, pending or not.
  private static let impossibleTime = SnapshotVersion(microseconds: -1).timestamp
  /// An update time that no document has, for a remote. Firestore refuses times before 1970 as invalid, and
  /// times after that of the document, too.
  private static let firstTime = SnapshotVersion(microseconds: 1).timestamp

  package init(_ precondition: Precondition) {
    switch precondition {
    case .none: self = .none
    case .exists(let exists): self = .exists(exists)
    case .updateTime(let time): self = .updateTime(time)
    }
  }

  /// Creates the precondition that `encoded` returned.
  init(encoded: Precondition) {
    switch encoded {
    case .updateTime(Self.timeAfterPendingWrites): self = .afterPendingWrites
    case .updateTime(Self.impossibleTime): self = .impossible
    case .none, .exists, .updateTime: self.init(encoded)
    }
  }

  /// The precondition as the queue stores it. The cases that refer to pending writes become update times that
  /// no document has, because only this queue knows those writes.
  var encoded: Precondition {
    switch self {
    case .none: .none
    case .exists(let exists): .exists(exists)
    case .updateTime(let time): .updateTime(time)
    case .afterPendingWrites: .updateTime(Self.timeAfterPendingWrites)
    case .asRead, .impossible: .updateTime(Self.impossibleTime)
    }
  }

  /// The precondition as it is sent.
  fileprivate var sent: Precondition {
    switch self {
    case .asRead, .impossible: .updateTime(Self.firstTime)
    case .none, .exists, .updateTime, .afterPendingWrites: encoded
    }
  }
}

/// A mutation in the outbox, or on its way there.
package struct PendingMutation: Sendable, Equatable {
  package let path: DocumentPath
  package let change: Mutation.Change
  package let precondition: PendingPrecondition

  package init(_ mutation: Mutation, requiring precondition: PendingPrecondition) {
    self.init(path: mutation.path, change: mutation.change, precondition: precondition)
  }

  package init(_ mutation: Mutation) {
    self.init(mutation, requiring: PendingPrecondition(mutation.precondition))
  }

  private init(path: DocumentPath, change: Mutation.Change, precondition: PendingPrecondition) {
    self.path = path
    self.change = change
    self.precondition = precondition
  }

  func requiring(_ precondition: PendingPrecondition) -> PendingMutation {
    PendingMutation(path: path, change: change, precondition: precondition)
  }

  package var transforms: [FieldTransform] { change.transforms }

  /// The mutation as the queue stores it.
  package var mutation: Mutation { Mutation(path, change, precondition: precondition.encoded) }

  /// The mutation as it is sent.
  var sent: Mutation { Mutation(path, change, precondition: precondition.sent) }
}

extension SyncedDocument {
  /// The precondition that the remote's document has the version of this one. A document with unknown content
  /// counts as absent, and a document with assumed content gives `impossible`.
  package var requirement: PendingPrecondition {
    guard isFound else { return .exists(false) }
    return isAssumed ? .impossible : .updateTime(version.timestamp)
  }
}
