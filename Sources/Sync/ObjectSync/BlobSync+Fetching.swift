// Fetches an object from the remote when a caller wants to read it.
//
//   a local change is pending     the local state is the answer, and the remote is not asked
//   the generations are equal     the local copy is current
//   the generations differ, or    the content is fetched, verified and stored
//   the local copy is damaged
//   the remote does not answer    the local copy is the answer; without one, the search retries while it has
//                                 patience, and resumes after the bytes that have arrived
//   the app stops, the patience   the part of a large content that has arrived stays staged; a later search
//   is used up, or the store      for that generation verifies it and resumes there, unless another search
//   fails                         uses it
//   the caller cancels, or the    the part that has arrived is deleted
//   staging file itself fails
//   the object is deleted, or     parts that earlier searches left are deleted
//   its content is complete
//
// At most `activeFetchesMax` contents are fetched at a time. A search that waits for its next
// attempt does not count: it gives its slot to another search and queues for one again.

internal import ByteStore
import DocumentStore
package import ObjectStore
import OfflineSync

extension BlobSync {
  package enum Found: Sendable {
    /// The object in the store is the answer.
    case here(StoredObject)
    /// The remote has a content that the store does not have. The caller did not ask for the content, or
    /// set a lower size limit.
    case remoteOnly(RemoteObject)
    case absent
  }

  /// The request of one search.
  package struct FetchRequest: Sendable {
    var fetchesContent: Bool
    /// Contents with more bytes than this are not fetched.
    var bytesMax: UInt64
    /// The total time in microseconds to wait for an unreachable remote; starts again whenever new bytes
    /// arrive.
    var patience: Int64
    /// Called with the number of bytes fetched so far and the size of the content.
    var progress: @Sendable (UInt64, UInt64) -> Void

    package init(
      fetchesContent: Bool, bytesMax: UInt64 = .max, patience: Int64 = 0,
      progress: @escaping @Sendable (UInt64, UInt64) -> Void = { _, _ in }
    ) {
      self.fetchesContent = fetchesContent
      self.bytesMax = bytesMax
      self.patience = patience
      self.progress = progress
    }
  }

  package final class Search: @unchecked Sendable {
    // Unchecked, because all mutable state is touched on the scheduler alone, which is serial.

    let path: ObjectPath
    let request: FetchRequest
    let end: @Sendable (Result<Found, BlobSyncError>) -> Void
    /// The content that is being fetched.
    var object: RemoteObject?
    var arrival: ObjectArrival?
    /// Whether to resume from a staged part of the content. False after that part could not be read.
    var shouldContinue = true
    /// Whether the search occupies a slot for fetching contents.
    var hasFetchSlot = false
    /// How many times the remote replaced the content during the fetch.
    var attempts = 0
    var backoff = Backoff(seed: 0)
    /// The highest number of bytes that have ever arrived.
    var furthestOffset: UInt64 = 0
    /// Microseconds spent waiting for the remote since the last progress.
    var waitedMicroseconds: Int64 = 0
    var isHeld = false
    /// Whether the search has reached a point where it waits for `release`.
    var isSuspended = false
    var isOver = false

    init(
      _ path: ObjectPath, _ request: FetchRequest,
      _ end: @escaping @Sendable (Result<Found, BlobSyncError>) -> Void
    ) {
      self.path = path
      self.request = request
      self.end = end
    }
  }

  private static let attemptsMax = 5
  /// Each fetch has a file open and uses up to one mebibyte of memory.
  private static let activeFetchesMax = 16
  /// Searches that wait for a retry keep a file open, too. Above this number the one with the fewest
  /// bytes drops its part. Held searches are exempt, because their users control them.
  private static let waitingFetchesMax = 64

  // MARK: Users

  /// Starts a search. `end` is called once, on the scheduler.
  @discardableResult
  package func find(
    _ path: ObjectPath, _ request: FetchRequest,
    _ end: @escaping @Sendable (Result<Found, BlobSyncError>) -> Void
  ) -> Search {
    let search = Search(path, request, end)
    scheduler.run { [self] in
      search.backoff = Backoff(seed: rng.next())
      searches[ObjectIdentifier(search)] = search
      resume(search)
    }
    return search
  }

  /// Pauses the fetch before its next piece, until `release`.
  package func hold(_ search: Search) { scheduler.run { search.isHeld = true } }

  package func release(_ search: Search) {
    scheduler.run { [self] in
      search.isHeld = false
      guard search.isSuspended else { return }
      search.isSuspended = false
      resume(search)
    }
  }

  /// Cancels a search.
  package func giveUp(_ search: Search) {
    scheduler.run { [self] in finish(search, .failure(.cancelled)) }
  }

  /// Ends a search, but leaves the staged part for a later search.
  package func stop(_ search: Search) {
    scheduler.run { [self] in finish(search, .failure(.stopped)) }
  }

  // MARK: Looking

  private func resume(_ search: Search) {
    guard !search.isOver else { return }
    guard !search.isHeld else {
      search.isSuspended = true
      return leave(search)
    }
    if search.arrival != nil { fetch(search) } else { look(search) }
  }

