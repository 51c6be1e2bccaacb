// The effect of a batch on a document: while it is pending, and again when the remote has accepted it.
//
//   local document = remote document + pending mutations, in their order

internal import DocumentStore

extension PendingBatch {
  // MARK: While pending

  /// Returns the document after all mutations of this batch.
  func applied(to document: SyncedDocument) -> SyncedDocument {
    var document = PendingDocument(document)
    document.apply(self)
    return document.finish()
  }

  /// Whether the document's state after this batch is independent of its earlier state.
  func determinesResult(of path: DocumentPath) -> Bool {
    guard let last = mutations(of: path).last?.mutation, last.precondition == .none else { return false }
    switch last.change {
    case .set(_, let transforms):
      // A pending server timestamp includes the previous value.
      return !transforms.contains { $0.operation == .serverTimestamp }
    case .delete: return true
    case .patch, .verify, .place: return false
    }
  }

  /// Whether all preconditions that can be checked locally hold. A mutation that follows earlier writes
  /// requires their exact result, and `isPinned` states whether these writes guarantee that result.
  func maySucceed(on document: SyncedDocument, isPinned: Bool) -> Bool {
    let path = document.path
    var document = PendingDocument(document)
    return mutations(of: path).allSatisfy { _, mutation in
      let precondition = mutation.precondition
      let holds = precondition == .afterPendingWrites ? isPinned : document.satisfies(precondition)
      document.apply(mutation, at: time)
      return holds
    }
  }

  // MARK: Accepted

  /// Returns the remote's document after the remote accepted this batch, as far as the client can know it. If
  /// the remote gave no version, the document gets a version just after the one that the client has, so that
  /// the next watch message replaces the document.
  func acknowledged(
    on document: SyncedDocument, _ version: SnapshotVersion, results: [WriteResult]
  ) -> SyncedDocument {
    let isKnown =
      wasAppliedTo(of: document.requirement, document.path, results: results) ?? !document.isAssumed
    let version = version == .none ? document.version.next : version
    var isNew = false
    var document = document
    for (place, mutation) in mutations(of: document.path) {
      let result = place < results.count ? results[place] : WriteResult(version: version)
      document.acknowledge(
        mutation, version: result.version == .none ? version : result.version,
        results: result.transformResults)
      switch mutation.change {
      case .set, .delete:
        // A set or a deletion determines all fields, whatever the document was before.
        (isNew, document.isAssumed) = (true, false)
      case .patch: if !isNew { document.isAssumed = !isKnown }
      case .verify, .place: break
      }
    }
    return document
  }
}

extension SyncedDocument {
  func satisfies(_ precondition: PendingPrecondition) -> Bool {
    switch precondition {
    case .none: true
    case .exists(let exists): isFound == exists
    case .updateTime(let time): isFound && version == SnapshotVersion(time)
    // A document with pending writes has no version.
    case .afterPendingWrites: isFound && version == .none
    case .asRead, .impossible: false
    }
  }

  fileprivate mutating func acknowledge(
    _ mutation: PendingMutation, version: SnapshotVersion, results: [StoredValue]
  ) {
    let before = fields
    switch mutation.change {
    case .verify, .place: return
    case .delete: content = .absent
    case .set(let set, let transforms):
      content = .found(Self.transform(set, transforms, results: results, at: version))
    case .patch(let values, let mask, let transforms):
      if satisfies(mutation.precondition) {
        let patched = (before ?? StoredMap()).replacing(mask.paths, from: values)
        content = .found(Self.transform(patched, transforms, results: results, at: version))
      } else {
        content = .unknown
      }
    }
    if !isFound || createTime == .none { createTime = isFound ? version : .none }
    self.version = version
    pending = .committed
  }

  /// Applies the transforms of an accepted mutation. The results of array transforms are always computed
  /// locally. All other values come from the remote.
  private static func transform(
    _ fields: StoredMap, _ transforms: [FieldTransform], results: [StoredValue],
    at version: SnapshotVersion
  ) -> StoredMap {
    var fields = fields
    for (index, transform) in transforms.enumerated() {
      var value = transform.operation.value(from: fields[transform.field], at: version.timestamp)
      switch transform.operation {
      case .arrayUnion, .arrayRemove: break
      case .serverTimestamp, .increment, .minimum, .maximum:
        if index < results.count { value = results[index] }
      }
      fields.set(value, at: transform.field)
    }
    return fields
  }
}
