// What becomes of writes when others were faster.

package import DocumentStore

/// A document that others have changed since the writes of it were made that wait here.
package struct WriteConflict: Sendable {
  package let path: DocumentPath
  /// As the remote had it when the writes were made; nil if there was none.
  package let base: StoredDocument?
  /// As it is here, with all writes that wait.
  package let local: StoredDocument?
  /// As the remote has it now.
  package let remote: StoredDocument?

  package init(
    _ path: DocumentPath, base: StoredDocument?, local: StoredDocument?, remote: StoredDocument?
  ) {
    self.path = path
    self.base = base
    self.local = local
    self.remote = remote
  }
}

package enum ConflictResolution: Sendable {
  /// They happen as they were made: the last one wins.
  case keepWrites
  /// This happens in the place of all of them. It has to be about the document.
  case replaceWrites(Mutation)
  /// None of them happens.
  case dropWrites
}

package typealias ConflictResolver = @Sendable (WriteConflict) -> ConflictResolution

extension PendingBatch {
  /// The same batch with one write of a document in the place of those that it has, or none. As many as before, so
  /// that nothing else moves.
  func replacingWrites(of path: DocumentPath, by replacement: Mutation?) -> PendingBatch {
    var replacement = replacement
    let mutations = mutations.map { mutation -> Mutation in
      guard mutation.path == path else { return mutation }
      defer { replacement = nil }
      return replacement ?? .verify(path, .none)
    }
    return PendingBatch(
      id: id, run: run, time: time, base: base.filter { $0.path != path }, mutations: mutations)
  }
}
