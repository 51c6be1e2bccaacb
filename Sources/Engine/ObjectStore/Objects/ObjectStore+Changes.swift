// Storing a content for an object, changing attributes, and deleting objects.
//
// How an object gets a content:
//
//   1. look      whether the content exists. If so, share its latch and discard the staged bytes
//   2. keep      otherwise, take the latch exclusively and make the bytes durable (C6)
//   3. commit    the object's record and the record of a new content. Also remove the record of the
//                previous content if no other object references it. After a conflict, retry
//   4. remove    the file of a content without a record
//
// A crash between 2 and 3, or between 3 and 4, leaves an unreferenced file, which a sweep removes.

package import ByteStore
package import DocumentStore

extension ObjectStore {
  /// Creates the object, or replaces its content and attributes. Returns when the change is durable. If the
  /// put fails, the object is unchanged, and the content is removed unless another object references it.
  package func put(
    _ blob: FinishedBlob, md5: [UInt8], at path: ObjectPath, attributes: ObjectAttributes, token: String
  ) throws(DocumentStoreError) -> StoredObject {
    let object = StoredObject(blob, md5: md5, at: path, attributes: attributes, tokens: [token])
    return try put(blob, object, endsUpload: nil, for: nil)
  }

  /// Stores an object with the content `blob`.
  func put(
    _ blob: FinishedBlob, _ object: StoredObject, endsUpload number: StagedNumber?, for queue: ObjectQueue?
  ) throws(DocumentStoreError) -> StoredObject {
    var object = object
    do throws(DocumentStoreError) { try object.attributes.check() } catch {
      blobs.discard(blob)
      throw error
    }
    let put = state.beginPut()
    defer { state.endPut(put) }
    let hold = try hold(blob)
    defer { release(of: hold) }
    do throws(DocumentStoreError) {
      try commit(&object, hold, endsUpload: number, for: queue)
      noteReplaced(hold)
      return object
    } catch {
      forget(hold, after: error)
      throw error
    }
  }

  private func commit(
    _ object: inout StoredObject, _ hold: Hold, endsUpload number: StagedNumber?, for queue: ObjectQueue?
  ) throws(DocumentStoreError) {
    guard let queue else {
      let time = try commit(object, hold, endsUpload: number, as: nil, outbox: nil)
      (object.contentTime, object.changed) = (time, time)
      return
    }
    object = try queue.outbox.queueing { place throws(DocumentStoreError) in
      var put = object
      var change = QueuedChange(
        number: place, path: put.path, kind: .put(put), session: queue.session)
      let time = try commit(put, hold, endsUpload: number, as: change, outbox: queue.outbox)
      (put.contentTime, put.changed, change.time) = (time, time, time)
      change.kind = .put(put)
      queue.queued(change)
      return put
    }
  }

  private func commit(
    _ object: StoredObject, _ hold: Hold, endsUpload number: StagedNumber?, as change: QueuedChange?,
    outbox: ObjectOutbox?
  ) throws(DocumentStoreError) -> StoredTimestamp {
    try self.change { transaction throws(DocumentStoreError) in
      let place = object.path.document
      let before = try transaction.document(at: place)
      // The pending change keeps the previous content alive.
      let dropped = change == nil ? try drop(before, unless: object.blob, transaction: transaction) : nil
      if let change { try outbox?.add(change, before, in: transaction) }
      try transaction.write(.set(place, object.fields, transforms: StoredObject.commitTimes))
      if let home = hold.newPlace { try transaction.write(BlobRecord.mutation(object.blob, at: home)) }
      if let number { try transaction.write(.delete(UploadRecord.path(number))) }
      return dropped
    }
  }

  /// Changes the attributes. Nil if the object does not exist.
  package func update(
    _ path: ObjectPath, _ body: (inout ObjectAttributes) -> Void
  ) throws(DocumentStoreError) -> StoredObject? {
    var result: StoredObject?
    let time = try change { transaction throws(DocumentStoreError) in
      result = nil
      guard let document = try transaction.document(at: path.document) else { return nil }
      var object = try object(of: document)
      body(&object.attributes)
      try object.attributes.check()
      object.incrementMetageneration()
      result = object
      try transaction.write(
        .set(
          path.document, object.fields,
          transforms: [FieldTransform(StoredObject.changedField, .serverTimestamp)]))
      return nil
    }
    if result != nil { result?.changed = time }
    return result
  }