  private func look(_ search: Search) {
    do throws(BlobSyncError) {
      if let failure { return finish(search, .success(try localAnswer(search, after: failure))) }
      if let found = try lookUpOnce(search) { finish(search, .success(found)) }
    } catch {
      failed(search, error)
    }
  }

  /// The answer after a store failure: a store that refuses writes can still be read.
  private func localAnswer(_ search: Search, after failure: BlobSyncError) throws(BlobSyncError) -> Found {
    guard case .store = failure, let local = try local(search.path) else { throw failure }
    return .here(local)
  }

  private func local(_ path: ObjectPath) throws(BlobSyncError) -> StoredObject? {
    try stored { () throws(DocumentStoreError) in try objects.object(at: path) }
  }

  /// Returns nil if a fetch of the content has started or waits for a slot.
  private func lookUpOnce(_ search: Search) throws(BlobSyncError) -> Found? {
    let path = search.path
    let local = try local(path)
    let isWaiting = try stored { () throws(DocumentStoreError) in try objects.outbox.isWaiting(path) }
    if isWaiting { return local.map { .here($0) } ?? .absent }
    let remoteObject: RemoteObject?
    do throws(BlobSyncError) {
      remoteObject = try found { () throws(BlobRemoteError) in
        let object = try remote.object(bucket: path.bucket, name: path.name.text)
        try object.check()
        return object
      }
    } catch {
      if case .remote(.unavailable) = error, let local { return .here(local) }
      throw error
    }
    guard let remoteObject else {
      // The object is absent, even if the store cannot record that now.
      try? objects.outbox.receiveAbsence(of: path)
      objects.forgetArrivals(at: path)
      return .absent
    }
    if let local, local.remoteGeneration == remoteObject.generation, !needsReplacement(local, search) {
      // The current content arrived by another way, so staged parts are obsolete. A damaged copy still
      // has to be replaced.
      if !objects.isKnownDamaged(local.blob) { objects.forgetArrivals(at: path) }
      let (attributes, standing) = (remoteObject.attributes, remoteObject.standing)
      if local.attributes == attributes, local.isSame(as: standing) { return .here(local) }
      do throws(DocumentStoreError) {
        let changed = try objects.outbox.receive(attributes, standing, at: path)
        return changed.map { .here($0) } ?? .absent
      } catch {
        // The store may refuse writes, for example on a full disk. The local content is readable all the
        // same.
        return .here(local.described(by: remoteObject))
      }
    }
    guard search.request.fetchesContent, remoteObject.byteCount <= search.request.bytesMax else {
      return .remoteOnly(remoteObject)
    }
    guard enter(search) else { return nil }
    search.object = remoteObject
    search.arrival = objects.arrival(
      at: path, generation: remoteObject.generation, byteCount: remoteObject.byteCount, md5: remoteObject.md5,
      created: remoteObject.created, resumes: search.shouldContinue)
    searchesWithStagedPart.append(search)
    scheduler.run { [self] in resume(search) }
    return nil
  }

  /// Whether the local copy is damaged and the caller wants the content, which the remote has intact.
  private func needsReplacement(_ local: StoredObject, _ search: Search) -> Bool {
    search.request.fetchesContent && objects.isKnownDamaged(local.blob)
  }

  // MARK: Bringing

  private func fetch(_ search: Search) {
    guard let object = search.object, let arrival = search.arrival, enter(search) else { return }
    if arrival.isRereadingStaged { return rereadStaged(search, object, arrival) }
    do throws(BlobSyncError) {
      let bytes = try found { () throws(BlobRemoteError) in
        try remote.read(object, from: arrival.byteCount, count: Self.pieceBytes)
      }
      guard let bytes else {
        // The remote has replaced the content.
        release(of: search)
        search.attempts += 1
        guard search.attempts < Self.attemptsMax else {
          search.attempts = 0
          throw .remote(.unavailable("The object keeps changing."))
        }
        return scheduler.run { [self] in resume(search) }
      }
      guard bytes.isEmpty else {
        guard UInt64(bytes.count) <= object.byteCount - arrival.byteCount else {
          throw contentMismatch(search)
        }
        try stored { () throws(DocumentStoreError) in try arrival.append(bytes) }
        noteProgress(search, object, arrival)
        return scheduler.run { [self] in resume(search) }
      }
      try receive(search, object, arrival)
      scheduler.run { [self] in answer(search) }
    } catch {
      failed(search, error)
    }
  }

  /// Reads one piece of a staged part back. If that fails, the content is fetched again from the start.
  private func rereadStaged(_ search: Search, _ object: RemoteObject, _ arrival: ObjectArrival) {
    do throws(DocumentStoreError) {
      let isMore = try arrival.rereadStaged()
      if arrival.byteCount > object.byteCount {
        discardStagedPart(search)
      } else if isMore {
        noteProgress(search, object, arrival)
      }
    } catch {
      discardStagedPart(search)
    }
    scheduler.run { [self] in resume(search) }
  }

  private func discardStagedPart(_ search: Search) {
    search.shouldContinue = false
    release(of: search)
  }

