// The pending writes of any user: listed, discarded, exported and imported.
//
// A write is imported once:
//
//   1. an export ends the run, so later batches have another run. The numbers of the exported batches are
//      lower than all that the remote will see of these runs
//   2. an imported batch keeps the identity that it had in the exporting queue. A remote that remembers
//      accepted batches applies it once, even if several stores send it
//   3. a batch is not imported into a queue in which it is pending. When an exported or imported batch is
//      answered or cancelled, its number is kept, and it is not imported into that queue again
//   4. numbers are kept for a year. A batch that was issued before the end of the forgotten time is not
//      imported, because it may be one whose number was forgotten. So forgetting never applies a batch twice,
//      whatever the clocks of the devices show
//
// Numbers are forgotten by exports and imports, because nothing else adds them.

package import DocumentStore

extension LocalStore {
  /// The time for which the numbers of exported and imported batches are kept, in microseconds: a year.
  private static let importsLifetime: Int64 = 365 * 86_400_000_000

  /// The users who have pending writes, in the order of their names.
  package var usersWithPendingWrites: [String?] {
    queues.filter { !$0.value.isEmpty }.keys.sorted { CacheKeys.queueName($0) < CacheKeys.queueName($1) }
  }

  package func pendingBatches(of user: String?) -> [PendingBatch] { queues[user]?.all ?? [] }

  // MARK: Discarding

  /// Removes all pending writes of a user. They may be imported later. Returns the documents whose view may
  /// have changed.
  package func discardWrites(of user: String?) throws(DocumentStoreError) -> [SyncedDocument] {
    guard let queue = queues[user], !queue.isEmpty else { return [] }
    return try step { () throws(DocumentStoreError) in
      var transaction = begin()
      queues[user] = nil
      for batch in queue.all {
        removeBatch(batch.id, of: user, transaction: &transaction)
        dropTokens(of: batch.run, user, transaction: &transaction)
        dropExport(of: batch.run, user, transaction: &transaction)
      }
      var documents: [SyncedDocument] = []
      for path in queue.paths {
        dropBase(path, of: user, transaction: &transaction)
        transaction.orphans.insert(path)
        guard user == self.user else { continue }
        try transaction.touch(path)
        documents.append(try transaction.remote(path))
      }
      try finish(&transaction, durability: nil)
      return documents
    }
  }

  /// Removes the pending writes that an export has, and no others. They may be imported later. Returns their
  /// numbers in this queue, and the documents whose view may have changed.
  package func discardWrites(
    in exported: ExportedWrites
  ) throws(DocumentStoreError) -> (ids: [BatchID], documents: [SyncedDocument]) {
    let user = exported.user
    let wanted = Set(exported.batches.map { ExportedWrites.Identity(run: $0.run, number: $0.number) })
    let all = pendingBatches(of: user)
    let batches = all.filter { wanted.contains(ExportedWrites.Identity(run: $0.run, number: $0.remoteID)) }
    let ids = batches.map(\.id)
    guard batches.count < all.count else { return (ids, try discardWrites(of: user)) }
    guard !batches.isEmpty else { return ([], []) }
    return try step { () throws(DocumentStoreError) in
      var transaction = begin()
      for batch in batches {
        // A write that follows a discarded one can no longer have the result that it requires.
        for path in batch.paths {
          let updates = queues[user]?.updateFollowers(of: batch, path, answer: nil)
          for changed in updates?.changed ?? [] { put(changed, of: user, transaction: &transaction) }
        }
        queues[user]?.remove(batch.id)
        removeBatch(batch.id, of: user, transaction: &transaction)
        dropTokens(of: batch.run, user, transaction: &transaction)
        dropExport(of: batch.run, user, transaction: &transaction)
      }
      var documents: [SyncedDocument] = []
      for path in Set(batches.flatMap(\.paths)) {
        if queues[user]?.hasWrites(path) != true { dropBase(path, of: user, transaction: &transaction) }
        transaction.orphans.insert(path)
        guard user == self.user else { continue }
        try transaction.touch(path)
        documents.append(local(try transaction.remote(path)))
      }
      try finish(&transaction, durability: nil)
      return (ids, documents)
    }
  }

  // MARK: Exporting

