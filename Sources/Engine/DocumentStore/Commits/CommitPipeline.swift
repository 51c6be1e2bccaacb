// A commit of documents, from the call to the acknowledgement.
//   1. validate     the request, against the limits (CommitRequest)
//   2. read ahead   the documents that the commit builds on, before taking the lock, so that no commit
//                   waits for another one's disk reads; and check a transaction's reads against later
//                   commits (TransactionCheck)
//   3. resolve      one commit at a time, in commit order: validate the transaction's reads
//                   (TransactionReads), assign the time, and apply the mutations to the latest states,
//                   pending ones included (CommitOrder)
//   4. encode       a record for each changed document, the shape definitions that the records need
//                   (ShapeDictionary), and an entry of the change feed if the feed has a consumer
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
    self.clock = clock
    order = Locked(CommitOrder(lastTime: Int64(bitPattern: bytes.lastStamp), feed: feed))
  }

  func commit(_ mutations: [Mutation]) throws(DocumentStoreError) -> StoredTimestamp {
    try finish(try begin(mutations)).time
  }

  /// Performs steps 1 to 5, which give the commit its place in the order. With `reads`, throws `aborted` if
  /// one of these reads would now return another result.
  func begin(
    _ mutations: [Mutation], reads: TransactionReads? = nil, durability: StoreDurability? = nil
  ) throws(DocumentStoreError) -> CommitInProgress {
    // This check comes before any lock is acquired: in a forked child, a lock may stay held forever.
    guard !bytes.isForked else { throw DocumentStoreError(.forked(directory: bytes.path)) }
    let request = try CommitRequest(mutations, reads: reads, durability: durability)
    bytes.throttle(forBytes: request.bytes)
    do throws(DocumentStoreError) { return try begin(request) } catch {
      if error.isFailedWrite { bytes.measures?.count(.commitsFailed, by: 1) }
      throw error
    }
  }

  private func begin(_ request: CommitRequest) throws(DocumentStoreError) -> CommitInProgress {
    // If this position is the same later on, the documents that are read from here on are still current.
    let position = layer.publications.position
    let bases = readAhead(request)
    var check = request.reads.map { TransactionCheck($0) }
    check?.lookAhead { order.withLock { $0.changes } }
    pauses?.pause(at: .readAhead)
    return try order.withLock(when: { $0.isOpen }) { order throws(DocumentStoreError) in
      if let reads = request.reads, let conflict = order.conflict(&check, since: reads.floor) {
        throw .aborted("The transaction cannot be committed: \(conflict).")
      }
      let time = try order.nextTime(clock)
      let isCurrent = layer.publications.position == position
      var resolved = try resolve(request, bases, isCurrent: isCurrent, order: order, at: time)
      let feed = order.feed
      do throws(DocumentStoreError) {
        return try translatingErrors { () throws(ByteStoreError) in
          let encoded = try encode(&resolved, &order, at: time)
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

  // MARK: 2. Read ahead

  /// A document as readers see it at step 2. It may be older than the state that the commit will build on.
  private struct Base {
    var record: [UInt8]?
    var document: StoredDocument?
    /// The error of the read. It is thrown only if the commit needs the document.
    var failure: DocumentStoreError?
  }

  private func readAhead(_ request: CommitRequest) -> [Base?] {
    request.targets.map { target in
      guard needsBase(target, request) else { return nil }
      do throws(DocumentStoreError) {
        guard let record = try record(target) else { return Base() }
        return Base(record: record, document: try document(target, request, record: record.rawSpan))
      } catch {
        return Base(failure: error)
      }
    }
  }

  private func needsBase(_ target: CommitRequest.Target, _ request: CommitRequest) -> Bool {
    !request.isBlindRemoval(target) || layer.needsBase(ofCollection: target.path.collectionID)
  }

  private func record(_ target: CommitRequest.Target) throws(DocumentStoreError) -> [UInt8]? {
    try translatingErrors { () throws(ByteStoreError) in try bytes.value(for: target.key) }
  }

  private func document(
    _ target: CommitRequest.Target, _ request: CommitRequest, record: RawSpan
  ) throws(DocumentStoreError) -> StoredDocument {
    do throws(RecordError) { return try request.document(target, record, shapes: layer.shapes.table) } catch {
      guard request.replaces(target) else {
        throw DocumentStoreError(error, at: target.path, in: bytes.path)
      }
      // The record is unreadable, including its times. The commit replaces the whole record, so this is no
      // reason to fail.
      return StoredDocument(
        path: target.path, createTime: .unreadable, updateTime: .unreadable,
        fields: StoredDocument.damagedFields)
    }
  }

  // MARK: 3. Resolve

  private struct Resolved {
    var changes: [CommitChange] = []
    /// The commits in progress that this commit depends on.
    var dependencies: [PendingCommit] = []
    /// The size of the commit's feed entry; nil if it has no feed entry.
    var feedBytes: Int?
  }

  /// Computes the state of each document after all mutations. The documents are in the order in which the
  /// mutations first mention them.
  private func resolve(
    _ request: CommitRequest, _ bases: [Base?], isCurrent: Bool, order: CommitOrder,
    at time: StoredTimestamp
  ) throws(DocumentStoreError) -> Resolved {
    var resolved = Resolved()
    resolved.changes.reserveCapacity(request.targets.count)
    for (number, place) in request.places.enumerated() {
      if place == resolved.changes.count {
        let target = request.targets[place]
        if let pending = order.pending(target.key) {
          resolved.dependencies.append(pending.commit)
          resolved.changes.append(CommitChange(target, pending.after))
        } else {
          let change = try stored(target, request, base: bases[place], isCurrent: isCurrent)
          resolved.changes.append(change)
        }
      }
      let updated = resolved.changes[place].updateTime(at: time)
      let after = try request.mutations[number].apply(
        to: resolved.changes[place].after, at: time, updated: updated)
      if let after, request.mutations[number].dependsOnStoredFields { try DocumentLimits.check(after) }
      resolved.changes[place].after = after
    }
    resolved.changes.removeAll(where: \.isNone)
    return resolved
  }

  /// The stored state of a document, which has no pending state. `isCurrent` is true if the documents read in
  /// step 2 are known to be still current.
  private func stored(
    _ target: CommitRequest.Target, _ request: CommitRequest, base: Base?, isCurrent: Bool
  ) throws(DocumentStoreError) -> CommitChange {
    guard let base else {
      return CommitChange(
        path: target.path, key: target.key, before: nil, isBeforeKnown: false, after: nil)
    }
    if let failure = base.failure {
      // A commit may have replaced the unreadable document since it was read.
      guard let record = try record(target) else { return CommitChange(target, nil) }
      guard let document = try? document(target, request, record: record.rawSpan) else { throw failure }
      return CommitChange(target, document)
    }
    // The commits since step 2 usually changed other documents. Whether this document is unchanged is found
    // by comparing bytes, which is cheaper than decoding it again.
    let isSame = isCurrent ? true : try isStored(base.record, target.key)
    if isSame { return CommitChange(target, base.document) }
    guard let record = try record(target) else { return CommitChange(target, nil) }
    return CommitChange(target, try document(target, request, record: record.rawSpan))
  }

  private func isStored(_ record: [UInt8]?, _ key: [UInt8]) throws(DocumentStoreError) -> Bool {
    let isSame = try translatingErrors { () throws(ByteStoreError) in
      try bytes.withValue(for: key) { stored in record?.rawSpan.isSame(as: stored) ?? false }
    }
    return isSame ?? (record == nil)
  }

  // MARK: 4. Encode

  private struct Encoded {
    var batch: Batch
    /// Ids of the shapes that the batch defines.
    var shapes: [Int]
  }

  private func encode(
    _ resolved: inout Resolved, _ order: inout CommitOrder, at time: StoredTimestamp
  ) throws(ByteStoreError) -> Encoded {
    var encoder = RecordEncoder(shapes: layer.shapes, room: order.takeRecordBuffer())
    defer { order.recycle(recordBuffer: encoder.bytes) }
    var bytes = 0
    var records: [Range<Int>?] = []
    records.reserveCapacity(resolved.changes.count)
    for place in resolved.changes.indices {
      let key = resolved.changes[place].key
      let record = resolved.changes[place].after.map { encoder.append($0) }
      resolved.changes[place].recordBytes = record?.count ?? 0
      bytes += record.map { Batch.bytes(ofPutOf: $0.count, for: key) } ?? Batch.bytes(ofRemovalOf: key)
      // Small mutations of large documents can exceed the size limit of a commit. The encoding stops as
      // soon as they do.
      try Batch.check(bytes: bytes)
      records.append(record)
    }
    let shapes = layer.shapes.definitionsDue(for: encoder.used)
    let definitions = shapes.map { (key: Shape.key($0.id), value: $0.definition) }
    let entry = feedEntry(resolved.changes, records, bytes: encoder.bytes, feed: &order.feed, at: time)
    resolved.feedBytes = entry.first?.value.count
    for put in definitions + entry { bytes += Batch.bytes(ofPutOf: put.value.count, for: put.key) }
    var batch = Batch(stamp: UInt64(bitPattern: time.microseconds), bytes: bytes)
    for (key, value) in definitions { try batch.put(value, for: key) }
    for (place, record) in records.enumerated() {
      let key = resolved.changes[place].key
      if let record {
        try batch.put(encoder.bytes.rawSpan.extracting(record), for: key)
      } else {
        try batch.remove(key)
      }
    }
    // The feed entry follows the documents. The apply step expects the ordinals of the shapes first and
    // then those of the documents.
    for (key, value) in entry { try batch.put(value, for: key) }
    return Encoded(batch: batch, shapes: shapes.map(\.id))
  }

  /// The commit's entry in the change feed and the new state of the feed. Empty if the feed is inactive or if
  /// only reserved documents change.
  private func feedEntry(
    _ changes: [CommitChange], _ records: [Range<Int>?], bytes: [UInt8], feed: inout FeedLedger,
    at time: StoredTimestamp
  ) -> [(key: [UInt8], value: [UInt8])] {
    guard feed.isActive else { return [] }
    var entries: [FeedFormat.Change] = []
    // Reserved documents are not part of the feed.
    for (place, record) in records.enumerated() where !changes[place].path.isReserved {
      entries.append((changes[place].key, record.map { Array(bytes[$0]) }))
    }
    guard !entries.isEmpty else { return [] }
    let entry = FeedFormat.encode(entries, at: time)
    let key = FeedFormat.key(feed.add(bytes: entry.count))
    return [(key, entry), (FeedFormat.stateKey, feed.state)]
  }

  // MARK: 5. Log

  private func log(
    _ encoded: Encoded, _ resolved: Resolved, request: CommitRequest, order: inout CommitOrder,
    at time: StoredTimestamp
  ) throws(ByteStoreError) -> CommitInProgress {
    let effects = CommitEffects(time, resolved.changes, shapes: encoded.shapes)
    let commit = try bytes.enqueue(
      encoded.batch, durability: durability(of: request), note: effects, dependencies: resolved.dependencies
    )
    let number = order.begin(commit, resolved.changes, at: time)
    return CommitInProgress(
      request: request, time: time, changes: resolved.changes, commit: commit, number: number,
      feedBytes: resolved.feedBytes, isFeedTrimDue: resolved.feedBytes != nil && order.feed.isTrimDue)
  }

  private func durability(of request: CommitRequest) -> Durability {
    guard let wanted = request.durability else { return durability }
    return wanted == .synced ? .synced : .buffered
  }

  // MARK: 8. Complete

  private func complete(_ inProgress: CommitInProgress, succeeded: Bool) {
    let (isAwaited, dropped) = order.withLock { order in
      let dropped = order.complete(inProgress.number, inProgress.changes, succeeded: succeeded)
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
        let encoded = Encoded(batch: batch, shapes: [])
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
  let time: StoredTimestamp
  let changes: [CommitChange]
  let commit: PendingCommit
  let number: UInt64
  let feedBytes: Int?
  let isFeedTrimDue: Bool
}

extension CommitChange {
  fileprivate init(_ target: CommitRequest.Target, _ before: StoredDocument?) {
    self.init(path: target.path, key: target.key, before: before, isBeforeKnown: true, after: before)
  }
}

extension CommitRequest {
  /// Whether the first mutation of this document replaces it without reading any of its existing fields.
  fileprivate func replaces(_ target: Target) -> Bool {
    switch mutations[target.first].change {
    case .patch, .verify: false
    case .set, .delete, .place: true
    }
  }
}

extension CommitLayer {
  fileprivate func needsBase(ofCollection id: String) -> Bool {
    publications.isObserved(id) || indexes.hasIndexes(of: id)
  }
}
