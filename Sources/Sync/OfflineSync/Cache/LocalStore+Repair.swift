// Repairs a multi-commit step that a crash interrupted:
//
//   - documents: a document that had pending writes before the step, or has them in the written part of the
//     step, is computed again from the queue. Other documents have the remote's version from before or after
//     the step, and both versions are valid
//   - targets: the resume state of all targets that the step changes is cleared, so that the remote sends
//     these targets in full
//   - batches: parts without their batch are removed, and so are bases without pending writes and rejections
//     of pending writes
//
// The repair is an ordinary step, which a crash may interrupt as well.

internal import DocumentStore

extension LocalStore {
  func repair() throws(DocumentStoreError) {
    guard let unfinished = try store.document(at: CacheKeys.unfinished) else { return }
    var transaction = begin()
    for path in try inconsistentPaths() { try transaction.touch(path) }
    // The documents of all targets, active or not, have to be loaded to find out which documents are still
    // referenced.
    for id in targets.keys { _ = try remoteKeys(of: id) }
    for case .integer(let number) in unfinished.list("t") {
      if let number = Int32(exactly: number) { try forget(TargetID(number), &transaction) }
    }
    for case .string(let name) in unfinished.list("b") {
      let batch = CacheKeys.batch(name)
      guard try store.document(at: batch) == nil else { continue }
      let parts = StructuredQuery(.collection(CacheKeys.parts(of: batch)))
      for part in try store.documents(parts) { transaction.remove(part.path) }
    }
    for (user, known) in bases {
      for path in known.keys where queues[user]?.hasWrites(path) != true {
        bases[user]?[path] = nil
        transaction.remove(CacheKeys.base(path, of: user))
      }
    }
    removeUnfinishedRejections(&transaction)
    transaction.remove(CacheKeys.unfinished)
    try finish(&transaction)
  }

  /// Returns the documents whose stored view may differ from the view that the queue computes.
  private func inconsistentPaths() throws(DocumentStoreError) -> Set<DocumentPath> {
    var paths = Set(queues.values.flatMap(\.paths))
    for note in try store.documents(StructuredQuery(.collection(CacheKeys.remotes)))
    where note.fields["f"] != nil {
      paths.insert(CacheKeys.path(note.path.id))
    }
    return paths
  }

  /// Clears the resume state and the documents of a target, but keeps the target's id.
  private func forget(
    _ id: TargetID, _ transaction: inout CacheTransaction
  ) throws(DocumentStoreError) {
    for path in try remoteKeys(of: id) {
      transaction.remove(CacheKeys.key(path, of: id))
      transaction.orphans.insert(path)
    }
    keys[id] = []
    guard let known = targets[id] else { return }
    let unknown = StoredTarget(id: id, text: known.text, sequence: known.sequence)
    targets[id] = unknown
    transaction.put(unknown)
  }
}

extension StoredDocument {
  fileprivate func list(_ name: String) -> [StoredValue] {
    if case .array(let values)? = fields[name] { values } else { [] }
  }
}