  /// Returns the pending writes of a user, which stay in the queue.
  package func exportWrites(of user: String?) throws(DocumentStoreError) -> ExportedWrites {
    let batches = pendingBatches(of: user)
    let runs = Set(batches.map(\.run))
    try step { () throws(DocumentStoreError) in
      var transaction = begin()
      try forgetImports(&transaction)
      for run in runs { transaction.put([], at: CacheKeys.export(of: run, user)) }
      exportedRuns[user, default: []].formUnion(runs)
      try finish(&transaction, durability: nil)
    }
    if runs.contains(run) { beginRun() }
    let name = "\(client)/\(CacheKeys.queueName(user))"
    let exported = batches.map { batch in
      ExportedWrites.Batch(
        queue: batch.origin?.queue ?? name, run: batch.run, number: batch.remoteID,
        bytes: BatchCodec.encode(batch.numbered(batch.remoteID)))
    }
    let registrations = runs.sorted { $0.value < $1.value }.flatMap { run in
      (runTokens[user]?[run]?.issued ?? []).map {
        ExportedWrites.Registration(run: run, token: $0.token, through: $0.through)
      }
    }
    return ExportedWrites(user: user, batches: exported, registrations: registrations)
  }

  func loadExports() throws(DocumentStoreError) {
    for stored in try store.documents(StructuredQuery(.collection(CacheKeys.exports))) {
      let parts = stored.path.id.split(separator: ":").map(String.init)
      guard parts.count == 2, let user = CacheKeys.user(queueName: parts[0]),
        let run = UInt64(parts[1], radix: 36)
      else { throw RemoteNote.damaged(stored.path, store) }
      exportedRuns[user, default: []].insert(RunID(run))
    }
    forgottenThrough = try store.document(at: CacheKeys.imports)?.integer("t")
  }

  // MARK: Batches that have left the queue

  /// Notes that a batch has left the queue, if it may be imported.
  func noteAnswered(_ batch: PendingBatch, _ transaction: inout CacheTransaction) throws(DocumentStoreError) {
    guard batch.origin != nil || exportedRuns[user]?.contains(batch.run) == true else { return }
    let now = try store.snapshot().time ?? batch.time
    transaction.put(
      [("a", .integer(now.microseconds)), ("t", .integer(batch.time.microseconds))],
      at: CacheKeys.answered(batch.remoteID, batch.run, of: user))
  }

  /// Removes the note of an exported run after its last batch left the queue. No batch of the run can come
  /// into the queue again, except by an import.
  func dropExport(of run: RunID, _ user: String?, transaction: inout CacheTransaction) {
    guard run != self.run, (queues[user]?.count(of: run) ?? 0) == 0,
      exportedRuns[user]?.remove(run) != nil
    else { return }
    if exportedRuns[user]?.isEmpty == true { exportedRuns[user] = nil }
    transaction.remove(CacheKeys.export(of: run, user))
  }

  /// Forgets batches that were issued and left their queue long ago, and runs without pending batches.
  private func forgetImports(_ transaction: inout CacheTransaction) throws(DocumentStoreError) {
    for (user, runs) in exportedRuns {
      for run in runs { dropExport(of: run, user, transaction: &transaction) }
    }
    guard let now = try store.snapshot().time else { return }
    let (end, overflow) = now.microseconds.subtractingReportingOverflow(Self.importsLifetime)
    guard !overflow else { return }
    var through = forgottenThrough
    for stored in try store.documents(StructuredQuery(.collection(CacheKeys.answered))) {
      guard case .integer(let left)? = stored.fields["a"], case .integer(let issued)? = stored.fields["t"],
        left <= end, issued <= end
      else { continue }
      transaction.remove(stored.path)
      through = max(through ?? issued, issued)
    }
    guard let through, through != forgottenThrough else { return }
    forgottenThrough = through
    transaction.put([("t", .integer(through))], at: CacheKeys.imports)
  }

  // MARK: Importing

