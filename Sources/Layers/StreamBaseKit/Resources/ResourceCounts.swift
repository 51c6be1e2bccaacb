// What one write changes of the counters.
//
// Counters stay exact because they change in the batch of the write that they count, which happens as a whole
// or not at all, and only if the counted record is what it was taken for:
//
//   creating     it is absent
//   destroying   it is there; and if a predicate decides whether it was counted, it is as it was read
//   updating     the same; or it is absent, and counted as new
//
// A record with writes that a remote has still to confirm is as these make it: where a predicate decides,
// this one is refused if one of them is, or has changed something else than was read. A time that the server
// has still to set is this machine's, as items have it.
//
// The owner of a counter that is to be less has to be there, or not to be there, as it was read: the end of a
// record does not bring it back. If it could not be read, it has to be there; if it is not, the batch is
// refused, and tried again.

import FirebaseFirestore
import Foundation

struct ResourceCounts {
  /// A record and what is added to its fields.
  struct Change {
    let owner: DocumentReference
    var counts: [(field: String, by: Int64)]

    var isDecrement: Bool { counts.contains { $0.by < 0 } }
  }

  private(set) var changes: [Change] = []
  /// Counters that would change, were their owner known.
  private(set) var skipped: [ResourceCounter] = []

  /// `before` and `after` say whether a counter counts the record then and now.
  init(
    _ base: ResourceBase, _ instance: any BaseItemProtocol, _ context: ResourceContext,
    before: (ResourceCounter) -> Bool, after: (ResourceCounter) -> Bool
  ) throws(ResourceError) {
    for counter in base.kitCounters where instance.isInstance(of: counter.counted) {
      let delta: Int64 = (after(counter) ? 1 : 0) - (before(counter) ? 1 : 0)
      guard delta != 0 else { continue }
      guard let owner = try Self.owner(of: counter, instance, base, context) else {
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

  /// The object of the counter's class that the record's path uses, else the topmost one.
  private static func owner(
    of counter: ResourceCounter, _ instance: any BaseItemProtocol, _ base: ResourceBase,
    _ context: ResourceContext
  ) throws(ResourceError) -> DocumentReference? {
    let used = try base.kitPath(of: Swift.type(of: instance), context).names
    let candidates = context.filter { $0.1.isInstance(of: counter.owner) }
    let named = candidates.first { used.contains($0.0) } ?? candidates.first
    guard let owner = named?.1 else { return nil }
    return base.kitDocument(try base.kitPlace(of: owner, owner.key, context))
  }

  /// `owners` says what was read of those that are to have less.
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

  /// What its fields are decides about counts.
  func kitIsCountedByPredicate(_ instance: any BaseItemProtocol) -> Bool {
    kitCounters.contains { $0.predicate != nil && instance.isInstance(of: $0.counted) }
  }

  func kitOwnsCounters(_ instance: any BaseItemProtocol) -> Bool {
    kitCounters.contains { instance.isInstance(of: $0.owner) }
  }

  /// What an update or the end of a record that was read asks of it.
  func kitRequirement(_ instance: any BaseItemProtocol, _ stored: DocumentSnapshot) -> LayerRequirement {
    let counting = kitCounters.filter { instance.isInstance(of: $0.counted) }
    if counting.isEmpty { return .nothing }
    if !stored.exists { return .absent }
    return kitIsCountedByPredicate(instance) ? .unchanged(stored) : .present
  }
}
