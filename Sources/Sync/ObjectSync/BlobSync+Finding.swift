// What a remote has of an object, brought here when somebody wants to read it.
//
//   a change of it waits    what is here is what the user sees, and the remote is not asked
//   the same generation     what is here is still right
//   another one             its content is brought, verified, and kept here; so is one whose copy here proved damaged
//   no answer               what is here is better than nothing; if nothing is, it is tried again for a while, and what
//                           has come so far is gone on with
//   the app goes, or the    what has come of a large content stays staged: who looks for the same generation later goes
//   patience is over, or    on with it, once it has been read and verified again; unless somebody works at it
//   the store is at an end
//   nobody wants it, or     nothing is left of it
//   its own file failed
//   the object is gone, or  what was left of it before goes
//   its content is here
//
// So many contents are on their way at a time. One that waits for its next attempt is none of them: others take its place,
// and it enters again.

internal import ByteStore
import DocumentStore
package import ObjectStore
import OfflineSync

extension BlobSync {
  package enum Found: Sendable {
    /// As the store has it.
    case here(StoredObject)
    /// The remote has a content that is not here, and nobody asked for it, or not for so many bytes.
    case elsewhere(RemoteObject)
    case absent
  }

  /// What somebody wants to know of an object.
  package struct Wanted: Sendable {
    var bringsContent: Bool
    /// A content of more is not brought.
    var bytesMax: UInt64
    /// For so many microseconds in all it is waited for a remote that cannot be reached, until there is something new.
    var patience: Int64
    /// Told how many bytes of a content are here, and of how many.
    var progress: @Sendable (UInt64, UInt64) -> Void

    package init(
      bringsContent: Bool, bytesMax: UInt64 = .max, patience: Int64 = 0,
      progress: @escaping @Sendable (UInt64, UInt64) -> Void = { _, _ in }
    ) {
      self.bringsContent = bringsContent
      self.bytesMax = bytesMax
      self.patience = patience
      self.progress = progress
    }
  }

  /// A search under way.
  package final class Search: @unchecked Sendable {
    // Unchecked, because what changes is touched on the scheduler alone, which does one thing at a time.

    let path: ObjectPath
    let wanted: Wanted
    let end: @Sendable (Result<Found, BlobSyncError>) -> Void
    /// What is on its way here.
    var object: RemoteObject?
    var arrival: ObjectArrival?
    /// What was left of the same content is gone on with, unless that could not be read.
    var goesOn = true
    /// It has one of the places for contents on their way.
    var isOnItsWay = false
    /// So often the remote had another content before this one was here.
    var attempts = 0
    var backoff = Backoff(seed: 0)
    /// So many bytes have come at most.
    var furthest: UInt64 = 0
    /// For the remote, since there was something new.
    var waited: Int64 = 0
    var isHeld = false
    /// It has come to a place where it waits until it is not held any more.
    var isParked = false
    var isOver = false

    init(
      _ path: ObjectPath, _ wanted: Wanted, _ end: @escaping @Sendable (Result<Found, BlobSyncError>) -> Void
    ) {
      self.path = path
      self.wanted = wanted
      self.end = end
    }
  }

  private static let attemptsMax = 5
  /// Each has a file open, and up to a mebibyte in memory.
  private static let contentsOnTheirWayMax = 16
  /// So have those that wait. Beyond so many, the least that has come of one of them is let go of; what is held is its
  /// user's.
  private static let contentsWaitingMax = 64

  // MARK: Users

  /// `end` is called once, on the scheduler.
  @discardableResult
  package func find(
    _ path: ObjectPath, _ wanted: Wanted, _ end: @escaping @Sendable (Result<Found, BlobSyncError>) -> Void
  ) -> Search {
    let search = Search(path, wanted, end)
    scheduler.run { [self] in
      search.backoff = Backoff(seed: dice.next())
      searches[ObjectIdentifier(search)] = search
      goOn(search)
    }
    return search
  }

  /// Brings nothing more, between two pieces, until it is released.
  package func hold(_ search: Search) { scheduler.run { search.isHeld = true } }

  package func release(_ search: Search) {
    scheduler.run { [self] in
      search.isHeld = false
      guard search.isParked else { return }
      search.isParked = false
      goOn(search)
    }
  }

  /// Nobody wants it any more.
  package func giveUp(_ search: Search) {
    scheduler.run { [self] in finish(search, .failure(.cancelled)) }
  }

  /// Nobody waits for it any more; what has come stays for whoever looks for it next.
  package func stop(_ search: Search) {
    scheduler.run { [self] in finish(search, .failure(.stopped)) }
  }

  // MARK: Looking

