// A batch of writes that a remote has not answered yet.

package import DocumentStore

/// Writes that were made together, and are sent together.
package struct PendingBatch: Sendable, Equatable {
  package let id: BatchID
  /// When it was made here.
  package let time: StoredTimestamp
  /// What fields had that it builds on, so that what is added to them is added once, whatever they become.
  package let base: [Mutation]
  package let mutations: [Mutation]

  package init(id: BatchID, time: StoredTimestamp, base: [Mutation], mutations: [Mutation]) {
    self.id = id
    self.time = time
    self.base = base
    self.mutations = mutations
  }

  /// In the order of their first mention.
  package var paths: [DocumentPath] {
    if mutations.count == 1 { return [mutations[0].path] }
    var seen = Set<DocumentPath>()
    return mutations.map(\.path).filter { seen.insert($0).inserted }
  }

  /// A patch of what is there for each number that the mutations add to.
  package static func base(
    of mutations: [Mutation], on document: (DocumentPath) throws(DocumentStoreError) -> SyncedDocument
  ) throws(DocumentStoreError) -> [Mutation] {
    var base: [Mutation] = []
    for mutation in mutations {
      // A document that is set begins empty.
      guard case .patch(_, _, let transforms) = mutation.change else { continue }
      let increments = transforms.filter { if case .increment = $0.operation { true } else { false } }
      guard !increments.isEmpty, !base.contains(where: { $0.path == mutation.path }) else { continue }
      let fields = try document(mutation.path).fields ?? StoredMap()
      var values = StoredMap()
      for increment in increments {
        let number = fields[increment.field].flatMap(StoredNumber.init) ?? .integer(0)
        values.set(number.value, at: increment.field)
      }
      base.append(
        .patch(
          mutation.path, values, mask: FieldMask(increments.map(\.field)), precondition: .exists(true)))
    }
    return base
  }
}
