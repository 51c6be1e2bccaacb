// Receives a content from a remote.
//
// The first 1 MiB stays in memory. After that, the content is staged in a file, and a record names the object
// and the content, so the transfer can be resumed after a restart. The commit that stores the content for the
// object also removes the record. A power loss can drop the record; a sweep then removes the file. If the
// content arrived in another way, or if the remote has deleted it, the caller removes the staged bytes and
// the record when it notices this.

package import ByteStore
package import DocumentStore

/// For one thread at a time. Ends with `receive`, `cancel` or `leave`.
package final class ObjectArrival {
  private let objects: ObjectStore
  private let writer: BlobWriter
  private var md5 = MD5Stream()
  /// The fields of this arrival's record.
  private var stored: StoredArrival
  private var record: Record
  /// A write to the staged file has failed.
  private var isBroken = false
  /// True until the previously staged bytes have been read back. Nothing can be appended before that.
  package private(set) var isRereadingStaged: Bool

  private enum Record {
    case none
    /// Writing the record failed, so the record may or may not exist.
    case open
    case there
  }

  fileprivate init(
    _ objects: ObjectStore, _ writer: BlobWriter, stored: StoredArrival, isLeftover: Bool
  ) {
    self.objects = objects
    self.writer = writer
    self.stored = stored
    record = isLeftover ? .there : .none
    isRereadingStaged = isLeftover
  }

  /// Number of bytes received.
  package var byteCount: UInt64 { writer.byteCount }

  /// MD5 of the bytes received.
  package var digest: [UInt8] { md5.digest }

  /// Reads back the next piece of the previously staged bytes. Returns false at the end of these bytes, or at
  /// the first damaged piece; the transfer resumes from there. If this throws, the only valid next call is
  /// `cancel`.
  package func rereadStaged() throws(DocumentStoreError) -> Bool {
    let piece = try wrapped { writer throws(ByteStoreError) in try writer.rereadStaged() }
    if let piece { md5.update(piece.rawSpan) }
    isRereadingStaged = piece != nil
    if !isRereadingStaged, stored.bytesRecorded > writer.byteCount {
      // A power loss has removed bytes that the record counts, so the next record must state the actual
      // count.
      stored.bytesRecorded = writer.byteCount
      record = .open
    }
    return isRereadingStaged
  }

  /// May write, sync and commit. If this throws, the only valid next call is `cancel`.
  package func append(_ bytes: [UInt8]) throws(DocumentStoreError) {
    md5.update(bytes.rawSpan)
    try wrapped { writer throws(ByteStoreError) in try writer.append(bytes.rawSpan) }
    note()
  }

  /// Writes the record from time to time and at the end. A failure does not stop the transfer, and the next
  /// piece retries the write.
  private func note(isLast: Bool = false) {
    let bytes = writer.byteCount
    let isRecordDue = bytes >= stored.bytesRecorded + (isLast ? 1 : objects.blobs.options.syncBytes)
    guard writer.isStaged, record != .there || isRecordDue else { return }
    if record == .none { record = .open }
    var noted = stored
    // While staged bytes are being read back, the bytes that the record counts still exist, so do not lower
    // the count.
    noted.bytesRecorded = max(stored.bytesRecorded, bytes)
    do throws(DocumentStoreError) {
      try objects.note(.set(ArrivalRecord.path(writer.number), ArrivalRecord.fields(noted)))
      (stored, record) = (noted, .there)
    } catch {
      // The transfer continues without the record, but cannot be resumed after a restart.
    }
  }

  /// Completes the content; the next call must be `receive`.
  package func finish() throws(DocumentStoreError) -> FinishedBlob {
    try wrapped { writer throws(ByteStoreError) in try writer.finish() }
  }

  /// Stores the content for the object. If changes of the object are pending, stores it only in the separate
  /// record of the remote's state. If this throws, the only valid next call is `cancel`.
  package func receive(_ blob: FinishedBlob, _ object: StoredObject) throws(DocumentStoreError) {
    let hasRecord = record != .none
    try objects.outbox.receive(blob, object, endsArrival: hasRecord ? writer.number : nil)
    end()
    // Other staged parts of this object are useless now.
    if hasRecord { objects.forgetArrivals(at: stored.path) }
  }

  /// Removes everything.
  package func cancel() {
    writer.abandon()
    if record != .none { try? objects.note(.delete(ArrivalRecord.path(writer.number))) }
    end()
  }

  /// Keeps the staged bytes for a later resume, until they expire. Removes everything if nothing was staged,
  /// or if writing the file failed. On a full disk, the file would take space from other files. On a failing
  /// disk, a resumed transfer would fail at the same place again.
  package func leave() {
    guard writer.isStaged, !isBroken else { return cancel() }
    do throws(DocumentStoreError) {
      try wrapped { writer throws(ByteStoreError) in try writer.rest() }
    } catch {
      return cancel()
    }
    note(isLast: true)
    if record == .there { end() } else { cancel() }
  }

  private func end() { objects.state.uploads.end(writer.number) }

  private func wrapped<Result>(
    _ body: (BlobWriter) throws(ByteStoreError) -> Result
  ) throws(DocumentStoreError) -> Result {
    do throws(ByteStoreError) { return try body(writer) } catch {
      isBroken = true
      throw DocumentStoreError(error)
    }
  }
}

