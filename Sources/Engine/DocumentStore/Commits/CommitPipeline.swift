// A commit of documents, from the call to the acknowledgement.
//   1. validate     the request, against the limits (CommitRequest)
//                   and encode the fields that the mutations write
//   2. read ahead   the documents that the commit builds on, before taking the lock, so that no commit
//                   waits for another one's disk reads (CommitReader); and check a transaction's reads
//                   against later commits (TransactionCheck)
//   3. resolve      one commit at a time, in commit order: validate the transaction's reads
//                   (TransactionReads), assign the time, and apply the mutations to the latest states,
//                   pending ones included (CommitOrder)
//   4. encode       the batch: it takes the records of the changed documents, the shape definitions that the
//                   records need, and an entry of the change feed if the feed has a consumer (CommitEncoder)
//   5. log          determine the audience of each change (Publications), then enqueue in the byte store,
//                   whose leader writes and syncs a commit group
//   6. apply        to the key directory and all indexes atomically, and 7. publish: readers see it
//                   (CommitLayer)
//   8. complete     remove the pending states
//   9. notify       the listeners, and 10. acknowledge: the call returns
//
// The order's lock is held during steps 3 to 5. It is never held while waiting for the disk, or while user
// code runs. The leader of a commit group does steps 6 and 7 for the whole group. If a commit is refused (a
// full disk, a damaged page), the commits that depend on it fail with it and are resolved again.

import ByteStore

final class CommitPipeline: Sendable {
  private let bytes: ByteStore
  private let layer: CommitLayer
  private let reader: CommitReader
  private let durability: Durability
  private let clock: any StoreClock
  private let pauses: (any StorePauses)?
  /// The commit order. Its lock is held while a commit is resolved, encoded and enqueued.
  private let order: Locked<CommitOrder>

  init(
    _ bytes: ByteStore, _ layer: CommitLayer, feed: FeedLedger, durability: StoreDurability = .synced,
    clock: any StoreClock, pauses: (any StorePauses)? = nil
  ) {
    self.pauses = pauses
    self.durability = durability == .synced ? .synced : .buffered
    self.bytes = bytes
    self.layer = layer
    reader = CommitReader(bytes: bytes, layer: layer)
    self.clock = clock
    order = Locked(CommitOrder(lastTime: Int64(bitPattern: bytes.lastStamp), feed: feed))
  }

  func commit(_ mutations: [Mutation]) throws(DocumentStoreError) -> StoredTimestamp {
    try finish(try begin(mutations)).time
  }

  /// Performs steps 1 to 5, which give the commit its place in the order. Throws `aborted` if one of the
  /// reads in the terms would now return another result.
  func begin(
    _ mutations: [Mutation], _ terms: CommitTerms = CommitTerms()
  ) throws(DocumentStoreError) -> CommitInProgress {
    // This check comes before any lock is acquired: in a forked child, a lock may stay held forever.
    guard !bytes.isForked else { throw DocumentStoreError(.forked(directory: bytes.path)) }
    // A reader must not give ids to shapes, because the writer gives them to others.
    let shapes = bytes.options.isReadOnly ? nil : layer.shapes
    let request = try CommitRequest(mutations, terms, hash: bytes.keyHash, shapes: shapes)
    guard shapes != nil else { throw DocumentStoreError(.readOnly(directory: bytes.path)) }
    bytes.throttle(forBytes: request.bytes)
    do throws(DocumentStoreError) { return try begin(request) } catch {
      if error.isFailedWrite { bytes.measures?.count(.commitsFailed, by: 1) }
      throw error
    }
  }

  private func begin(_ request: CommitRequest) throws(DocumentStoreError) -> CommitInProgress {
    // If this position is the same later on, the documents that are read from here on are still current.
    let position = layer.publications.position
    let bases = reader.readAhead(request)
    var check = request.terms.reads.map { TransactionCheck($0) }
    check?.lookAhead { order.withLock { $0.changes } }
    pauses?.pause(at: .readAhead)
    return try order.withLock(when: { $0.isOpen }) { order throws(DocumentStoreError) in
      if let reads = request.terms.reads, let conflict = order.conflict(&check, since: reads.floor) {
        throw .aborted("The transaction cannot be committed: \(conflict).")
      }
      let time = try order.nextTime(clock)
      let isCurrent = layer.publications.position == position
      var resolved = try resolve(request, bases, isCurrent: isCurrent, order: order, at: time)
      let feed = order.feed
      do throws(DocumentStoreError) {
        return try translatingErrors { () throws(ByteStoreError) in
          let encoder = CommitEncoder(shapes: layer.shapes, time: time)
          let encoded = try encoder.encode(&resolved.changes, feed: &order.feed)
          return try log(encoded, resolved, request: request, order: &order, at: time)
        }
      } catch {
        // The commit failed before it got a place in the order. Its feed entry is therefore undone.
        order.feed = feed
        throw error
      }
    }
  }

