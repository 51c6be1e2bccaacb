// A content of a remote on its way here.
//
// The first 1 MiB stays in memory. From then on what has come is staged in a file, and a record says which content of
// which object it is of: so it can be gone on with after a restart. The commit that gives the object the content removes
// the record. A power loss may forget the record; then a sweep removes the file. What was left of a content that has come
// otherwise, or is gone at the remote, whoever finds that out removes.

package import ByteStore
package import DocumentStore

/// For one thread at a time. Ends with `receive`, `cancel` or `leave`.
package final class ObjectArrival {
  private let objects: ObjectStore
  private let writer: BlobWriter
  private var md5 = MD5Stream()
  /// What its record says.
  private var stored: StoredArrival
  private var record: Record
  /// Its own file has failed.
  private var isBroken = false
  /// What was staged before is regained before anything is appended.
  package private(set) var isRegaining: Bool

  private enum Record {
    case none
    /// To write it has failed, and it may be there.
    case open
    case there
  }

  fileprivate init(
    _ objects: ObjectStore, _ writer: BlobWriter, _ stored: StoredArrival, isLeft: Bool
  ) {
    self.objects = objects
    self.writer = writer
    self.stored = stored
    record = isLeft ? .there : .none
    isRegaining = isLeft
  }

  /// So many have come.
  package var byteCount: UInt64 { writer.byteCount }

  /// MD5 of what has come.
  package var digest: [UInt8] { md5.digest }

  /// The next piece of what was staged before. False once there is no more, or no sound one: it is gone on with from
  /// there. If it throws, `cancel` is all that is left to do.
  package func regain() throws(DocumentStoreError) -> Bool {
    var piece: [UInt8]?
    try wrapped { writer throws(ByteStoreError) in piece = try writer.regain() }
    if let piece { md5.update(piece.rawSpan) }
    isRegaining = piece != nil
    if !isRegaining, stored.bytesNoted > writer.byteCount {
      // A power loss has taken what was noted: the next note says what there is.
      stored.bytesNoted = writer.byteCount
      record = .open
    }
    return isRegaining
  }

  /// May write, sync and commit. If it throws, `cancel` is all that is left to do.
  package func append(_ bytes: [UInt8]) throws(DocumentStoreError) {
    md5.update(bytes.rawSpan)
    try wrapped { writer throws(ByteStoreError) in try writer.append(bytes.rawSpan) }
    note()
  }

  /// Who cannot write the record brings the content all the same, and tries again with the next piece. How much has come
  /// is noted now and then, and when it is left.
  private func note(isLast: Bool = false) {
    let bytes = writer.byteCount
    let isMore = bytes >= stored.bytesNoted + (isLast ? 1 : objects.blobs.options.syncBytes)
    guard writer.isStaged, record != .there || isMore else { return }
    if record == .none { record = .open }
    var noted = stored
    // In the midst of what is regained, all that was there is there.
    noted.bytesNoted = max(stored.bytesNoted, bytes)
    do throws(DocumentStoreError) {
      try objects.note(.set(ArrivalRecord.path(writer.number), ArrivalRecord.fields(noted)))
      (stored, record) = (noted, .there)
    } catch {
      // Without it, nobody goes on with this after a restart.
    }
  }

  /// The content is complete; `receive` is what follows.
  package func finish() throws(DocumentStoreError) -> FinishedBlob {
    var blob: FinishedBlob?
    try wrapped { writer throws(ByteStoreError) in blob = try writer.finish() }
    guard let blob else { preconditionFailure("a content that is finished") }
    return blob
  }

  /// Gives the object the content, unless changes of it wait: then it stands beside it. If it throws, `cancel` is all that
  /// is left to do.
  package func receive(_ blob: FinishedBlob, _ object: StoredObject) throws(DocumentStoreError) {
    let hasRecord = record != .none
    try objects.outbox.receive(blob, object, endsArrival: hasRecord ? writer.number : nil)
    end()
    // What others have left of this object is of no use any more.
    if hasRecord { objects.forgetArrivals(at: stored.path) }
  }

  /// Leaves nothing of it.
  package func cancel() {
    writer.abandon()
    if record != .none { try? objects.note(.delete(ArrivalRecord.path(writer.number))) }
    end()
  }

  /// Leaves what is staged for whoever goes on with it, until it is too old. What is not staged goes; so does what its own
  /// file has failed with: on a full disk it is in the way of others, and where a disk fails it would fail at the same place
  /// again. Another file may do better.
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

  private func wrapped(
    _ body: (BlobWriter) throws(ByteStoreError) -> Void
  ) throws(DocumentStoreError) {
    do throws(ByteStoreError) { try body(writer) } catch {
      isBroken = true
      throw DocumentStoreError(error)
    }
  }
}

