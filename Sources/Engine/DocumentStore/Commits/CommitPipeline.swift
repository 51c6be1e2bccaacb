// A commit of documents, from the call to the acknowledgement.
//
//   1. validate     what is asked for, within the limits (CommitRequest)
//   2. read ahead   the documents that it builds on, so that nobody waits for the disk while another reads; and what
//                   has changed since a transaction began (TransactionCheck)
//   3. resolve      one commit at a time, in the order of all: what a transaction has read must still be so
//                   (TransactionReads); it gets its time, and its mutations are applied to what the commits before
//                   it leave, on stable storage or not (CommitOrder)
//   4. encode       a record for each document that changes, what shapes they need (ShapeDictionary), and an entry of
//                   the change feed if someone reads it
//   5. log          once it is known whom each change may concern (Publications), it joins the queue of the store of
//                   bytes, which writes and syncs a group of them
//   6. apply        to the table and to all indexes at one moment, and 7. publish: readers see it (CommitLayer)
//   8. settle       nobody builds on it as pending any more
//   9. notify       those who follow commits, and 10. acknowledge: the caller returns
//
// The lock of the order is held from 3 to 5, and neither while the disk is waited for nor while code of a user
// runs. The leader of a group takes 6 and 7 for all of it. A commit that was refused (a full disk, a damaged
// page) takes those with it that build on it: they are resolved once more.

import ByteStore

final class CommitPipeline: Sendable {
  private let bytes: ByteStore
  private let layer: CommitLayer
  private let durability: Durability
  private let clock: any StoreClock
  private let pauses: (any StorePauses)?
  /// Held while the next commit is computed from what this one leaves.
  private let order: Locked<CommitOrder>

  init(
    _ bytes: ByteStore, _ layer: CommitLayer, _ feed: FeedLedger, _ durability: StoreDurability = .synced,
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

  /// Steps 1 to 5: the commit has its place in the order.
  /// With reads, throws `aborted` if one of them would have another answer now.
  func begin(
    _ mutations: [Mutation], reads: TransactionReads? = nil, durability: StoreDurability? = nil
  ) throws(DocumentStoreError) -> CommitUnderWay {
    // Before any lock, which a child of a fork may never get.
    guard !bytes.isForked else { throw DocumentStoreError(.forked(directory: bytes.path)) }
    let request = try CommitRequest(mutations, reads: reads, durability: durability)
    bytes.pace(forBytes: request.bytes)
    return try begin(request)
  }

  private func begin(_ request: CommitRequest) throws(DocumentStoreError) -> CommitUnderWay {
    // What is read from here on is what is stored as long as nobody publishes a commit.
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
      var resolved = try resolve(request, bases, isCurrent: isCurrent, order, at: time)
      let feed = order.feed
      do throws(DocumentStoreError) {
        let encoded = try encode(&resolved, &order, at: time)
        return try log(encoded, resolved, request, &order, at: time)
      } catch {
        // It has no place in the order, and no entry.
        order.feed = feed
        throw error
      }
    }
  }

  /// Steps 6 to 10: returns when the commit is on stable storage and readers see it. The answer is the commit that has
  /// happened: another one than `underWay` if that had to be resolved once more.
  func finish(_ underWay: CommitUnderWay) throws(DocumentStoreError) -> CommitUnderWay {
    var underWay = underWay
    while true {
      pauses?.pause(at: .placed)
      do throws(ByteStoreError) {
        try bytes.finish(underWay.commit)
        pauses?.pause(at: .published)
        settle(underWay, hasHappened: true)
        pauses?.pause(at: .settled)
        layer.publications.notify(underWay.audience)
        return underWay
      } catch {
        settle(underWay, hasHappened: false)
        guard error == .foundationRefused else { throw DocumentStoreError(error) }
      }
      underWay = try begin(underWay.request)
    }
  }

  /// Runs `body` while no commit is under way: those that come meanwhile wait.
  func whileQuiet(_ body: () throws(DocumentStoreError) -> Void) throws(DocumentStoreError) {
    order.withLock { $0.quietRequests += 1 }
    defer {
      order.withLock { $0.quietRequests -= 1 }
      order.wakeAll()
    }
    try order.withLock(when: { $0.isQuiet }) { _ throws(DocumentStoreError) in try body() }
  }

