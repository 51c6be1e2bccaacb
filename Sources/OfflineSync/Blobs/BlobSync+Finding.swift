// What a remote has of an object, brought here when somebody wants to read it.
//
//   a change of it waits    what is here is what the user sees, and the remote is not asked
//   the same generation     what is here is still right
//   another one             its content is brought, verified, and kept here
//   no answer               what is here is better than nothing

internal import ByteStore
package import DocumentStore

extension BlobSync {
  package enum Found: Sendable {
    /// As the store has it.
    case here(StoredObject)
    /// The remote has a content that is not here, and nobody asked for it.
    case elsewhere(RemoteObject)
    case absent
  }

  /// A search under way.
  final class Search: @unchecked Sendable {
    // Unchecked, because what changes is touched on the scheduler alone, which does one thing at a time.

    let path: ObjectPath
    let bringsContent: Bool
    let isWanted: @Sendable () -> Bool
    let end: @Sendable (Result<Found, BlobSyncError>) -> Void
    /// What is on its way here.
    var object: RemoteObject?
    var writer: BlobWriter?
    var md5 = MD5Stream()
    /// So often the remote had another content before this one was here.
    var attempts = 0

    init(
      _ path: ObjectPath, bringsContent: Bool, _ isWanted: @escaping @Sendable () -> Bool,
      _ end: @escaping @Sendable (Result<Found, BlobSyncError>) -> Void
    ) {
      self.path = path
      self.bringsContent = bringsContent
      self.isWanted = isWanted
      self.end = end
    }
  }

  private static let attemptsMax = 5

  /// `end` is called once, on the scheduler. What is not wanted any more is given up between two pieces.
  package func find(
    _ path: ObjectPath, bringsContent: Bool, isWanted: @escaping @Sendable () -> Bool = { true },
    _ end: @escaping @Sendable (Result<Found, BlobSyncError>) -> Void
  ) {
    let search = Search(path, bringsContent: bringsContent, isWanted, end)
    scheduler.run { [self] in look(search) }
  }

  private func look(_ search: Search) {
    if let failure { return search.end(.failure(failure)) }
    do throws(BlobSyncError) {
      if let found = try lookNow(search) { search.end(.success(found)) }
    } catch {
      search.end(.failure(error))
    }
  }

  /// Nil if a content is on its way now.
  private func lookNow(_ search: Search) throws(BlobSyncError) -> Found? {
    let path = search.path
    let local = try stored { () throws(DocumentStoreError) in try objects.object(at: path) }
    let isWaiting = try stored { () throws(DocumentStoreError) in try objects.outbox.isWaiting(path) }
    if isWaiting { return local.map { .here($0) } ?? .absent }
    let remoteObject: RemoteObject?
    do throws(BlobSyncError) {
      remoteObject = try found { () throws(BlobRemoteError) in
        try remote.object(bucket: path.bucket, name: path.name.text)
      }
    } catch {
      if case .remote(.unavailable) = error, let local { return .here(local) }
      throw error
    }
    guard let remoteObject else {
      try stored { () throws(DocumentStoreError) in try objects.outbox.receiveAbsence(of: path) }
      return .absent
    }
    if let local, local.remoteGeneration == remoteObject.generation {
      let (attributes, standing) = (remoteObject.attributes, remoteObject.standing)
      if local.attributes == attributes, local.isSame(as: standing) { return .here(local) }
      let changed = try stored { () throws(DocumentStoreError) in
        try objects.outbox.receive(attributes, standing, at: path)
      }
      return changed.map { .here($0) } ?? .absent
    }
    guard search.bringsContent else { return .elsewhere(remoteObject) }
    search.object = remoteObject
    search.writer = objects.blobs.writer()
    search.md5 = MD5Stream()
    scheduler.run { [self] in bring(search) }
    return nil
  }

  private func bring(_ search: Search) {
    guard let object = search.object, let writer = search.writer else { return }
    do throws(BlobSyncError) {
      if let failure { throw failure }
      guard search.isWanted() else { throw .cancelled }
      let bytes = try found { () throws(BlobRemoteError) in
        try remote.read(object, from: writer.byteCount, count: Self.pieceBytes)
      }
      guard let bytes else {
        // Another content has come in its place.
        writer.abandon()
        search.attempts += 1
        guard search.attempts < Self.attemptsMax else {
          throw .remote(.unavailable("The object keeps changing."))
        }
        return scheduler.run { [self] in look(search) }
      }
      guard bytes.isEmpty else {
        search.md5.update(bytes.rawSpan)
        try stored { () throws(DocumentStoreError) in
          do throws(ByteStoreError) { try writer.append(bytes.rawSpan) } catch {
            throw DocumentStoreError(error)
          }
        }
        return scheduler.run { [self] in bring(search) }
      }
      try receive(search, object, writer)
      scheduler.run { [self] in answer(search) }
    } catch {
      writer.abandon()
      search.end(.failure(error))
    }
  }

  private func receive(
    _ search: Search, _ object: RemoteObject, _ writer: BlobWriter
  ) throws(BlobSyncError) {
    let md5 = search.md5.digest
    guard writer.byteCount == object.byteCount, object.md5.isEmpty || object.md5 == md5 else {
      throw .remote(.unavailable("What came is not what the remote has: its length or its checksum differs."))
    }
    try stored { () throws(DocumentStoreError) in
      let blob: FinishedBlob
      do throws(ByteStoreError) { blob = try writer.finish() } catch { throw DocumentStoreError(error) }
      let arrived = StoredObject(
        remote: object.standing, at: search.path, blob, md5: md5, tokens: object.downloadTokens,
        object.attributes)
      try objects.outbox.receive(blob, arrived)
    }
  }

  /// As it is now: a change may have come meanwhile.
  private func answer(_ search: Search) {
    do throws(BlobSyncError) {
      let object = try stored { () throws(DocumentStoreError) in try objects.object(at: search.path) }
      search.end(.success(object.map { .here($0) } ?? .absent))
    } catch {
      search.end(.failure(error))
    }
  }

  func stored<Value>(
    _ body: () throws(DocumentStoreError) -> Value
  ) throws(BlobSyncError) -> Value {
    do throws(DocumentStoreError) { return try body() } catch { throw .store(error) }
  }
}
