// A batch of writes that the remote has not answered yet.

package import DocumentStore

/// Writes that were issued together and are sent together.
package struct PendingBatch: Sendable {
  package let id: BatchID
  /// The run of the client that created the batch.
  package let run: RunID
  /// The identity of a batch that was imported from another queue; nil for all others.
  private(set) var origin: BatchOrigin?
  /// The local time of creation.
  package let time: StoredTimestamp
  /// The values that increments are based on, so that an increment is applied once to a fixed number,
  /// whatever the field becomes. Verifications record the ground of writes that follow others.
  package let base: [PendingMutation]
  package let mutations: [PendingMutation]
  /// The written documents, in the order of first occurrence.
  package let paths: [DocumentPath]
  /// The positions of each document's mutations; empty if all mutations write one document.
  private let parts: [DocumentPath: Part]

  private struct Part {
    var base: [Int] = []
    var mutations: [Int] = []
  }

  package init(
    id: BatchID, run: RunID, time: StoredTimestamp, base: [PendingMutation], mutations: [PendingMutation]
  ) {
    self.id = id
    self.run = run
    self.time = time
    self.base = base
    self.mutations = mutations
    var paths: [DocumentPath] = []
    var parts: [DocumentPath: Part] = [:]
    for (place, mutation) in mutations.enumerated() {
      if parts[mutation.path] == nil { paths.append(mutation.path) }
      parts[mutation.path, default: Part()].mutations.append(place)
    }
    for (place, mutation) in base.enumerated() { parts[mutation.path]?.base.append(place) }
    self.paths = paths
    self.parts = paths.count > 1 ? parts : [:]
  }

  /// The number under which a remote knows the batch.
  var remoteID: BatchID { origin?.batch ?? id }

  /// Returns this batch with other mutations.
  func replacing(base: [PendingMutation]? = nil, mutations: [PendingMutation]? = nil) -> PendingBatch {
    PendingBatch(
      id: id, run: run, time: time, base: base ?? self.base, mutations: mutations ?? self.mutations
    ).from(origin)
  }

  /// Returns this batch with an identity that another queue gave it.
  func from(_ origin: BatchOrigin?) -> PendingBatch {
    var batch = self
    batch.origin = origin
    return batch
  }

  /// Returns this batch with another number in its queue.
  func numbered(_ id: BatchID) -> PendingBatch {
    PendingBatch(id: id, run: run, time: time, base: base, mutations: mutations).from(origin)
  }

  /// Returns the base patches of a document.
  func base(of path: DocumentPath) -> [PendingMutation] {
    if let part = parts[path] { return part.base.map { base[$0] } }
    return paths == [path] ? base : []
  }

  /// Returns the mutations of a document with their positions in the batch.
  func mutations(of path: DocumentPath) -> [(place: Int, mutation: PendingMutation)] {
    if let part = parts[path] { return part.mutations.map { ($0, mutations[$0]) } }
    return paths == [path] ? mutations.enumerated().map { ($0, $1) } : []
  }

  /// Returns a patch with the current value of each number that the mutations increment.
  package static func base(
    of mutations: [PendingMutation],
    on document: (DocumentPath) throws(DocumentStoreError) -> SyncedDocument
  ) throws(DocumentStoreError) -> [PendingMutation] {
    var base: [PendingMutation] = []
    for mutation in mutations {
      // A set document starts without fields, so only patches need a base.
      guard case .patch(_, _, let transforms) = mutation.change else { continue }
      let increments = transforms.filter { if case .increment = $0.operation { true } else { false } }
      guard !increments.isEmpty else { continue }
      let fields = try document(mutation.path).fields ?? StoredMap()
      var values = StoredMap()
      for increment in increments {
        let number = fields[increment.field].flatMap(StoredNumber.init) ?? .integer(0)
        values.set(number.value, at: increment.field)
      }
      base.append(
        PendingMutation(
          .patch(mutation.path, values, mask: FieldMask(increments.map(\.field)), precondition: .exists(true))
        ))
    }
    return base
  }
}

extension PendingBatch: Equatable {
  package static func == (left: Self, right: Self) -> Bool {
    left.id == right.id && left.run == right.run && left.time == right.time && left.base == right.base
      && left.mutations == right.mutations && left.origin == right.origin
  }
}

/// The identity of a batch that was imported.
struct BatchOrigin: Sendable, Hashable {
  let queue: String
  let batch: BatchID
}
