// Fetches an object from the remote when a caller wants to read it.
//
//   a local change is pending     the local state is the answer, and the remote is not asked
//   the generations are equal     the local copy is current
//   the generations differ, or    the content is fetched, verified and stored
//   the local copy is damaged
//   the remote does not answer    the local copy is the answer; without one, the search retries until its
//                                 timeout, and resumes after the bytes that have arrived
//   the app stops, the timeout    the part of a large content that has arrived stays staged; a later search
//   expires, or the store fails   for that generation verifies it and resumes there, unless another search
//                                 uses it
//   the caller cancels, or the    the part that has arrived is deleted
//   staging file itself fails
//   the object is deleted, or     parts that earlier searches left are deleted
//   its content is complete
//
// At most `activeFetchesMax` contents are fetched at a time. A search that waits for its next
// attempt does not count: it gives its slot to another search and queues for one again.

internal import DocumentStore
import ObjectStore
import OfflineSync

/// The limits of one search.
struct FetchLimits: Sendable {
  var fetchesContent: Bool
  /// Contents with more bytes than this are not fetched.
  var bytesMax: UInt64
  /// The total time in microseconds to wait for an unreachable remote; starts again whenever new bytes
  /// arrive.
  var timeout: Int64
}

/// A piece of a staged part that was read back.
struct RereadPiece: Sendable {
  var byteCount: UInt64
  /// Whether the staged part may have more pieces.
  var hasMore: Bool
}

extension BlobMachine {
  /// All active searches, and those that wait for a slot to fetch their content.
  struct Fetching {
    fileprivate var searches: [BlobSync.Search: SearchState] = [:]
    fileprivate var waitingForSlot: [BlobSync.Search] = []
    fileprivate var activeCount = 0
    /// The searches that have an arrival, in the order in which their arrivals began.
    fileprivate var withArrival: [BlobSync.Search] = []
  }

  fileprivate struct SearchState {
    let path: ObjectPath
    let limits: FetchLimits
    /// The content that is being fetched.
    var arrival: Arrival?
    /// Whether to resume from a staged part of the content. False after that part could not be read.
    var shouldContinue = true
    /// Whether the search occupies a slot for fetching contents.
    var hasFetchSlot = false
    /// How many times the remote replaced the content during the fetch.
    var attempts = 0
    var backoff: Backoff
    /// The highest number of bytes that any arrival of this search has reached.
    var furthestOffset: UInt64 = 0
    /// Microseconds spent waiting for the remote since the last progress.
    var waitedMicroseconds: Int64 = 0
    var isHeld = false
    /// Whether the search has reached a point where it waits for `release`.
    var isSuspended = false
  }

  fileprivate struct Arrival {
    let object: RemoteObject
    var byteCount: UInt64 = 0
    /// Whether the previously staged bytes are still being read back.
    var isRereading = false
  }

  private static let attemptsMax = 5
  /// Each fetch has a file open and uses up to one mebibyte of memory.
  private static let activeFetchesMax = 16
  /// Searches that wait for a retry keep a file open, too. If more searches than this wait, the one with the
  /// fewest bytes drops its part. Held searches are exempt, because their users control them.
  private static let waitingFetchesMax = 64

  // MARK: Users

  mutating func find(_ search: BlobSync.Search, _ path: ObjectPath, limits: FetchLimits) {
    fetching.searches[search] = SearchState(path: path, limits: limits, backoff: newBackoff())
    resume(search)
  }

  mutating func hold(_ search: BlobSync.Search) { fetching.searches[search]?.isHeld = true }

  mutating func release(_ search: BlobSync.Search) {
    fetching.searches[search]?.isHeld = false
    guard fetching.searches[search]?.isSuspended == true else { return }
    fetching.searches[search]?.isSuspended = false
    resume(search)
  }

  // MARK: Looking

  mutating func resume(_ search: BlobSync.Search) {
    guard let state = fetching.searches[search] else { return }
    guard !state.isHeld else {
      fetching.searches[search]?.isSuspended = true
      return leave(search)
    }
    if state.arrival != nil { return fetch(search) }
    guard let failure else { return emit(.readLocal(search, state.path, .lookUp)) }
    // A store that refuses writes can still be read.
    guard case .store = failure else { return finish(search, .failure(failure)) }
    emit(.readLocal(search, state.path, .afterFailure(failure)))
  }

  mutating func localRead(
    _ search: BlobSync.Search, _ reason: LocalRead, result: Result<LocalObject, DocumentStoreError>
  ) {
    guard let state = fetching.searches[search] else { return }
    switch (reason, result) {
    case (.lookUp, .success(let local)) where !local.isWaiting:
      emit(.describe(search, state.path, local))
    case (.lookUp, .success(let local)), (.answer, .success(let local)):
      finish(search, .success(local.object.map { .here($0) } ?? .absent))
    case (.afterFailure(let failure), .success(let local)):
      finish(search, local.object.map { .success(.here($0)) } ?? .failure(failure))
    case (_, .failure(let error)): finish(search, .failure(.store(error)))
    }
  }

