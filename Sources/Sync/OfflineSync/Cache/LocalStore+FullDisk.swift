// Steps that find no space on the disk. Such a step has no effect, and the client stays usable.
//
//   1. a commit fails with `full`, so it wrote nothing
//   2. the state in memory is loaded from the store again, as at an open. Numbers that were given out are
//      not given out again. Targets that are not in the store yet start anew
//   3. if earlier commits of the step succeeded, the step is repaired (LocalStore+Repair). The repair may
//      find no space, too. Until it succeeds, every step fails with `full`, and only reads are possible
//
// A user's write is undone in memory instead, because loading costs as much as the queue is long. Releasing
// a target and unpinning documents only concern the size of the cache. They succeed in memory, and the next
// commit writes them.

package import DocumentStore

extension LocalStore {
  /// Runs a step. If the disk is full, the step has no effect.
  func step<Value>(
    _ body: () throws(DocumentStoreError) -> Value
  ) throws(DocumentStoreError) -> Value {
    try finishRepair()
    let droppedBefore = droppedRejectionCount
    do throws(DocumentStoreError) {
      return try body()
    } catch {
      guard case .full = error else { throw error }
      droppedRejectionCount = droppedBefore
      try reload()
      throw error
    }
  }

  /// Repairs a step that a full disk interrupted.
  func finishRepair() throws(DocumentStoreError) {
    guard needsRepair else { return }
    do throws(DocumentStoreError) {
      try repair()
      needsRepair = false
    } catch {
      guard case .full = error else { throw error }
      try loadAgain()
      throw error
    }
  }

  /// Notes that a step failed, after its effect in memory was undone.
  func noteFailedStep() throws(DocumentStoreError) {
    guard try store.document(at: CacheKeys.unfinished) != nil else { return }
    needsRepair = true
  }

  private func reload() throws(DocumentStoreError) {
    try loadAgain()
    guard needsRepair else { return }
    do throws(DocumentStoreError) { try finishRepair() } catch {
      guard case .full = error else { throw error }
    }
  }

  private func loadAgain() throws(DocumentStoreError) {
    let (before, known) = (globals, targets)
    let loadedKeys = Set(keys.keys)
    removeAll()
    _ = try load()
    globals.lastBatch = max(globals.lastBatch, before.lastBatch)
    globals.lastTarget = max(globals.lastTarget, before.lastTarget)
    globals.sequence = max(globals.sequence, before.sequence)
    for target in known.values where targets[target.id] == nil && idsByText[target.text] == nil {
      targets[target.id] = StoredTarget(id: target.id, text: target.text, sequence: target.sequence)
      idsByText[target.text] = target.id
      keys[target.id] = []
      unwrittenTargets.insert(target.id)
    }
    for id in loadedKeys where targets[id] != nil { _ = try remoteKeys(of: id) }
    if try store.document(at: CacheKeys.unfinished) != nil { (needsRepair, hasChangedUnseen) = (true, true) }
  }

  /// Finds out whether the store takes writes again, and writes what was left out.
  package func probe() throws(DocumentStoreError) {
    try finishRepair()
    try flush(isNew: true)
  }

  /// Whether a part of a failed step is in the store, so that documents may differ from the results that
  /// were returned. Returns true once for each such step, after its repair.
  package func takeUnseenChange() -> Bool {
    guard hasChangedUnseen, !needsRepair else { return false }
    hasChangedUnseen = false
    return true
  }
}
