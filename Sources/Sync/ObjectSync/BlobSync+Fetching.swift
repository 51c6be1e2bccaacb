// Searches that users start, and the calls to the remote and to the store that these searches cause.
//
// `BlobMachine+Fetching` decides which calls are made.

internal import ByteStore
import DocumentStore
package import ObjectStore
import OfflineSync

extension BlobSync {
  package enum Found: Sendable {
    /// The object in the store is the answer.
    case here(StoredObject)
    /// The remote has a content that the store does not have. The content was not fetched, because the caller
    /// did not ask for it or set a size limit below its size.
    case remoteOnly(RemoteObject)
    case absent
  }

  /// The request of one search.
  package struct FetchRequest: Sendable {
    var limits: FetchLimits
    /// Called with the number of bytes fetched so far and the size of the content.
    var progress: @Sendable (UInt64, UInt64) -> Void

    package init(
      fetchesContent: Bool, bytesMax: UInt64 = .max, timeout: Int64 = 0,
      progress: @escaping @Sendable (UInt64, UInt64) -> Void = { _, _ in }
    ) {
      limits = FetchLimits(fetchesContent: fetchesContent, bytesMax: bytesMax, timeout: timeout)
      self.progress = progress
    }
  }

  /// Identifies a search.
  package struct Search: Hashable, Comparable, Sendable {
    let number: Int

    package static func < (left: Self, right: Self) -> Bool { left.number < right.number }
  }

  typealias SearchEnd = @Sendable (Result<Found, BlobSyncError>) -> Void

  // MARK: Users

  /// Starts a search. `end` is called once, on the scheduler.
  @discardableResult
  package func find(
    _ path: ObjectPath, _ request: FetchRequest,
    _ end: @escaping @Sendable (Result<Found, BlobSyncError>) -> Void
  ) -> Search {
    let search = Search(number: newNumber())
    run { sync in
      sync.searches[search] = (request, end)
      sync.handle(.find(search, path, request.limits))
    }
    return search
  }

  /// Pauses the fetch before its next piece, until `release`.
  package func hold(_ search: Search) { run { $0.handle(.holdSearch(search)) } }

  package func release(_ search: Search) { run { $0.handle(.releaseSearch(search)) } }

  /// Cancels a search.
  package func giveUp(_ search: Search) { run { $0.handle(.endSearch(search, .cancelled)) } }

  /// Ends a search, but leaves the staged part for a later search.
  package func stop(_ search: Search) { run { $0.handle(.endSearch(search, .stopped)) } }

  // MARK: Calls

  /// Reads the state of an object in the store. Looks for pending changes and for damage only if the reason
  /// is `lookUp`.
  func local(_ path: ObjectPath, _ reason: LocalRead) throws(DocumentStoreError) -> LocalObject {
    var local = LocalObject(object: try objects.object(at: path))
    guard case .lookUp = reason else { return local }
    local.isWaiting = try objects.outbox.isWaiting(path)
    local.isDamaged = local.object.map { objects.isKnownDamaged($0.blob) } ?? false
    return local
  }

  func description(of path: ObjectPath) throws(BlobSyncError) -> RemoteObject? {
    try found { () throws(BlobRemoteError) in
      let object = try remote.object(bucket: path.bucket, name: path.name.text)
      try object.check()
      return object
    }
  }

  /// Returns whether the arrival resumes a staged part, which has to be read back.
  func openArrival(_ search: Search, _ path: ObjectPath, object: RemoteObject, resumes: Bool) -> Bool {
    let content = RemoteContent(
      generation: object.generation, byteCount: object.byteCount, md5: object.md5, created: object.created)
    let arrival = objects.arrival(of: content, at: path, resumes: resumes)
    arrivals[search] = arrival
    return arrival.isRereadingStaged
  }

  func rereadPiece(_ search: Search) -> Result<RereadPiece, DocumentStoreError> {
    let arrival = opened(search)
    return Result { () throws(DocumentStoreError) in
      let hasMore = try arrival.rereadStaged()
      return RereadPiece(byteCount: arrival.byteCount, hasMore: hasMore)
    }
  }

  /// Returns the number of bytes that have arrived.
  func append(_ bytes: [UInt8], to search: Search) -> Result<UInt64, DocumentStoreError> {
    let arrival = opened(search)
    return Result { () throws(DocumentStoreError) in
      try arrival.append(bytes)
      return arrival.byteCount
    }
  }

  /// Makes the content that has arrived the content of the object. Returns false if the checksum of the
  /// content differs from the remote's checksum.
  func receive(
    _ search: Search, _ path: ObjectPath, object: RemoteObject
  ) throws(DocumentStoreError) -> Bool {
    let arrival = opened(search)
    let md5 = arrival.digest
    guard object.md5.isEmpty || object.md5 == md5 else { return false }
    let blob = try arrival.finish()
    var arrived = StoredObject(
      blob, md5: md5, at: path, attributes: object.attributes, tokens: object.downloadTokens)
    arrived.take(object.reportedMetadata)
    try arrival.receive(blob, arrived)
    arrivals[search] = nil
    return true
  }

  func closeArrival(_ search: Search, keepsStagedPart: Bool) {
    let arrival = arrivals.removeValue(forKey: search)
    if keepsStagedPart { arrival?.leave() } else { arrival?.cancel() }
  }

  private func opened(_ search: Search) -> ObjectArrival {
    guard let arrival = arrivals[search] else { preconditionFailure("an arrival is opened before its use") }
    return arrival
  }
}
