// The rejections that the app has not seen yet. A rejection is stored by the commit that removes its batch.

package import DocumentStore

extension LocalStore {
  /// Returns the current user's rejections after the given one, oldest first.
  package func rejections(after id: BatchID?) throws(DocumentStoreError) -> [Rejection] {
    var found: [Rejection] = []
    for kept in rejections[user]?.items ?? [] where id.map({ $0 < kept.id }) ?? true {
      let path = CacheKeys.rejection(kept.id, of: user)
      guard let stored = try store.document(at: path), let rejection = Rejection(stored.fields, of: user)
      else { throw RemoteNote.damaged(path, store) }
      found.append(rejection)
    }
    return found
  }

  /// Removes a rejection that the app has seen. After a power loss it may be back.
  package func removeRejection(_ id: BatchID, of user: String?) throws(DocumentStoreError) {
    try step { () throws(DocumentStoreError) in
      guard rejections[user]?.remove(id) == true else { return }
      if rejections[user]?.isEmpty == true { rejections[user] = nil }
      var transaction = begin()
      transaction.remove(CacheKeys.rejection(id, of: user))
      try finish(&transaction)
    }
  }

  /// Keeps a rejection of the current user, and drops older ones that exceed the limits.
  func keep(_ rejection: Rejection, _ transaction: inout CacheTransaction) {
    let fields = rejection.fields
    transaction.put(fields, at: CacheKeys.rejection(rejection.id, of: user))
    rejections[user, default: KeptRejections()].append(
      rejection.id, bytes: StoredMap(fields).recordBytesMax)
    for id in rejections[user]?.removeExcess(rejectionLimits) ?? [] {
      transaction.remove(CacheKeys.rejection(id, of: user))
      droppedRejectionCount += 1
    }
  }

  func loadRejections() throws(DocumentStoreError) {
    var found: [String?: [(id: BatchID, bytes: Int)]] = [:]
    for stored in try store.documents(StructuredQuery(.collection(CacheKeys.rejections))) {
      let parts = stored.path.id.split(separator: ":").map(String.init)
      guard parts.count == 2, let user = CacheKeys.user(queueName: parts[0]),
        let rejection = Rejection(stored.fields, of: user), parts[1] == "\(rejection.id)"
      else { throw RemoteNote.damaged(stored.path, store) }
      found[user, default: []].append((rejection.id, stored.fields.recordBytesMax))
    }
    for (user, items) in found {
      for (id, bytes) in items.sorted(by: { $0.id < $1.id }) {
        rejections[user, default: KeptRejections()].append(id, bytes: bytes)
      }
    }
  }

  /// Removes the rejections whose batches are still pending, because a step that removed them was
  /// interrupted.
  func removeUnfinishedRejections(_ transaction: inout CacheTransaction) {
    for (user, kept) in rejections {
      for (id, _) in kept.items where queues[user]?[id] != nil {
        _ = rejections[user]?.remove(id)
        transaction.remove(CacheKeys.rejection(id, of: user))
      }
    }
  }
}