  private func noteProgress(_ search: Search, _ object: RemoteObject, _ arrival: ObjectArrival) {
    // Only bytes beyond the furthest point so far renew the patience. Otherwise a content that always
    // fails verification would be fetched forever.
    if arrival.byteCount > search.furthestOffset {
      search.furthestOffset = arrival.byteCount
      search.waitedMicroseconds = 0
      search.backoff.reset()
    }
    search.request.progress(arrival.byteCount, object.byteCount)
  }

  private func contentMismatch(_ search: Search) -> BlobSyncError {
    release(of: search)
    return .remote(.unavailable("What came is not what the remote has: its length or its checksum differs."))
  }

  private func receive(
    _ search: Search, _ object: RemoteObject, _ arrival: ObjectArrival
  ) throws(BlobSyncError) {
    let md5 = arrival.digest
    guard arrival.byteCount == object.byteCount, object.md5.isEmpty || object.md5 == md5 else {
      throw contentMismatch(search)
    }
    try stored { () throws(DocumentStoreError) in
      let blob = try arrival.finish()
      let arrived = StoredObject(
        remote: object.standing, at: search.path, blob, md5: md5, tokens: object.downloadTokens,
        object.attributes)
      try arrival.receive(blob, arrived)
    }
    search.arrival = nil
    searchesWithStagedPart.removeAll { $0 === search }
    leave(search)
  }

  /// Reads the store again, because the object may have changed since the fetch.
  private func answer(_ search: Search) {
    do throws(BlobSyncError) {
      finish(search, .success(try local(search.path).map { .here($0) } ?? .absent))
    } catch {
      finish(search, .failure(error))
    }
  }

  // MARK: Waiting and ending

  private func failed(_ search: Search, _ error: BlobSyncError) {
    let left = search.request.patience - search.waitedMicroseconds
    guard case .remote(.unavailable) = error, left > 0 else { return finish(search, .failure(error)) }
    let delay = min(max(search.backoff.next(), 1000), left)
    search.waitedMicroseconds += delay
    scheduler.run(after: delay) { [weak self] in self?.resume(search) }
    // A waiting search releases its slot, so that other fetches can proceed.
    if search.arrival?.byteCount == 0 { release(of: search) } else { leave(search) }
    dropSmallestStagedPart()
  }

  /// Drops the part of the waiting search with the fewest bytes. Dropping the most recent one instead
  /// could lose an almost complete content.
  private func dropSmallestStagedPart() {
    let waiting = searchesWithStagedPart.filter { !$0.hasFetchSlot && !$0.isHeld }
    guard waiting.count > Self.waitingFetchesMax else { return }
    let least = waiting.min { ($0.arrival?.byteCount ?? 0) < ($1.arrival?.byteCount ?? 0) }
    if let least { release(of: least) }
  }

  func finish(_ search: Search, _ result: Result<Found, BlobSyncError>) {
    guard !search.isOver else { return }
    search.isOver = true
    searches[ObjectIdentifier(search)] = nil
    if case .failure(let error) = result, error.keepsStagedPart {
      search.arrival?.leave()
    } else {
      search.arrival?.cancel()
    }
    detachArrival(of: search)
    search.end(result)
  }

  /// Deletes the part that has arrived.
  private func release(of search: Search) {
    search.arrival?.cancel()
    detachArrival(of: search)
  }

  private func detachArrival(of search: Search) {
    if search.arrival != nil { searchesWithStagedPart.removeAll { $0 === search } }
    (search.arrival, search.object) = (nil, nil)
    leave(search)
  }

  /// Takes a slot. Returns false if none is free; the search then resumes when it gets one.
  private func enter(_ search: Search) -> Bool {
    guard !search.hasFetchSlot else { return true }
    guard activeFetchCount < Self.activeFetchesMax else {
      searchesWaitingForSlot.append(search)
      return false
    }
    search.hasFetchSlot = true
    activeFetchCount += 1
    return true
  }

  /// Hands the slot directly to the first waiting search, so that a new search cannot take it first.
  private func leave(_ search: Search) {
    guard search.hasFetchSlot else { return }
    search.hasFetchSlot = false
    activeFetchCount -= 1
    guard let place = searchesWaitingForSlot.firstIndex(where: { !$0.isOver }) else {
      return searchesWaitingForSlot = []
    }
    let next = searchesWaitingForSlot[place]
    searchesWaitingForSlot.removeFirst(place + 1)
    next.hasFetchSlot = true
    activeFetchCount += 1
    scheduler.run { [self] in resume(next) }
  }

  func stored<Value>(
    _ body: () throws(DocumentStoreError) -> Value
  ) throws(BlobSyncError) -> Value {
    do throws(DocumentStoreError) { return try body() } catch { throw .store(error) }
  }
}

extension BlobSyncError {
  /// Whether a later search may resume from the staged part. If the staging file itself failed, the
  /// arrival has deleted its part already.
  fileprivate var keepsStagedPart: Bool {
    switch self {
    case .remote(.unavailable), .store, .stopped: true
    case .remote, .overdue, .cancelled: false
    }
  }
}