  /// Performs steps 6 to 10. Returns as soon as the commit is durable and visible. The returned commit
  /// differs from `inProgress` if the commit had to be resolved again.
  func finish(_ inProgress: CommitInProgress) throws(DocumentStoreError) -> CommitInProgress {
    var inProgress = inProgress
    while true {
      pauses?.pause(at: .placed)
      do throws(ByteStoreError) {
        try bytes.finish(inProgress.commit)
        pauses?.pause(at: .published)
        complete(inProgress, succeeded: true)
        pauses?.pause(at: .completed)
        layer.publications.notify()
        return inProgress
      } catch {
        complete(inProgress, succeeded: false)
        guard error == .dependencyRefused else { throw DocumentStoreError(error) }
      }
      inProgress = try begin(inProgress.request)
    }
  }

  /// Runs `body` while no commit is in progress. New commits wait until `body` returns.
  func whileQuiescent(_ body: () throws(DocumentStoreError) -> Void) throws(DocumentStoreError) {
    order.withLock { $0.quiesceRequests += 1 }
    defer {
      order.withLock { $0.quiesceRequests -= 1 }
      order.wakeAll()
    }
    try order.withLock(when: { $0.isQuiescent }) { _ throws(DocumentStoreError) in try body() }
  }

  // MARK: 3. Resolve

  private struct Resolved {
    var changes: [CommitChange] = []
    /// The commits in progress that this commit depends on.
    var dependencies: [PendingCommit] = []
    /// The results of the mutations. Empty if they are not collected.
    var outcome = CommitOutcome(time: .epoch, writes: [])
  }

  /// Computes the state of each document after all mutations. The documents are in the order in which the
  /// mutations first mention them.
  private func resolve(
    _ request: CommitRequest, _ bases: CommitBases, isCurrent: Bool, order: CommitOrder,
    at time: StoredTimestamp
  ) throws(DocumentStoreError) -> Resolved {
    var resolved = Resolved()
    let collectsOutcome = request.terms.outcome != nil
    resolved.outcome.time = time
    resolved.changes.reserveCapacity(request.targets.count)
    var hasNone = false
    for number in request.writes.indices {
      let place = request.writes[number].place
      guard place == resolved.changes.count else {
        let updated = resolved.changes[place].updateTime(at: time)
        let base = resolved.changes[place].after
        resolved.changes[place].after =
          try collectsOutcome
          ? request.document(
            after: number, on: base,
            times: .init(before: resolved.changes[place].timeBefore, updated: updated),
            shapes: layer.shapes, outcome: &resolved.outcome)
          : request.document(after: number, on: base, at: time, updated: updated, shapes: layer.shapes)
        hasNone = hasNone || resolved.changes[place].isNone
        continue
      }
      // Most documents have one mutation. Their changes are made in one step, because each copy of a change
      // retains all of its parts.
      let target = request.targets[place]
      let base: CommitReader.Base
      if let pending = order.pending(target.key, hash: target.hash) {
        resolved.dependencies.append(pending.commit)
        base = CommitReader.Base(document: pending.after)
      } else {
        base = try reader.base(ofTarget: place, request, bases: bases, isCurrent: isCurrent)
      }
      let updated = CommitChange.updateTime(at: time, replacing: base.document?.updateTime)
      let after =
        try collectsOutcome
        ? request.document(
          after: number, on: base.document, times: .init(before: base.document?.updateTime, updated: updated),
          shapes: layer.shapes, outcome: &resolved.outcome)
        : request.document(after: number, on: base.document, at: time, updated: updated, shapes: layer.shapes)
      let lookup = bases.lookup(ofTarget: place, hash: target.hash)
      hasNone = hasNone || base.mayEqual(after)
      resolved.changes.append(CommitChange(target, base, after: after, lookup: lookup))
    }
    if hasNone { resolved.changes.removeAll(where: \.isNone) }
    return resolved
  }

  // MARK: 5. Log

  private func log(
    _ encoded: CommitEncoder.Encoded, _ resolved: Resolved, request: CommitRequest, order: inout CommitOrder,
    at time: StoredTimestamp
  ) throws(ByteStoreError) -> CommitInProgress {
    let effects = CommitEffects(
      time, resolved.changes, shapes: encoded.shapes, feed: order.feed.lastPosition)
    let commit = try bytes.enqueue(
      encoded.batch, durability: durability(of: request), note: effects, dependencies: resolved.dependencies
    )
    let number = order.begin(commit, effects)
    return CommitInProgress(
      request: request, effects: effects, commit: commit, number: number, feedBytes: encoded.feedBytes,
      isFeedTrimDue: encoded.feedBytes != nil && order.feed.isTrimDue, writes: resolved.outcome.writes)
  }