  mutating func described(
    _ search: BlobSync.Search, _ local: LocalObject, result: Result<RemoteObject?, BlobSyncError>
  ) {
    guard let state = fetching.searches[search] else { return }
    let path = state.path
    switch result {
    case .failure(.remote(.unavailable)) where local.object != nil:
      finish(search, .success(local.object.map { .here($0) } ?? .absent))
    case .failure(let error): failed(search, error)
    case .success(nil):
      // The search returns that the object is absent, even if the store cannot record its absence now.
      emit(.receiveAbsence(path))
      emit(.forgetArrivals(path))
      finish(search, .success(.absent))
    case .success(let remote?):
      //  Whether the local content must be replaced: it is damaged, the caller wants it, and the remote has
      //  an intact copy.
      let needsReplacement = state.limits.fetchesContent && local.isDamaged
      if let object = local.object, object.remoteGeneration == remote.generation, !needsReplacement {
        return isCurrent(search, path, object: object, isDamaged: local.isDamaged, remote: remote)
      }
      guard state.limits.fetchesContent, remote.byteCount <= state.limits.bytesMax else {
        return finish(search, .success(.remoteOnly(remote)))
      }
      guard enter(search) else { return }
      fetching.searches[search]?.arrival = Arrival(object: remote)
      fetching.withArrival.append(search)
      emit(.openArrival(search, path, remote, resumes: state.shouldContinue))
    }
  }

  private mutating func isCurrent(
    _ search: BlobSync.Search, _ path: ObjectPath, object: StoredObject, isDamaged: Bool,
    remote: RemoteObject
  ) {
    // The current content reached the store in another way, so staged parts are obsolete. A damaged copy
    // still has to be replaced.
    if !isDamaged { emit(.forgetArrivals(path)) }
    guard object.attributes == remote.attributes, object.isSame(as: remote.reportedMetadata) else {
      return emit(.receiveDescription(search, object, remote))
    }
    finish(search, .success(.here(object)))
  }

  mutating func descriptionReceived(
    _ search: BlobSync.Search, _ local: StoredObject, remote: RemoteObject,
    result: Result<StoredObject?, DocumentStoreError>
  ) {
    switch result {
    case .success(let changed): finish(search, .success(changed.map { .here($0) } ?? .absent))
    // The store may refuse writes, for example on a full disk. The local content can still be read.
    case .failure: finish(search, .success(.here(local.described(by: remote))))
    }
  }

  // MARK: Bringing

  mutating func arrivalOpened(_ search: BlobSync.Search, isRereading: Bool) {
    fetching.searches[search]?.arrival?.isRereading = isRereading
    emit(.later(.resume(search)))
  }

  private mutating func fetch(_ search: BlobSync.Search) {
    guard enter(search), let arrival = fetching.searches[search]?.arrival else { return }
    guard !arrival.isRereading else { return emit(.reread(search)) }
    emit(.readPiece(search, arrival.object, from: arrival.byteCount, count: Self.pieceBytes))
  }

  /// Takes a piece of a staged part that was read back. If it could not be read back, the content is fetched
  /// again from the start.
  mutating func reread(_ search: BlobSync.Search, _ result: Result<RereadPiece, DocumentStoreError>) {
    guard let arrival = fetching.searches[search]?.arrival else { return }
    if case .success(let piece) = result, piece.byteCount <= arrival.object.byteCount {
      fetching.searches[search]?.arrival?.isRereading = piece.hasMore
      fetching.searches[search]?.arrival?.byteCount = piece.byteCount
      if piece.hasMore { noteProgress(search) }
    } else {
      fetching.searches[search]?.shouldContinue = false
      dropArrival(search)
    }
    emit(.later(.resume(search)))
  }

  mutating func pieceRead(_ search: BlobSync.Search, _ result: Result<[UInt8]?, BlobSyncError>) {
    guard let state = fetching.searches[search], let arrival = state.arrival else { return }
    switch result {
    case .failure(let error): failed(search, error)
    case .success(nil): contentReplaced(search)
    case .success(let bytes?) where bytes.isEmpty:
      guard arrival.byteCount == arrival.object.byteCount else { return contentMismatch(search) }
      emit(.receive(search, state.path, arrival.object))
    case .success(let bytes?):
      guard UInt64(bytes.count) <= arrival.object.byteCount - arrival.byteCount else {
        return contentMismatch(search)
      }
      emit(.append(search, bytes))
    }
  }

  private mutating func contentReplaced(_ search: BlobSync.Search) {
    dropArrival(search)
    fetching.searches[search]?.attempts += 1
    if let attempts = fetching.searches[search]?.attempts, attempts >= Self.attemptsMax {
      fetching.searches[search]?.attempts = 0
      return failed(search, .remote(.unavailable("The object keeps changing.")))
    }
    emit(.later(.resume(search)))
  }

  private mutating func contentMismatch(_ search: BlobSync.Search) {
    dropArrival(search)
    failed(
      search,
      .remote(.unavailable("The received content is not the remote's: its length or its checksum differs.")))
  }