extension ObjectStore {
  /// Begins to bring a content of a remote's object, or goes on where somebody has left it, if `goesOn`: of two parts, with
  /// the longer. The other one goes, and so does what was left of other contents of the object. Of a content with neither
  /// `md5` nor `created`, nobody can tell whether it is the same: it is begun anew.
  package func arrival(
    at path: ObjectPath, generation: Int64, byteCount: UInt64, md5: [UInt8], created: StoredTimestamp?,
    goesOn: Bool = true
  ) -> ObjectArrival {
    var earlier: ObjectArrival?
    let isKnown = !md5.isEmpty || created != nil
    for left in leftArrivals(at: path).sorted(by: { $0.bytesNoted > $1.bytesNoted }) {
      guard earlier == nil, isKnown, left.generation == generation, left.byteCount == byteCount,
        left.md5 == md5, left.created == created
      else {
        _ = try? cancel(left)
        continue
      }
      guard goesOn else { continue }
      do throws(DocumentStoreError) {
        earlier = try goOn(with: left)
        // Nothing is left of it but its record.
        if earlier == nil { try cancel(left) }
      } catch {
        // Too many files may be open: it stays for another time.
      }
    }
    if let earlier { return earlier }
    let writer = blobs.writer()
    // The number is a new one.
    _ = state.uploads.begin(writer.number)
    let stored = StoredArrival(
      number: writer.number, path: path, generation: generation, byteCount: byteCount, md5: md5,
      created: created, began: now)
    return ObjectArrival(self, writer, stored, isLeft: false)
  }

  /// Nil if nothing of it can be read, or somebody works at it.
  private func goOn(with left: StoredArrival) throws(DocumentStoreError) -> ObjectArrival? {
    guard state.uploads.begin(left.number) else { return nil }
    do throws(ByteStoreError) {
      if let writer = try blobs.resume(left.number) {
        return ObjectArrival(self, writer, left, isLeft: true)
      }
    } catch {
      state.uploads.end(left.number)
      throw DocumentStoreError(error)
    }
    state.uploads.end(left.number)
    return nil
  }

  /// Leaves nothing of what was left of an object, which is here by now, or is gone at the remote. What cannot be removed
  /// is there for the next look, or becomes too old.
  package func forgetArrivals(at path: ObjectPath) {
    for left in leftArrivals(at: path) { _ = try? cancel(left) }
  }

  /// Of an object, those that nobody works at. What cannot be read is nothing to go on with.
  private func leftArrivals(at path: ObjectPath) -> [StoredArrival] {
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

  /// Contents of which a part is staged, those on their way among them.
  package func arrivals() throws(DocumentStoreError) -> [StoredArrival] {
    try store.documents(StructuredQuery(.collection(ReservedPath.allArrivals)))
      .compactMap(ArrivalRecord.arrival)
  }

  /// Leaves nothing of what nobody works at. False if somebody does.
  @discardableResult
  package func cancel(_ arrival: StoredArrival) throws(DocumentStoreError) -> Bool {
    let isGone = try state.uploads.claiming(arrival.number) { () throws(DocumentStoreError) in
      try note(.delete(ArrivalRecord.path(arrival.number)))
      blobs.discardStaged(arrival.number)
      return true
    }
    return isGone == true
  }
}