  /// Replaces the download tokens of an object. Nil if the object does not exist.
  package func setTokens(_ tokens: [String], of path: ObjectPath) throws(DocumentStoreError) -> StoredObject?
  {
    var result: StoredObject?
    _ = try change { transaction throws(DocumentStoreError) in
      result = nil
      guard let document = try transaction.document(at: path.document) else { return nil }
      var object = try object(of: document)
      object.tokens = tokens
      result = object
      try transaction.write(.set(path.document, object.fields))
      return nil
    }
    return result
  }

  /// False if the object does not exist.
  package func delete(_ path: ObjectPath) throws(DocumentStoreError) -> Bool {
    var isThere = false
    _ = try change { transaction throws(DocumentStoreError) in
      let before = try transaction.document(at: path.document)
      isThere = before != nil
      guard isThere else { return nil }
      let dropped = try drop(before, unless: nil, transaction: transaction)
      try transaction.write(.delete(path.document))
      return dropped
    }
    return isThere
  }

  // MARK: Contents

  /// A content that cannot be removed until this hold is released.
  struct Hold {
    let id: BlobID
    /// The place of a new content, or of a copy that replaces a damaged one. If this is set, the latch is
    /// held exclusively.
    var newPlace: BlobLocation?
    /// The place of a damaged copy. The record of the new copy replaces the record of the damaged one.
    var damagedPlace: BlobLocation?
  }

  func hold(_ blob: FinishedBlob) throws(DocumentStoreError) -> Hold {
    let id = blob.id
    state.latches.share(id)
    do throws(DocumentStoreError) {
      if let place = try place(of: id), isSound(id, at: place) {
        blobs.discard(blob)
        return Hold(id: id)
      }
    } catch {
      blobs.discard(blob)
      collectIfNeeded(state.latches.releaseShare(id), id)
      throw error
    }
    collectIfNeeded(state.latches.releaseShare(id), id)
    state.latches.take(id)
    do throws(DocumentStoreError) {
      let known = try place(of: id)
      if let known, isSound(id, at: known) {
        state.latches.downgrade(id)
        blobs.discard(blob)
        return Hold(id: id)
      }
      let newPlace = try translatingErrors { () throws(ByteStoreError) in try blobs.keep(blob) }
      return Hold(id: id, newPlace: newPlace, damagedPlace: known)
    } catch {
      blobs.discard(blob)
      collectIfNeeded(state.latches.releaseExclusive(id), id)
      throw error
    }
  }

  /// Verifies an existing copy of an uploaded content, because the upload must not rely on a damaged copy.
  /// Each copy is verified once while the store is open. The whole copy is read, because the damage may be
  /// anywhere in it, and may have been found only by another process. A copy that is unreadable for another
  /// reason, such as too many open files, counts as sound and is not replaced.
  private func isSound(_ id: BlobID, at place: BlobLocation) -> Bool {
    guard !state.isKnownDamaged(id) else { return false }
    guard !state.isKnownIntact(id, at: place) else { return true }
    do throws(ByteStoreError) {
      // Closing the store interrupts the verification of a large content.
      try blobs.verify(id, at: place) { store.bytes.isClosing }
      state.noteIntact(id, at: place)
      return true
    } catch {
      guard error.isDamageOrUnreadable else { return true }
      state.noteDamage(of: id)
      return false
    }
  }

  /// Called after the content's record was changed to refer to the new copy.
  func noteReplaced(_ hold: Hold) {
    if hold.newPlace != nil { state.forgetDamage(of: hold.id) }
  }

  /// Called when the commit of a new content has failed.
  func forget(_ hold: Hold, after error: DocumentStoreError) {
    guard let place = hold.newPlace, !error.isOutcomeUnknown else { return }
    state.garbage.withLock { $0.note(place) }
    // The new file has replaced a damaged file of the same name, so the existing record refers to the new
    // file. Keep the file.
    if hold.damagedPlace?.home == .ownFile { return }
    try? blobs.remove(hold.id, at: place)
  }

  func release(of hold: Hold) {
    let needsCheck =
      hold.newPlace == nil ? state.latches.releaseShare(hold.id) : state.latches.releaseExclusive(hold.id)
    collectIfNeeded(needsCheck, hold.id)
  }

  /// Removes a content that is no longer needed. The last holder of a latch calls this if another thread
  /// could not check the content because the latch was held.
  func collectIfNeeded(_ needsCheck: Bool, _ id: BlobID) {
    if needsCheck { _ = try? collect(id) }
  }

