// Storage of batches: a small batch is one value, a large one is split into parts.

internal import DocumentStore

extension LocalStore {
  /// Writes a new or changed batch of the current user's queue.
  func put(_ batch: PendingBatch, _ transaction: inout CacheTransaction) {
    put(batch, of: user, transaction: &transaction)
  }

  /// Writes a new batch of any user's queue.
  func put(_ batch: PendingBatch, of user: String?, transaction: inout CacheTransaction) {
    let path = CacheKeys.batch(batch.id, of: user)
    let bytes = BatchCodec.encode(batch)
    let partCount = bytes.count > sizes.part ? (bytes.count - 1) / sizes.part + 1 : 0
    var fields: [StoredMap.Entry] = [partCount > 0 ? ("n", .integer(Int64(partCount))) : ("b", .bytes(bytes))]
    if mayHaveSent(batch, of: user) { fields.append(("s", .boolean(true))) }
    if let origin = batch.origin {
      fields += [("i", .integer(origin.batch.value)), ("o", .string(origin.queue))]
    }
    transaction.put(fields, at: path)
    for number in 0..<partCount {
      let part = Array(bytes[(number * sizes.part)...].prefix(sizes.part))
      transaction.put([("b", .bytes(part))], at: CacheKeys.part(number, of: path))
    }
    removeParts(of: path, from: partCount, transaction: &transaction)
    partCounts[path] = partCount > 0 ? partCount : nil
  }

  func removeBatch(_ id: BatchID, of user: String?, transaction: inout CacheTransaction) {
    let path = CacheKeys.batch(id, of: user)
    transaction.remove(path)
    removeParts(of: path, from: 0, transaction: &transaction)
    partCounts[path] = nil
  }

  private func removeParts(
    of path: DocumentPath, from first: Int, transaction: inout CacheTransaction
  ) {
    guard let count = partCounts[path], first < count else { return }
    for number in first..<count { transaction.remove(CacheKeys.part(number, of: path)) }
  }

  /// Reads all bytes of a batch, which may belong to any user.
  func bytes(ofBatch stored: StoredDocument) throws(DocumentStoreError) -> [UInt8] {
    var bytes = stored.bytes("b")
    let count = Int(clamping: stored.integer("n"))
    guard count > 0 else { return bytes }
    for number in 0..<count {
      guard let part = try store.document(at: CacheKeys.part(number, of: stored.path)) else {
        throw RemoteNote.damaged(stored.path, store)
      }
      bytes += part.bytes("b")
    }
    partCounts[stored.path] = count
    return bytes
  }
}