  mutating func appended(_ search: BlobSync.Search, _ result: Result<UInt64, DocumentStoreError>) {
    switch result {
    case .failure(let error): failed(search, .store(error))
    case .success(let byteCount):
      fetching.searches[search]?.arrival?.byteCount = byteCount
      noteProgress(search)
      emit(.later(.resume(search)))
    }
  }

  private mutating func noteProgress(_ search: BlobSync.Search) {
    guard var state = fetching.searches[search], let arrival = state.arrival else { return }
    // Only bytes beyond the furthest point so far renew the timeout. Otherwise a content that always
    // fails verification would be fetched forever.
    if arrival.byteCount > state.furthestOffset {
      state.furthestOffset = arrival.byteCount
      state.waitedMicroseconds = 0
      state.backoff.reset()
      fetching.searches[search] = state
    }
    emit(.searchProgress(search, arrival.byteCount, of: arrival.object.byteCount))
  }

  mutating func received(_ search: BlobSync.Search, _ result: Result<Bool, DocumentStoreError>) {
    switch result {
    case .failure(let error): failed(search, .store(error))
    case .success(false): contentMismatch(search)
    case .success(true):
      fetching.searches[search]?.arrival = nil
      fetching.withArrival.removeAll { $0 == search }
      leave(search)
      emit(.later(.answer(search)))
    }
  }

  /// Reads the store again, because the object may have changed since the fetch.
  mutating func answer(_ search: BlobSync.Search) {
    guard let state = fetching.searches[search] else { return }
    emit(.readLocal(search, state.path, .answer))
  }

  // MARK: Waiting and ending

  private mutating func failed(_ search: BlobSync.Search, _ error: BlobSyncError) {
    guard var state = fetching.searches[search] else { return }
    let left = state.limits.timeout - state.waitedMicroseconds
    guard case .remote(.unavailable) = error, left > 0 else { return finish(search, .failure(error)) }
    let delay = min(max(state.backoff.next(), 1000), left)
    state.waitedMicroseconds += delay
    fetching.searches[search] = state
    emit(.startTimer(.search(search), microseconds: delay))
    // A waiting search releases its slot, so that other fetches can proceed.
    if state.arrival?.byteCount == 0 { dropArrival(search) } else { leave(search) }
    dropSmallestStagedPart()
  }

  /// If too many searches wait, drops the smallest of their staged parts. Dropping the most recent part
  /// instead could lose an almost complete content.
  private mutating func dropSmallestStagedPart() {
    func byteCount(_ search: BlobSync.Search) -> UInt64 {
      fetching.searches[search]?.arrival?.byteCount ?? 0
    }
    let waiting = fetching.withArrival.filter { search in
      fetching.searches[search].map { !$0.hasFetchSlot && !$0.isHeld } ?? false
    }
    guard waiting.count > Self.waitingFetchesMax else { return }
    let least = waiting.min { byteCount($0) < byteCount($1) }
    if let least { dropArrival(least) }
  }

  mutating func finish(_ search: BlobSync.Search, _ result: Result<BlobSync.Found, BlobSyncError>) {
    guard fetching.searches[search] != nil else { return }
    var keepsStagedPart = false
    if case .failure(let error) = result { keepsStagedPart = error.keepsStagedPart }
    dropArrival(search, keepsStagedPart: keepsStagedPart)
    fetching.searches[search] = nil
    emit(.endSearch(search, result))
  }

  mutating func endSearches(_ result: Result<BlobSync.Found, BlobSyncError>) {
    fetching.waitingForSlot = []
    for search in fetching.searches.keys.sorted() { finish(search, result) }
  }

  /// Ends an arrival and releases its slot. Deletes the part that has arrived, or leaves it for a later
  /// search.
  private mutating func dropArrival(_ search: BlobSync.Search, keepsStagedPart: Bool = false) {
    if fetching.searches[search]?.arrival != nil {
      emit(.closeArrival(search, keepsStagedPart: keepsStagedPart))
      fetching.searches[search]?.arrival = nil
      fetching.withArrival.removeAll { $0 == search }
    }
    leave(search)
  }

  /// Takes a slot. Returns false if none is free; the search then resumes when it gets one.
  private mutating func enter(_ search: BlobSync.Search) -> Bool {
    guard fetching.searches[search]?.hasFetchSlot == false else { return true }
    guard fetching.activeCount < Self.activeFetchesMax else {
      fetching.waitingForSlot.append(search)
      return false
    }
    fetching.searches[search]?.hasFetchSlot = true
    fetching.activeCount += 1
    return true
  }

  /// Hands the slot directly to the first waiting search, so that a new search cannot take it first.
  private mutating func leave(_ search: BlobSync.Search) {
    guard fetching.searches[search]?.hasFetchSlot == true else { return }
    fetching.searches[search]?.hasFetchSlot = false
    fetching.activeCount -= 1
    while let next = fetching.waitingForSlot.first {
      fetching.waitingForSlot.removeFirst()
      guard fetching.searches[next] != nil else { continue }
      fetching.searches[next]?.hasFetchSlot = true
      fetching.activeCount += 1
      return emit(.later(.resume(next)))
    }
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
