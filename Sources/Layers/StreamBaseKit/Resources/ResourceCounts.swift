// The counter changes of one write.
//
// Counters stay exact because a write and its counter changes are in one batch, which is atomic. The batch
// also requires the expected state of the counted record:
//
//   creating     The record is absent.
//   destroying   The record is present. If a predicate decides whether it is counted, it is unchanged since
//                the read.
//   updating     As for destroying, or the record is absent and is counted as new.
//
// The state that was read includes writes of the record that the remote has not confirmed. If a predicate
// decides, this batch is refused when one of those writes is refused or has another result than was read. A
// pending server timestamp has the local time, as in items.
//
// If the owner of a decremented counter was absent when it was read, the batch requires that it is still
// absent. So the batch does not recreate a deleted owner. Otherwise the batch requires that the owner is
// present. If that fails, the batch is refused and tried again.

import FirebaseFirestore
import Foundation

struct ResourceCounts {
  /// A document that owns counters, and the increments of its counter fields.
  struct Change {
    let owner: DocumentReference
    var counts: [(field: String, by: Int64)]

    var isDecrement: Bool { counts.contains { $0.by < 0 } }
  }

  private(set) var changes: [Change] = []
  /// Counters that do not change because the context contains no object of their class.
  private(set) var skipped: [ResourceCounter] = []

  /// Computes the counter changes of a write. `before` and `after` return whether a counter counts the record
  /// before and after the write.
  init(
    _ base: ResourceBase, _ instance: any BaseItemProtocol, context: ResourceContext,
    before: (ResourceCounter) -> Bool, after: (ResourceCounter) -> Bool
  ) throws(ResourceError) {
    for counter in base.kitCounters where instance.isInstance(of: counter.counted) {
      let delta: Int64 = (after(counter) ? 1 : 0) - (before(counter) ? 1 : 0)
      guard delta != 0 else { continue }
      guard let owner = try Self.owner(of: counter, instance, base: base, context: context) else {
        skipped.append(counter)
        continue
      }
      if let index = changes.firstIndex(where: { $0.owner == owner }) {
        changes[index].counts.append((counter.name, delta))
      } else {
        changes.append(Change(owner: owner, counts: [(counter.name, delta)]))
      }
    }
  }

  /// Returns the document that contains the counter. If the path of the counted record uses an object of the
  /// counter's class, this is the document of that object. Otherwise it is the document of the uppermost
  /// object of that class in the context; nil if there is none.
  private static func owner(
    of counter: ResourceCounter, _ instance: any BaseItemProtocol, base: ResourceBase,
    context: ResourceContext
  ) throws(ResourceError) -> DocumentReference? {
    let used = try base.kitPath(of: Swift.type(of: instance), context).names
    let candidates = context.filter { $0.1.isInstance(of: counter.owner) }
    let named = candidates.first { used.contains($0.0) } ?? candidates.first
    guard let owner = named?.1 else { return nil }
    return base.kitDocument(try base.kitPlace(of: owner, owner.key, context: context))
  }

  /// Adds the changes to a batch. `owners` contains the snapshots of the documents whose counters are
  /// decremented.
  func add(to batch: WriteBatch, _ owners: [DocumentReference: DocumentSnapshot]) {
    for change in changes {
      guard change.isDecrement else {
        batch.count(change.counts, inDocument: change.owner, requiring: .nothing)
        continue
      }
      guard owners[change.owner]?.exists == false else {
        batch.count(change.counts, inDocument: change.owner, requiring: .present)
        continue
      }
      let counts = change.counts.filter { $0.by > 0 }
      if counts.isEmpty {
        batch.verify(change.owner, requiring: .absent)
      } else {
        batch.count(counts, inDocument: change.owner, requiring: .absent)
      }
    }
  }
}

extension ResourceBase {
  func kitIsCounted(_ instance: any BaseItemProtocol) -> Bool {
    kitCounters.contains { instance.isInstance(of: $0.counted) }
  }

  /// Whether a predicate decides whether the record is counted.
  func kitIsCountedByPredicate(_ instance: any BaseItemProtocol) -> Bool {
    kitCounters.contains { $0.predicate != nil && instance.isInstance(of: $0.counted) }
  }

  func kitOwnsCounters(_ instance: any BaseItemProtocol) -> Bool {
    kitCounters.contains { instance.isInstance(of: $0.owner) }
  }

  /// Returns the state that the stored record must have for an update or a deletion to be committed.
  func kitRequirement(_ instance: any BaseItemProtocol, _ stored: DocumentSnapshot) -> LayerRequirement {
    let counting = kitCounters.filter { instance.isInstance(of: $0.counted) }
    if counting.isEmpty { return .nothing }
    if !stored.exists { return .absent }
    return kitIsCountedByPredicate(instance) ? .unchanged(stored) : .present
  }
}