  // MARK: 2. Read ahead

  /// A document as readers see it, which may be older than what the commit will build on.
  private struct Base {
    var record: [UInt8]?
    var document: StoredDocument?
    /// It counts only if the commit needs the document.
    var failure: DocumentStoreError?
  }

  private func readAhead(_ request: CommitRequest) -> [Base?] {
    request.targets.map { target in
      guard needsBase(target, request) else { return nil }
      do throws(DocumentStoreError) {
        guard let record = try record(target) else { return Base() }
        return Base(record: record, document: try document(target, request, record.rawSpan))
      } catch {
        return Base(failure: error)
      }
    }
  }

  private func needsBase(_ target: CommitRequest.Target, _ request: CommitRequest) -> Bool {
    !request.isBlindRemoval(target) || layer.needsBase(ofCollection: target.path.collectionID)
  }

  private func record(_ target: CommitRequest.Target) throws(DocumentStoreError) -> [UInt8]? {
    do throws(ByteStoreError) { return try bytes.value(for: target.key) } catch {
      throw DocumentStoreError(error)
    }
  }

  private func document(
    _ target: CommitRequest.Target, _ request: CommitRequest, _ record: RawSpan
  ) throws(DocumentStoreError) -> StoredDocument {
    do throws(RecordError) { return try request.document(target, record, layer.shapes.table) } catch {
      guard request.replaces(target) else {
        throw DocumentStoreError(error, at: target.path, in: bytes.path)
      }
      // Not even its times can be read, and nothing of it will be left.
      return StoredDocument(
        path: target.path, createTime: .unreadable, updateTime: .unreadable,
        fields: StoredDocument.damagedFields)
    }
  }

  // MARK: 3. Resolve

  private struct Resolved {
    var changes: [CommitChange] = []
    /// Commits under way that it builds on.
    var foundation: [PendingCommit] = []
    /// Of its entry in the feed; nil if it has none.
    var feedBytes: Int?
  }

  /// What each document is after all mutations, in the order of their first mention.
  private func resolve(
    _ request: CommitRequest, _ bases: [Base?], isCurrent: Bool, _ order: CommitOrder,
    at time: StoredTimestamp
  ) throws(DocumentStoreError) -> Resolved {
    var resolved = Resolved()
    resolved.changes.reserveCapacity(request.targets.count)
    for (number, place) in request.places.enumerated() {
      if place == resolved.changes.count {
        let change = try before(
          place, request, bases[place], isCurrent: isCurrent, order, &resolved.foundation)
        resolved.changes.append(change)
      }
      let updated = resolved.changes[place].updateTime(at: time)
      let after = try request.mutations[number].apply(
        to: resolved.changes[place].after, at: time, updated: updated)
      if let after, request.mutations[number].buildsOnOthers { try DocumentLimits.check(after) }
      resolved.changes[place].after = after
    }
    resolved.changes.removeAll(where: \.isNone)
    return resolved
  }

  /// The document as the commits before this one leave it. `isCurrent` says that what was read ahead is what is stored.
  private func before(
    _ place: Int, _ request: CommitRequest, _ base: Base?, isCurrent: Bool, _ order: CommitOrder,
    _ foundation: inout [PendingCommit]
  ) throws(DocumentStoreError) -> CommitChange {
    let target = request.targets[place]
    if let pending = order.pending(target.key) {
      foundation.append(pending.commit)
      return CommitChange(target, pending.after)
    }
    guard let base else {
      return CommitChange(
        path: target.path, key: target.key, before: nil, isBeforeKnown: false, after: nil)
    }
    if let failure = base.failure {
      // A commit since then may have replaced what could not be read.
      guard let record = try record(target) else { return CommitChange(target, nil) }
      guard let document = try? document(target, request, record.rawSpan) else { throw failure }
      return CommitChange(target, document)
    }
    // What came in between is most often about other documents, and a comparison of bytes costs less than to decode
    // them.
    let isSame = isCurrent ? true : try isStored(base.record, target.key)
    if isSame { return CommitChange(target, base.document) }
    guard let record = try record(target) else { return CommitChange(target, nil) }
    return CommitChange(target, try document(target, request, record.rawSpan))
  }