extension ObjectStore {
  /// Begins to receive a content, or resumes an earlier transfer if `resumes` is true. If two parts of the
  /// content are staged, the longer part is used and the other part is removed. The staged parts of the
  /// object's other contents are removed, too. If neither the MD5 nor the creation time is known, the staged
  /// content cannot be identified, and the transfer starts from the beginning.
  package func arrival(
    of content: RemoteContent, at path: ObjectPath, resumes: Bool = true
  ) -> ObjectArrival {
    var earlier: ObjectArrival?
    let isKnown = !content.md5.isEmpty || content.created != nil
    for left in idleArrivals(at: path).sorted(by: { $0.bytesRecorded > $1.bytesRecorded }) {
      guard earlier == nil, isKnown, left.content == content else {
        _ = try? cancel(left)
        continue
      }
      guard resumes else { continue }
      do throws(DocumentStoreError) {
        earlier = try resume(with: left)
        // Only the record is left, so remove it.
        if earlier == nil { try cancel(left) }
      } catch {
        // The staged part could not be opened, for example because too many files are open. Keep it for a
        // later attempt.
      }
    }
    if let earlier { return earlier }
    let writer = blobs.writer()
    // The number is new, so this cannot fail.
    _ = state.uploads.begin(writer.number)
    let stored = StoredArrival(number: writer.number, path: path, content: content, began: now)
    return ObjectArrival(self, writer, stored: stored, isLeftover: false)
  }

  /// Resumes an interrupted transfer. Returns nil if none of the staged bytes are readable, or if another
  /// thread works on the transfer.
  private func resume(with left: StoredArrival) throws(DocumentStoreError) -> ObjectArrival? {
    guard state.uploads.begin(left.number) else { return nil }
    do throws(ByteStoreError) {
      if let writer = try blobs.resume(left.number) {
        return ObjectArrival(self, writer, stored: left, isLeftover: true)
      }
    } catch {
      state.uploads.end(left.number)
      throw DocumentStoreError(error)
    }
    state.uploads.end(left.number)
    return nil
  }

  /// Removes the staged parts of an object. Called after the object has arrived, or after the remote has
  /// deleted it. Parts that cannot be removed are left for the next call, or until they expire.
  package func forgetArrivals(at path: ObjectPath) {
    for left in idleArrivals(at: path) { _ = try? cancel(left) }
  }

  /// The object's arrivals that no thread works on. Unreadable records are left out, because they cannot be
  /// resumed.
  private func idleArrivals(at path: ObjectPath) -> [StoredArrival] {
    do throws(DocumentStoreError) {
      let records = try store.documents(
        StructuredQuery(.collection(ReservedPath.allArrivals))
          .filtered(by: .field(ArrivalRecord.nameField, .equal, .string(path.name.text))))
      return records.compactMap(ArrivalRecord.arrival)
        .filter { $0.path == path && !state.uploads.isActive($0.number) }
    } catch {
      return []
    }
  }

  /// All partly staged contents, including active ones.
  package func arrivals() throws(DocumentStoreError) -> [StoredArrival] {
    try store.documents(StructuredQuery(.collection(ReservedPath.allArrivals)))
      .compactMap(ArrivalRecord.arrival)
  }

  /// Removes an arrival. Returns false if a thread works on it.
  @discardableResult
  package func cancel(_ arrival: StoredArrival) throws(DocumentStoreError) -> Bool {
    let isRemoved = try state.uploads.withClaim(arrival.number) { () throws(DocumentStoreError) in
      try note(.delete(ArrivalRecord.path(arrival.number)))
      blobs.discardStaged(arrival.number)
      return true
    }
    return isRemoved == true
  }
}
