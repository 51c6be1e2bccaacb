// What a crash has left of a step that was several commits.
//
//   documents   one with pending writes, or that had some in the half of the step that is there, stands as the queue
//               makes it. Others are as the remote had them, before the step or after it: either is well
//   targets     nothing is known any more of those that the step changes: the remote tells all of them again
//   batches     parts without their batch are removed, and what writes were made on that are there no more
//
// Mending is a step like others, which may be cut off as well.

internal import DocumentStore

extension LocalStore {
  func mend() throws(DocumentStoreError) {
    guard let unfinished = try store.document(at: CacheKeys.unfinished) else { return }
    var transaction = begin()
    for path in try mixedPaths() { try transaction.touch(path) }
    // Who holds a document is to be known, whether somebody uses the target or not.
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
      for path in known.keys where queues[user]?.isAbout(path) != true {
        bases[user]?[path] = nil
        transaction.remove(CacheKeys.base(path, of: user))
      }
    }
    transaction.remove(CacheKeys.unfinished)
    try finish(&transaction)
  }

  /// What is at their own paths may not be what the queue makes.
  private func mixedPaths() throws(DocumentStoreError) -> Set<DocumentPath> {
    var paths = Set(queues.values.flatMap(\.paths))
    for note in try store.documents(StructuredQuery(.collection(CacheKeys.remotes)))
    where note.fields["f"] != nil {
      paths.insert(CacheKeys.path(note.path.id))
    }
    return paths
  }

  /// Its number stays.
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