  private func isStored(_ record: [UInt8]?, _ key: [UInt8]) throws(DocumentStoreError) -> Bool {
    do throws(ByteStoreError) {
      let isSame = try bytes.withValue(for: key) { stored in record?.rawSpan.isSame(as: stored) ?? false }
      return isSame ?? (record == nil)
    } catch {
      throw DocumentStoreError(error)
    }
  }

  // MARK: 4. Encode

  private struct Encoded {
    var batch: Batch
    /// The shapes that the batch defines.
    var shapes: [Int]
  }

  private func encode(
    _ resolved: inout Resolved, _ order: inout CommitOrder, at time: StoredTimestamp
  ) throws(DocumentStoreError) -> Encoded {
    var encoder = RecordEncoder(shapes: layer.shapes, room: order.takeRecordRoom())
    defer { order.giveBack(recordRoom: encoder.bytes) }
    do throws(ByteStoreError) {
      var bytes = 0
      var records: [Range<Int>?] = []
      records.reserveCapacity(resolved.changes.count)
      for place in resolved.changes.indices {
        let key = resolved.changes[place].key
        let record = resolved.changes[place].after.map { encoder.append($0) }
        resolved.changes[place].recordBytes = record?.count ?? 0
        bytes += record.map { Batch.bytes(ofPutOf: $0.count, for: key) } ?? Batch.bytes(ofRemovalOf: key)
        // What small changes of large documents make is found out here, and not all of it is made.
        try Batch.check(bytes: bytes)
        records.append(record)
      }
      let shapes = layer.shapes.definitionsDue(for: encoder.used)
      let definitions = shapes.map { (key: Shape.key($0.id), value: $0.definition) }
      let entry = feedEntry(resolved.changes, records, encoder.bytes, &order.feed, at: time)
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
      // Behind the documents, whose ordinals follow those of the shapes.
      for (key, value) in entry { try batch.put(value, for: key) }
      return Encoded(batch: batch, shapes: shapes.map(\.id))
    } catch {
      throw DocumentStoreError(error)
    }
  }

  /// What a commit leaves for those who read the feed; nothing if it has none, or changes nothing for them.
  private func feedEntry(
    _ changes: [CommitChange], _ records: [Range<Int>?], _ bytes: [UInt8], _ feed: inout FeedLedger,
    at time: StoredTimestamp
  ) -> [(key: [UInt8], value: [UInt8])] {
    guard feed.isActive else { return [] }
    var entries: [FeedFormat.Change] = []
    // What is kept beside the users' documents concerns no reader of the feed.
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
    _ encoded: Encoded, _ resolved: Resolved, _ request: CommitRequest, _ order: inout CommitOrder,
    at time: StoredTimestamp
  ) throws(DocumentStoreError) -> CommitUnderWay {
    do throws(ByteStoreError) {
      var room = order.takeRecordRoom()
      let effects = CommitEffects(time, resolved.changes, shapes: encoded.shapes) { changes in
        layer.publications.audience(of: changes, &room)
      }
      order.giveBack(recordRoom: room)
      let commit = try bytes.enqueue(
        encoded.batch, durability: durability(of: request), note: effects, foundation: resolved.foundation)
      let number = order.begin(commit, resolved.changes, at: time)
      return CommitUnderWay(
        request: request, time: time, changes: resolved.changes, commit: commit, number: number,
        audience: effects.audience, feedBytes: resolved.feedBytes,
        isFeedTrimDue: resolved.feedBytes != nil && order.feed.isTrimDue)
    } catch {
      throw DocumentStoreError(error)
    }
  }

  private func durability(of request: CommitRequest) -> Durability {
    guard let wanted = request.durability else { return durability }
    return wanted == .synced ? .synced : .buffered
  }

