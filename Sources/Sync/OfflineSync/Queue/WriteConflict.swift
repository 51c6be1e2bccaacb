// Conflicts between pending writes and changes of other clients, and their resolution.

package import DocumentStore

/// A document that another client has changed since its pending writes were issued.
package struct WriteConflict: Sendable {
  package let path: DocumentPath
  /// The remote's version when the writes were issued; nil if there was no document.
  package let base: StoredDocument?
  /// The local version with all pending writes applied, except those with preconditions.
  package let local: StoredDocument?
  /// The remote's current version.
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
  /// Sends the writes unchanged; the last write wins.
  case keepWrites
  /// Replaces all of the writes by this one, which must have the document's path.
  case replaceWrites(Mutation)
  /// Drops all of the writes.
  case dropWrites
}

package typealias ConflictResolver = @Sendable (WriteConflict) -> ConflictResolution

extension PendingBatch {
  /// Whether the batch has preconditions of its own. Such a batch is applied as a whole or not at all, so
  /// the resolver may not change it. The condition that a patched document exists does not count.
  var hasConditions: Bool {
    mutations.contains { mutation in
      switch (mutation.precondition, mutation.change) {
      case (.none, _), (.exists(true), .patch), (.exists(true), .set): false
      case (.exists, _), (.updateTime, _), (.asRead, _), (.afterPendingWrites, _), (.impossible, _): true
      }
    }
  }

  /// Returns the fields that this batch changes in a document with its patches and transforms.
  func fieldsWritten(of path: DocumentPath) -> [StoredFieldPath] {
    mutations(of: path).flatMap { _, mutation in
      let transformed = mutation.transforms.map(\.field)
      guard case .patch(_, let mask, _) = mutation.change else { return transformed }
      return mask.paths + transformed
    }
  }

  /// Whether the resolver has dropped all writes of the batch.
  package var isDropped: Bool { mutations.allSatisfy(\.mutation.isDropped) }

  /// Whether the batch has writes of the document that the resolver has not dropped.
  func writes(_ path: DocumentPath) -> Bool {
    mutations(of: path).contains { !$0.mutation.mutation.isDropped }
  }

  /// Returns this batch with the writes of a document replaced by one write, or by none. The number of
  /// mutations does not change, so that the other mutations keep their positions.
  func replacingWrites(of path: DocumentPath, by replacement: Mutation?) -> PendingBatch {
    var replacement = replacement
    let mutations = mutations.map { mutation -> PendingMutation in
      guard mutation.path == path else { return mutation }
      defer { replacement = nil }
      return PendingMutation(replacement ?? .dropped(path))
    }
    return replacing(base: base.filter { $0.path != path }, mutations: mutations)
  }
}

extension Mutation {
  /// The mutation in the place of a write that was dropped.
  static func dropped(_ path: DocumentPath) -> Mutation { .verify(path, .none) }

  /// Whether this is the place of a write that was dropped. No server accepts a write that does nothing.
  package var isDropped: Bool { change == .verify && precondition == .none }

  /// Returns a mutation with the same effect on a document with these fields, but without changes to the
  /// fields in `kept`.
  func omitting(_ kept: [StoredFieldPath], over fields: StoredMap) -> Mutation {
    func isKept(_ field: StoredFieldPath) -> Bool {
      kept.contains { $0.isPrefix(of: field) || field.isPrefix(of: $0) }
    }
    guard !kept.isEmpty, case .set(let set, let transforms) = change else { return self }
    let mask = Self.fields(of: [fields, set], at: []) { place in kept.contains { place.isPrefix(of: $0) } }
    return .patch(
      path, set, mask: FieldMask(mask.filter { !isKept($0) }),
      transforms: transforms.filter { !isKept($0.field) }, precondition: precondition)
  }

  /// Returns the outermost fields of all maps. A field for which `apart` returns true is replaced by its
  /// inner fields.
  private static func fields(
    of maps: [StoredMap], at place: [String], apart: (StoredFieldPath) -> Bool
  ) -> [StoredFieldPath] {
    let all = Set(maps.flatMap { $0.entries.map { StoredFieldPath(unchecked: place + [$0.name]) } })
    return all.flatMap { field -> [StoredFieldPath] in
      guard apart(field) else { return [field] }
      let inner = maps.compactMap { map -> StoredMap? in
        if case .map(let inner)? = map[field.names[place.count]] { inner } else { nil }
      }
      return inner.isEmpty ? [field] : fields(of: inner, at: field.names, apart: apart)
    }
  }
}