  private func goOn(_ search: Search) {
    guard !search.isOver else { return }
    guard !search.isHeld else {
      search.isParked = true
      return leave(search)
    }
    if search.arrival != nil { bring(search) } else { look(search) }
  }

  private func look(_ search: Search) {
    do throws(BlobSyncError) {
      if let failure { return finish(search, .success(try localAnswer(search, after: failure))) }
      if let found = try lookNow(search) { finish(search, .success(found)) }
    } catch {
      failed(search, error)
    }
  }

  /// A store that nothing can be written to can still be read.
  private func localAnswer(_ search: Search, after failure: BlobSyncError) throws(BlobSyncError) -> Found {
    guard case .store = failure, let local = try local(search.path) else { throw failure }
    return .here(local)
  }

  private func local(_ path: ObjectPath) throws(BlobSyncError) -> StoredObject? {
    try stored { () throws(DocumentStoreError) in try objects.object(at: path) }
  }

  /// Nil if a content is on its way now, or will be.
  private func lookNow(_ search: Search) throws(BlobSyncError) -> Found? {
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
      // It is so, whether it can be taken down now or not.
      try? objects.outbox.receiveAbsence(of: path)
      objects.forgetArrivals(at: path)
      return .absent
    }
    if let local, local.remoteGeneration == remoteObject.generation, !hasToBeReplaced(local, search) {
      // It has come otherwise. What proved damaged is still to be brought.
      if !objects.isKnownDamaged(local.blob) { objects.forgetArrivals(at: path) }
      let (attributes, standing) = (remoteObject.attributes, remoteObject.standing)
      if local.attributes == attributes, local.isSame(as: standing) { return .here(local) }
      do throws(DocumentStoreError) {
        let changed = try objects.outbox.receive(attributes, standing, at: path)
        return changed.map { .here($0) } ?? .absent
      } catch {
        // On a full disk, for one: what is here is read all the same.
        return .here(local.described(by: remoteObject))
      }
    }
    guard search.wanted.bringsContent, remoteObject.byteCount <= search.wanted.bytesMax else {
      return .elsewhere(remoteObject)
    }
    guard enter(search) else { return nil }
    search.object = remoteObject
    search.arrival = objects.arrival(
      at: path, generation: remoteObject.generation, byteCount: remoteObject.byteCount, md5: remoteObject.md5,
      created: remoteObject.created, goesOn: search.goesOn)
    begunSearches.append(search)
    scheduler.run { [self] in goOn(search) }
    return nil
  }

  /// Nobody can read what is here, and the remote has it whole.
  private func hasToBeReplaced(_ local: StoredObject, _ search: Search) -> Bool {
    search.wanted.bringsContent && objects.isKnownDamaged(local.blob)
  }

  // MARK: Bringing

  private func bring(_ search: Search) {
    guard let object = search.object, let arrival = search.arrival, enter(search) else { return }
    if arrival.isRereadingStaged { return rereadStaged(search, object, arrival) }
    do throws(BlobSyncError) {
      let bytes = try found { () throws(BlobRemoteError) in
        try remote.read(object, from: arrival.byteCount, count: Self.pieceBytes)
      }
      guard let bytes else {
        // Another content has come in its place.
        letGo(of: search)
        search.attempts += 1
        guard search.attempts < Self.attemptsMax else {
          search.attempts = 0
          throw .remote(.unavailable("The object keeps changing."))
        }
        return scheduler.run { [self] in goOn(search) }
      }
      guard bytes.isEmpty else {
        guard UInt64(bytes.count) <= object.byteCount - arrival.byteCount else { throw differs(search) }
        try stored { () throws(DocumentStoreError) in try arrival.append(bytes) }
        hasCome(search, object, arrival)
        return scheduler.run { [self] in goOn(search) }
      }
      try receive(search, object, arrival)
      scheduler.run { [self] in answer(search) }
    } catch {
      failed(search, error)
    }
  }

  /// One piece of what somebody has left. What cannot be read again is brought again.
  private func rereadStaged(_ search: Search, _ object: RemoteObject, _ arrival: ObjectArrival) {
    do throws(DocumentStoreError) {
      let isMore = try arrival.rereadStaged()
      if arrival.byteCount > object.byteCount {
        forgetLeft(search)
      } else if isMore {
        hasCome(search, object, arrival)
      }
    } catch {
      forgetLeft(search)
    }
    scheduler.run { [self] in goOn(search) }
  }

  private func forgetLeft(_ search: Search) {
    search.goesOn = false
    letGo(of: search)
  }

  private func hasCome(_ search: Search, _ object: RemoteObject, _ arrival: ObjectArrival) {
    // Only what brings it further than before is a reason to wait longer: a content that never comes right would be
    // brought again and again.
    if arrival.byteCount > search.furthest {
      search.furthest = arrival.byteCount
      search.waited = 0
      search.backoff.reset()
    }
    search.wanted.progress(arrival.byteCount, object.byteCount)
  }

  private func differs(_ search: Search) -> BlobSyncError {
    letGo(of: search)
    return .remote(.unavailable("What came is not what the remote has: its length or its checksum differs."))
  }

  private func receive(
    _ search: Search, _ object: RemoteObject, _ arrival: ObjectArrival
  ) throws(BlobSyncError) {
    let md5 = arrival.digest
    guard arrival.byteCount == object.byteCount, object.md5.isEmpty || object.md5 == md5 else {
      throw differs(search)
    }
    try stored { () throws(DocumentStoreError) in
      let blob = try arrival.finish()
      let arrived = StoredObject(
        remote: object.standing, at: search.path, blob, md5: md5, tokens: object.downloadTokens,
        object.attributes)
      try arrival.receive(blob, arrived)
    }
    search.arrival = nil
    begunSearches.removeAll { $0 === search }
    leave(search)
  }

  /// As it is now: a change may have come meanwhile.
  private func answer(_ search: Search) {
    do throws(BlobSyncError) {
      finish(search, .success(try local(search.path).map { .here($0) } ?? .absent))
    } catch {
      finish(search, .failure(error))
    }
  }

  // MARK: Waiting and ending

  private func failed(_ search: Search, _ error: BlobSyncError) {
    let left = search.wanted.patience - search.waited
    guard case .remote(.unavailable) = error, left > 0 else { return finish(search, .failure(error)) }
    let delay = min(max(search.backoff.next(), 1000), left)
    search.waited += delay
    scheduler.run(after: delay) { [weak self] in self?.goOn(search) }
    // While it waits, it keeps nobody from what the remote does give.
    if search.arrival?.byteCount == 0 { letGo(of: search) } else { leave(search) }
    letGoOfTheLeast()
  }

  /// Of what waits. Whoever had the bad luck to wait last may have almost all.
  private func letGoOfTheLeast() {
    let waiting = begunSearches.filter { !$0.isOnItsWay && !$0.isHeld }
    guard waiting.count > Self.contentsWaitingMax else { return }
    let least = waiting.min { ($0.arrival?.byteCount ?? 0) < ($1.arrival?.byteCount ?? 0) }
    if let least { letGo(of: least) }
  }

  func finish(_ search: Search, _ result: Result<Found, BlobSyncError>) {
    guard !search.isOver else { return }
    search.isOver = true
    searches[ObjectIdentifier(search)] = nil
    if case .failure(let error) = result, error.leavesWhatHasCome {
      search.arrival?.leave()
    } else {
      search.arrival?.cancel()
    }
    forgetArrival(of: search)
    search.end(result)
  }

  /// Nothing is left of what has come.
  private func letGo(of search: Search) {
    search.arrival?.cancel()
    forgetArrival(of: search)
  }

  private func forgetArrival(of search: Search) {
    if search.arrival != nil { begunSearches.removeAll { $0 === search } }
    (search.arrival, search.object) = (nil, nil)
    leave(search)
  }

  /// False if there is no place for it: it goes on once there is one.
  private func enter(_ search: Search) -> Bool {
    guard !search.isOnItsWay else { return true }
    guard contentsOnTheirWay < Self.contentsOnTheirWayMax else {
      waitingSearches.append(search)
      return false
    }
    search.isOnItsWay = true
    contentsOnTheirWay += 1
    return true
  }

  /// Its place is that of the first who waits for one: nobody who comes meanwhile takes it.
  private func leave(_ search: Search) {
    guard search.isOnItsWay else { return }
    search.isOnItsWay = false
    contentsOnTheirWay -= 1
    guard let place = waitingSearches.firstIndex(where: { !$0.isOver }) else { return waitingSearches = [] }
    let next = waitingSearches[place]
    waitingSearches.removeFirst(place + 1)
    next.isOnItsWay = true
    contentsOnTheirWay += 1
    scheduler.run { [self] in goOn(next) }
  }

  func stored<Value>(
    _ body: () throws(DocumentStoreError) -> Value
  ) throws(BlobSyncError) -> Value {
    do throws(DocumentStoreError) { return try body() } catch { throw .store(error) }
  }
}

extension BlobSyncError {
  /// The same search may succeed later. What failed of the store is not the part itself, or that lets go of what it has.
  fileprivate var leavesWhatHasCome: Bool {
    switch self {
    case .remote(.unavailable), .store, .stopped: true
    case .remote, .overdue, .cancelled: false
    }
  }
}