  /// Adds exported writes to the end of their user's queue, except those that were imported before. Returns
  /// their number, and the documents whose view changed. If the disk becomes full, the first writes may have
  /// been imported, and a later call imports the rest. Call `refusal(of:)` first.
  package func importWrites(
    _ exported: ExportedWrites
  ) throws(DocumentStoreError) -> (count: Int, documents: [SyncedDocument]) {
    let user = exported.user
    let new = try newBatches(of: exported)
    guard !new.isEmpty else { return (0, []) }
    try step { () throws(DocumentStoreError) in
      var transaction = begin()
      try forgetImports(&transaction)
      try finish(&transaction)
    }
    try importTokens(of: exported, Set(new.map(\.run)))
    var paths: Set<DocumentPath> = []
    for (place, batch) in new.enumerated() {
      let durability: StoreDurability? = place == new.count - 1 ? nil : .buffered
      do throws(DocumentStoreError) {
        try step { () throws(DocumentStoreError) in try add(batch, of: user, durability: durability) }
      } catch {
        // The writes before this one are in the queue.
        if place > 0 { hasChangedUnseen = true }
        throw error
      }
      if user == self.user { paths.formUnion(batch.paths) }
    }
    var documents: [SyncedDocument] = []
    for path in paths { documents.append(try document(path)) }
    return (new.count, documents)
  }

  /// Returns the reason why the export cannot be imported; nil if it can be. It may have batches whose number
  /// was forgotten.
  package func refusal(of exported: ExportedWrites) throws(DocumentStoreError) -> DocumentStoreError? {
    guard let forgottenThrough,
      try newBatches(of: exported).contains(where: { $0.time.microseconds <= forgottenThrough })
    else { return nil }
    return .failedPrecondition(
      "The export has writes that were issued so long ago that this database has forgotten whether it has "
        + "imported them.")
  }

  /// Returns the batches that were not imported before, as far as this is known.
  private func newBatches(of exported: ExportedWrites) throws(DocumentStoreError) -> [PendingBatch] {
    let user = exported.user
    let known = Set(
      (queues[user]?.all ?? []).map { ExportedWrites.Identity(run: $0.run, number: $0.remoteID) })
    var new: [PendingBatch] = []
    for batch in try exported.checkedBatches()
    where !known.contains(ExportedWrites.Identity(run: batch.run, number: batch.remoteID)) {
      let answered = CacheKeys.answered(batch.remoteID, batch.run, of: user)
      if try store.document(at: answered) == nil { new.append(batch) }
    }
    return new
  }

  private func importTokens(of exported: ExportedWrites, _ runs: Set<RunID>) throws(DocumentStoreError) {
    var new: [RunID: RunTokens] = [:]
    for run in runs where runTokens[exported.user]?[run] == nil {
      let issued = exported.registrations.filter { $0.run == run }
      guard issued.allSatisfy({ RemoteLimits.isValid(registration: $0.token) }),
        let tokens = RunTokens(issued.map { RunTokens.Issued(token: $0.token, through: $0.through) })
      else { throw ExportedWrites.invalid }
      if !issued.isEmpty { new[run] = tokens }
    }
    guard !new.isEmpty else { return }
    try step { () throws(DocumentStoreError) in
      var transaction = begin()
      for (run, tokens) in new {
        runTokens[exported.user, default: [:]][run] = tokens
        put(tokens, of: run, user: exported.user, transaction: &transaction)
      }
      try finish(&transaction)
    }
  }

  private func add(
    _ imported: PendingBatch, of user: String?, durability: StoreDurability?
  ) throws(DocumentStoreError) {
    var batch = imported.numbered(BatchID(globals.lastBatch + 1))
    // A write that follows writes which are not below it here was based on another state.
    for path in batch.paths where batch.follows(path) {
      let below = queues[user]?.batches(about: path) ?? []
      let isSame = below.allSatisfy { $0.origin?.queue == batch.origin?.queue }
      guard !isSame || !below.contains(where: { $0.producesDocument(path) }) else { continue }
      batch = batch.following(path, acceptedAt: nil)
    }
    var transaction = begin()
    transaction.isAtomic = true
    if user == self.user {
      for path in batch.paths {
        let seen = try transaction.seen(path, isPending: isPending(path))
        try transaction.touch(path, visible: batch.applied(to: seen))
      }
    }
    globals.lastBatch += 1
    put(batch, of: user, transaction: &transaction)
    queues[user, default: WriteQueue()].append(batch)
    try finish(&transaction, durability: durability)
  }
}