  // MARK: 8. Settle

  private func settle(_ underWay: CommitUnderWay, hasHappened: Bool) {
    let (isAwaited, dropped) = order.withLock { order in
      let dropped = order.settle(underWay.number, underWay.changes, hasHappened: hasHappened)
      if let bytes = underWay.feedBytes { order.feed.settle(bytes: bytes, hasHappened: hasHappened) }
      return (order.settlingAwaited > 0 || order.isQuiet && !order.isOpen, dropped)
    }
    withExtendedLifetime(dropped) {}
    if isAwaited { order.wakeAll() }
  }

  // MARK: Beside documents

  var feed: FeedLedger { order.withLock { $0.feed } }

  func withFeed(_ body: (inout FeedLedger) -> Void) { order.withLock { body(&$0.feed) } }

  /// A commit of what the store keeps beside documents. `puts` is asked in its turn; if it changes the feed and the
  /// commit fails, whoever calls this takes that back.
  func write(
    removing keys: [[UInt8]] = [], _ puts: (inout FeedLedger) -> [(key: [UInt8], value: [UInt8])]
  ) throws(DocumentStoreError) {
    guard !bytes.isForked else { throw DocumentStoreError(.forked(directory: bytes.path)) }
    let request = try CommitRequest([])
    let underWay = try order.withLock(when: { $0.isOpen }) { order throws(DocumentStoreError) in
      let time = try order.nextTime(clock)
      let batch = try batch(puts(&order.feed), removing: keys, at: time)
      return try log(Encoded(batch: batch, shapes: []), Resolved(), request, &order, at: time)
    }
    _ = try finish(underWay)
  }

  private func batch(
    _ puts: [(key: [UInt8], value: [UInt8])], removing keys: [[UInt8]], at time: StoredTimestamp
  ) throws(DocumentStoreError) -> Batch {
    do throws(ByteStoreError) {
      var batch = Batch(stamp: UInt64(bitPattern: time.microseconds))
      for (key, value) in puts { try batch.put(value, for: key) }
      for key in keys { try batch.remove(key) }
      return batch
    } catch {
      throw DocumentStoreError(error)
    }
  }

  // MARK: Transactions

  /// To be called before the snapshot is taken that the transaction reads. Ends with `closeTransaction`.
  func openTransaction() -> UInt64 {
    let floor = order.withLock { $0.openTransaction() }
    pauses?.pause(at: .begun)
    return floor
  }

  func closeTransaction(_ floor: UInt64) {
    let dropped = order.withLock { $0.closeTransaction(floor) }
    withExtendedLifetime(dropped) {}
  }

  /// Returns when all commits that are under way now can be seen.
  func waitForCommitsUnderWay() {
    let last = order.withLock { order in
      order.settlingAwaited += 1
      return order.lastNumber
    }
    while let pauses, !order.withLock({ $0.isSettled(through: last) }) { pauses.pause(at: .waiting) }
    order.withLock(when: { $0.isSettled(through: last) }) { $0.settlingAwaited -= 1 }
  }
}

/// A commit that has its place in the order of all commits, and that has still to be finished, whatever happens.
package struct CommitUnderWay: Sendable {
  let request: CommitRequest
  let time: StoredTimestamp
  let changes: [CommitChange]
  let commit: PendingCommit
  let number: UInt64
  let audience: CommitAudience?
  let feedBytes: Int?
  let isFeedTrimDue: Bool
}

extension CommitChange {
  fileprivate init(_ target: CommitRequest.Target, _ before: StoredDocument?) {
    self.init(path: target.path, key: target.key, before: before, isBeforeKnown: true, after: before)
  }
}

extension CommitRequest {
  /// The first mutation builds on no field of the document.
  fileprivate func replaces(_ target: Target) -> Bool {
    switch mutations[target.first].change {
    case .patch, .verify: false
    case .set, .delete, .place: true
    }
  }
}

extension CommitLayer {
  fileprivate func needsBase(ofCollection id: String) -> Bool {
    publications.isFollowed(id) || indexes.hasIndexes(of: id)
  }
}
