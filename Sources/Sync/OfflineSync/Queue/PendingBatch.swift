// A batch of writes that a remote has not answered yet.

package import DocumentStore

/// Writes that were made together, and are sent together.
package struct PendingBatch: Sendable {
  package let id: BatchID
  /// In which opening of the client it was made.
  package let run: RunID
  /// When it was made here.
  package let time: StoredTimestamp
  /// What fields had that it builds on, so that what is added to them is added once, whatever they become. Verifications
  /// say what lies under writes that it follows.
  package let base: [Mutation]
  package let mutations: [Mutation]
  /// In the order of their first mention.
  package let paths: [DocumentPath]
  /// Which of the mutations are about which document; empty if all are about one.
  private let parts: [DocumentPath: Part]

  private struct Part {
    var base: [Int] = []
    var mutations: [Int] = []
  }

  package init(
    id: BatchID, run: RunID, time: StoredTimestamp, base: [Mutation], mutations: [Mutation]
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

  /// What is laid under the mutations of a document.
  func base(of path: DocumentPath) -> [Mutation] {
    if let part = parts[path] { return part.base.map { base[$0] } }
    return paths == [path] ? base : []
  }

  /// The mutations of a document, and their places in the batch.
  func mutations(of path: DocumentPath) -> [(place: Int, mutation: Mutation)] {
    if let part = parts[path] { return part.mutations.map { ($0, mutations[$0]) } }
    return paths == [path] ? mutations.enumerated().map { ($0, $1) } : []
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
      guard !increments.isEmpty else { continue }
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

extension PendingBatch: Equatable {
  package static func == (left: Self, right: Self) -> Bool {
    left.id == right.id && left.run == right.run && left.time == right.time && left.base == right.base
      && left.mutations == right.mutations
  }
}
