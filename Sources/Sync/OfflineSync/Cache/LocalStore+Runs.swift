// The registrations of the runs that have pending writes.
//
// A token is stored before the first batch is sent under it. A client may lose the answer to a batch, and
// stay away until the remote has forgotten the run. It then sends the token with the batch, and the remote
// does not apply the batch a second time.

internal import DocumentStore

extension LocalStore {
  /// The runs to register with the write stream: those of the first pending batches, and then this run. A
  /// remote need not accept more, and the runs of one stream belong to one queue. Batches of further runs
  /// wait for the next stream, and so do batches that were imported from another queue.
  var registrations: [RunRegistration] {
    let known = runTokens[user] ?? [:]
    let origin = queue.first?.origin?.queue
    var runs = queue.runs(of: origin, max: registrationsMax - 1)
    if origin == nil {
      runs.removeAll { $0 == run }
      runs.append(run)
    }
    return runs.map {
      RunRegistration(queue: origin ?? queueName, run: $0, token: known[$0]?.current ?? [])
    }
  }

  /// Returns the token to send with a batch; empty if the remote gave none.
  func registration(of batch: PendingBatch) -> [UInt8] {
    runTokens[user]?[batch.run]?.token(of: batch.remoteID) ?? []
  }

  func mayHaveSent(_ batch: PendingBatch, of user: String?) -> Bool {
    runTokens[user]?[batch.run]?.mayHaveSent(batch.remoteID) ?? false
  }

  /// Stores the tokens of a registration. All pending batches may be sent when this returns.
  func register(_ tokens: [RunID: [UInt8]]) throws(DocumentStoreError) {
    let spans = queue.spans
    let before = runTokens[user] ?? [:]
    var known = before
    for (run, token) in tokens where !token.isEmpty && (run == self.run || spans[run] != nil) {
      let span = spans[run]
      known[run, default: RunTokens()].register(
        token, first: span?.first, through: span?.last ?? BatchID(globals.lastBatch))
    }
    // A run that ended without pending batches is not registered again.
    for run in before.keys where run != self.run && spans[run] == nil { known[run] = nil }
    let ended = endedRunsOfOtherUsers
    guard known != before || !ended.isEmpty else { return }
    try step { () throws(DocumentStoreError) in
      runTokens[user] = known
      var transaction = begin()
      for (other, run) in ended { dropTokens(of: run, other, transaction: &transaction) }
      for run in Set(before.keys).union(known.keys) where known[run] != before[run] {
        put(known[run], of: run, user: user, transaction: &transaction)
      }
      try finish(&transaction, durability: nil)
    }
  }

  /// The runs of other users that ended without pending batches. Such a user may never return.
  private var endedRunsOfOtherUsers: [(user: String?, run: RunID)] {
    var ended: [(user: String?, run: RunID)] = []
    for (other, runs) in runTokens where other != user {
      for run in runs.keys where run != self.run && (queues[other]?.count(of: run) ?? 0) == 0 {
        ended.append((other, run))
      }
    }
    return ended
  }

  /// Notes that a new batch of this run will be sent as soon as it is in the queue.
  func sendAtOnce(_ batch: BatchID) { runTokens[user]?[run]?.send(batch) }

  /// Removes the tokens of an earlier run after its last batch left the queue.
  func dropTokens(of run: RunID, _ user: String?, transaction: inout CacheTransaction) {
    guard run != self.run, (queues[user]?.count(of: run) ?? 0) == 0,
      runTokens[user]?.removeValue(forKey: run) != nil
    else { return }
    put(nil, of: run, user: user, transaction: &transaction)
  }

  // MARK: Storing

  func put(
    _ tokens: RunTokens?, of run: RunID, user: String?, transaction: inout CacheTransaction
  ) {
    let path = CacheKeys.registration(run, of: user)
    guard let tokens else { return transaction.remove(path) }
    transaction.put(
      [
        ("b", .array(tokens.issued.map { .integer($0.through.value) })),
        ("t", .array(tokens.issued.map { .bytes($0.token) })),
      ], at: path)
  }

  func loadRunTokens() throws(DocumentStoreError) {
    for stored in try store.documents(StructuredQuery(.collection(CacheKeys.registrations))) {
      let parts = stored.path.id.split(separator: ":").map(String.init)
      guard parts.count == 2, let user = CacheKeys.user(queueName: parts[0]),
        let run = UInt64(parts[1], radix: 36), case .array(let batches)? = stored.fields["b"],
        case .array(let tokens)? = stored.fields["t"], batches.count == tokens.count
      else { throw RemoteNote.damaged(stored.path, store) }
      let issued = zip(batches, tokens).compactMap { batch, token -> RunTokens.Issued? in
        guard case .integer(let through) = batch, case .bytes(let token) = token else { return nil }
        return RunTokens.Issued(token: token, through: BatchID(through))
      }
      guard issued.count == tokens.count, let known = RunTokens(issued) else {
        throw RemoteNote.damaged(stored.path, store)
      }
      runTokens[user, default: [:]][RunID(run)] = known
    }
  }
}
