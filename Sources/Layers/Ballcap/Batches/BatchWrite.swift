// One write of a batch, and the object whose times it sets.

import FirebaseFirestore
import Foundation
import LayerKit

struct BatchWrite {
  let reference: DocumentReference
  /// The object whose times the write sets. Nil if the write goes to another document or sets no times.
  /// Becomes nil when the object is released.
  private weak var object: Object?
  private let times: [ReferenceWritableKeyPath<Object, Timestamp>]
  private var estimate: Timestamp?
  private var before: [Timestamp] = []

  init(
    _ reference: DocumentReference, _ document: (any Documentable)?,
    times: [ReferenceWritableKeyPath<Object, Timestamp>] = []
  ) {
    self.reference = reference
    let isOwn = document?.documentReference == reference && !times.isEmpty
    object = isOwn ? document as? Object : nil
    self.times = times
  }

  /// Sets the times to an estimate.
  mutating func begin(at now: Timestamp) {
    guard let object else { return }
    before = times.map { object[keyPath: $0] }
    estimate = now
    for time in times { object[keyPath: time] = now }
  }

  /// Sets the times to those of the commit.
  func succeed(_ snapshot: DocumentSnapshot?) {
    guard let object, let snapshot, snapshot.exists else { return }
    object.ballcapTimes.update(from: snapshot)
  }

  /// Restores the times, unless they have changed since `begin`.
  func fail() {
    guard let object else { return }
    for (time, known) in zip(times, before) where object[keyPath: time] === estimate {
      object[keyPath: time] = known
    }
  }
}
