// What becomes of writes when others were faster.

package import DocumentStore

/// A document that others have changed since the writes of it were made that wait here.
package struct WriteConflict: Sendable {
  package let path: DocumentPath
  /// As the remote had it when the writes were made; nil if there was none.
  package let base: StoredDocument?
  /// As it is here, with all writes that wait, but for those that have conditions.
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
  /// It says itself what has to hold, and happens as a whole or not at all: nobody else decides about parts of it. That
  /// a document which is patched has to be there is no such condition.
  var hasConditions: Bool {
    mutations.contains { mutation in
      switch (mutation.precondition, mutation.change) {
      case (.none, _), (.exists(true), .patch), (.exists(true), .set): false
      case (.exists, _), (.updateTime, _): true
      }
    }
  }

  /// The fields that it changes of a document that stays.
  func fieldsWritten(of path: DocumentPath) -> [StoredFieldPath] {
    mutations(of: path).flatMap { _, mutation in
      let transformed = mutation.transforms.map(\.field)
      guard case .patch(_, let mask, _) = mutation.change else { return transformed }
      return mask.paths + transformed
    }
  }

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

extension Mutation {
  /// What makes the same of a document with these fields, but for those of `kept`.
  func leavingOut(_ kept: [StoredFieldPath], over fields: StoredMap) -> Mutation {
    func isKept(_ field: StoredFieldPath) -> Bool {
      kept.contains { $0.isPrefix(of: field) || field.isPrefix(of: $0) }
    }
    guard !kept.isEmpty, case .set(let set, let transforms) = change else { return self }
    let mask = Self.fields(of: [fields, set], at: []) { place in kept.contains { place.isPrefix(of: $0) } }
    return .patch(
      path, set, mask: FieldMask(mask.filter { !isKept($0) }),
      transforms: transforms.filter { !isKept($0.field) }, precondition: precondition)
  }

  /// The outermost fields that any of the maps has, but for those that are to be taken apart.
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