  /// Removes the record of the object's previous content if no other object references the content. In that
  /// case, the content's latch stays held exclusively. If another thread holds the latch, the check runs
  /// after the commit instead, because that thread's own check may run before the commit.
  private func drop(
    _ before: StoredDocument?, unless id: BlobID?, transaction: StoreTransaction
  ) throws(DocumentStoreError) -> DroppedContent? {
    guard let before, let old = StoredObject(before)?.blob, old != id else { return nil }
    guard state.latches.tryTake(old) else { return DroppedContent(id: old, place: nil, isHeld: false) }
    do throws(DocumentStoreError) {
      let references = try transaction.documents(Self.references(to: old))
      guard references.count == 1, let record = try transaction.document(at: BlobRecord.path(old)) else {
        collectIfNeeded(state.latches.releaseExclusive(old), old)
        return nil
      }
      let dropped = DroppedContent(id: old, place: BlobRecord.place(record.fields))
      try transaction.write(.delete(BlobRecord.path(old)))
      return dropped
    } catch {
      collectIfNeeded(state.latches.releaseExclusive(old), old)
      throw error
    }
  }

  /// Removes the record and the file of a content that no object references. Returns false if the content is
  /// referenced or its latch is held.
  @discardableResult
  func collect(_ id: BlobID) throws(DocumentStoreError) -> Bool {
    guard state.latches.tryTake(id) else { return false }
    var isRemoved = false
    do throws(DocumentStoreError) {
      _ = try change(releasingLatch: false) { transaction throws(DocumentStoreError) in
        isRemoved = false
        guard try transaction.documents(Self.references(to: id)).isEmpty else { return nil }
        let record = try transaction.document(at: BlobRecord.path(id))
        isRemoved = true
        guard let record else { return nil }
        try transaction.write(.delete(BlobRecord.path(id)))
        return DroppedContent(id: id, place: BlobRecord.place(record.fields))
      }
      if isRemoved { try remove(DroppedContent(id: id, place: nil)) }
    } catch {
      collectIfNeeded(state.latches.releaseExclusive(id), id)
      throw error
    }
    collectIfNeeded(state.latches.releaseExclusive(id), id)
    return isRemoved
  }

  private func remove(_ dropped: DroppedContent) throws(DocumentStoreError) {
    let place = dropped.place ?? BlobLocation(byteCount: 0, home: .ownFile)
    state.garbage.withLock { $0.note(place) }
    try syncBuffered()
    try translatingErrors { () throws(ByteStoreError) in try blobs.remove(dropped.id, at: place) }
  }

  /// Call this before removing a file. A power loss must not restore a record whose file is gone, so buffered
  /// commits are synced first. Throws if the outcome of an earlier commit is unknown, because the record may
  /// survive such a commit.
  func syncBuffered() throws(DocumentStoreError) {
    try translatingErrors { () throws(ByteStoreError) in try store.bytes.checkWritable() }
    if store.options.durability == .buffered { try store.sync() }
  }

  // MARK: Commits

  /// A content whose record is removed by a transaction.
  struct DroppedContent {
    let id: BlobID
    let place: BlobLocation?
    /// The latch is held exclusively, and the record was removed.
    var isHeld = true
  }

  /// Retries a transaction until it commits, then removes the file of the dropped content.
  @discardableResult
  func change(
    releasingLatch: Bool = true,
    _ body: (StoreTransaction) throws(DocumentStoreError) -> DroppedContent?
  ) throws(DocumentStoreError) -> StoredTimestamp {
    var attempt = 1
    while true {
      let transaction = try store.beginTransaction()
      defer { transaction.end() }
      var dropped: DroppedContent?
      do throws(DocumentStoreError) {
        dropped = try body(transaction)
        let time = try transaction.commit() ?? .epoch
        // If this fails, a sweep removes the file.
        if let dropped, dropped.isHeld {
          try? remove(dropped)
          if releasingLatch { collectIfNeeded(state.latches.releaseExclusive(dropped.id), dropped.id) }
        } else if let dropped {
          transaction.end()
          _ = try? collect(dropped.id)
        }
        return time
      } catch {
        if let dropped, dropped.isHeld, releasingLatch {
          collectIfNeeded(state.latches.releaseExclusive(dropped.id), dropped.id)
        }
        guard error.isRetryable else { throw error }
      }
      transaction.end()
      attempt += 1
      store.waitBeforeAttempt(attempt)
    }
  }
}

extension DocumentStoreError {
  /// True if only the next open shows whether the commit has survived.
  var isOutcomeUnknown: Bool { if case .outcomeUnknown = self { true } else { false } }
}