  private func durability(of request: CommitRequest) -> Durability {
    guard let wanted = request.terms.durability else { return durability }
    return wanted == .synced ? .synced : .buffered
  }

  // MARK: 8. Complete

  private func complete(_ inProgress: CommitInProgress, succeeded: Bool) {
    let (isAwaited, dropped) = order.withLock { order in
      let dropped = order.complete(
        inProgress.number, inProgress.changes, succeeded: succeeded)
      if let bytes = inProgress.feedBytes { order.feed.complete(bytes: bytes, succeeded: succeeded) }
      return (order.completionWaiters > 0 || order.isQuiescent && !order.isOpen, dropped)
    }
    withExtendedLifetime(dropped) {}
    if isAwaited { order.wakeAll() }
  }

  // MARK: Keys outside documents

  var feed: FeedLedger { order.withLock { $0.feed } }

  @discardableResult
  func withFeed<Result>(_ body: (inout FeedLedger) -> Result) -> Result { order.withLock { body(&$0.feed) } }

  /// Commits keys that the store keeps outside documents. `puts` runs when the commit gets its place in the
  /// order. If `puts` changes the feed and the commit fails, the caller must undo this change.
  func write(
    removing keys: [[UInt8]] = [], _ puts: (inout FeedLedger) -> [(key: [UInt8], value: [UInt8])]
  ) throws(DocumentStoreError) {
    guard !bytes.isForked else { throw DocumentStoreError(.forked(directory: bytes.path)) }
    let request = try CommitRequest([])
    let inProgress = try order.withLock(when: { $0.isOpen }) { order throws(DocumentStoreError) in
      let time = try order.nextTime(clock)
      return try translatingErrors { () throws(ByteStoreError) in
        let batch = try batch(puts(&order.feed), removing: keys, at: time)
        let encoded = CommitEncoder.Encoded(batch: batch)
        return try log(encoded, Resolved(), request: request, order: &order, at: time)
      }
    }
    _ = try finish(inProgress)
  }

  private func batch(
    _ puts: [(key: [UInt8], value: [UInt8])], removing keys: [[UInt8]], at time: StoredTimestamp
  ) throws(ByteStoreError) -> Batch {
    var batch = Batch(stamp: UInt64(bitPattern: time.microseconds))
    for (key, value) in puts { try batch.put(value, for: key) }
    for key in keys { try batch.remove(key) }
    return batch
  }

  /// Makes all later commits of this process later than `time`. Returns the time of the last commit that has
  /// a place in the order.
  func raiseTime(to time: Int64) -> Int64 { order.withLock { $0.raise(to: time) } }

  // MARK: Transactions

  /// Opens a transaction and returns its floor and number. Call this before taking the transaction's
  /// snapshot. `closeTransaction` closes the transaction.
  func openTransaction() -> (floor: UInt64, number: UInt64) {
    let opened = order.withLock { $0.openTransaction() }
    pauses?.pause(at: .begun)
    return opened
  }

  func closeTransaction(_ floor: UInt64) {
    let dropped = order.withLock { $0.closeTransaction(floor) }
    withExtendedLifetime(dropped) {}
  }

  /// Describes a change to something that a transaction has read, even if the change was undone since; nil if
  /// all reads hold in every state since the transaction began.
  func change(of reads: TransactionReads) -> String? {
    var noCheck: TransactionCheck?
    let (changes, gap) = order.withLock { ($0.changes, $0.conflict(&noCheck, since: reads.floor)) }
    var conflict = gap
    func look(at change: CommitHistory.Change) {
      conflict = conflict ?? reads.conflict(change.key, change.after)?.text(change.key)
    }
    changes.history.forEach(since: reads.floor, look)
    changes.pending.forEach(look)
    return conflict
  }

  /// Waits until all commits that are in progress at the time of the call are complete.
  func waitForCommitsInProgress() {
    let last = order.withLock { order in
      order.completionWaiters += 1
      return order.lastNumber
    }
    while let pauses, !order.withLock({ $0.isComplete(through: last) }) { pauses.pause(at: .waiting) }
    order.withLock(when: { $0.isComplete(through: last) }) { $0.completionWaiters -= 1 }
  }
}

/// A commit that has its place in the order. The caller must call `finish`, even if it does not need the
/// result.
package struct CommitInProgress: Sendable {
  let request: CommitRequest
  let effects: CommitEffects
  let commit: PendingCommit
  let number: UInt64
  let feedBytes: Int?
  let isFeedTrimDue: Bool
  /// The results of the mutations. Empty if they are not collected.
  let writes: [CommitOutcome.Write]

  var time: StoredTimestamp { effects.time }
  var changes: [CommitChange] { effects.changes }
}
