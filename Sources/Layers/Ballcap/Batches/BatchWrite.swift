// One write of a batch, and the object whose times it sets.

import FirebaseFirestore
import Foundation
import LayerKit

struct BatchWrite {
  let reference: DocumentReference
  /// The object whose times the write sets. Nil if the write goes to another document or sets no times.
  /// Becomes nil when the object is released.
  private weak var object: Object?
  private let times: WrittenTimes
  private var estimate: Timestamp?
  private var before: (createdAt: Timestamp, updatedAt: Timestamp)?

  init(_ reference: DocumentReference, _ document: (any Documentable)?, times: WrittenTimes = .none) {
    self.reference = reference
    self.times = times
    guard times != .none, let document, let own = document.documentReference,
      own === reference || own == reference
    else { return }
    object = document as? Object
  }

  /// Sets the times to an estimate.
  mutating func begin(at now: Timestamp) {
    guard let object else { return }
    before = (object.createdAt, object.updatedAt)
    estimate = now
    if times == .both { object.createdAt = now }
    object.updatedAt = now
  }

  /// Sets the times to those of the commit.
  func succeed(_ snapshot: DocumentSnapshot?) {
    guard let object, let snapshot, snapshot.exists else { return }
    object.ballcapTimes.update(from: snapshot)
  }

  /// Restores the times, unless they have changed since `begin`.
  func fail() {
    guard let object, let before else { return }
    if times == .both, object.createdAt === estimate { object.createdAt = before.createdAt }
    if object.updatedAt === estimate { object.updatedAt = before.updatedAt }
  }
}

/// The times of a document that a write stores.
enum WrittenTimes {
  case none, updated, both

  /// The fields with these times.
  var computed: ComputedFields {
    switch self {
    case .none: .none
    case .updated: Self.updatedAt
    case .both: Self.bothTimes
    }
  }

  private static let updatedAt = ComputedFields([(DocumentTimes.updatedAt.name, .serverTimestamp())])
  private static let bothTimes = ComputedFields([
    (DocumentTimes.createdAt.name, .serverTimestamp()), (DocumentTimes.updatedAt.name, .serverTimestamp()),
  ])
}
